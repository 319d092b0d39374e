// How a model learnt, from the log that `lenbench train` leaves beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"

namespace lenbench {

struct TrainingStep {
  std::int64_t step = 0;
  double loss = 0;  // nats a judged token, of one batch
};

struct ValidationStep {
  std::int64_t step = 0;
  double loss = 0;              // nats a judged token
  double accuracy = 0;          // judged tokens right, 0 to 1
  std::optional<double> exact;  // whole samples right, 0 to 1; older logs do not say
};

// From one seed on; a training that was begun again with another seed has several.
struct TrainingAttempt {
  std::uint64_t seed = 0;
  std::vector<TrainingStep> training;
  std::vector<ValidationStep> validation;
};

struct TrainingLog {
  std::string name;       // of the recipe
  std::string transform;  // decides the colour; may be empty
  std::vector<TrainingAttempt> attempts;
};

// The text of a train_log.jsonl. A last line that is not whole is left out. Throws Error opening with `where` and the
// line for anything else that is no log of a training.
TrainingLog parse_training_log(std::string_view text, const std::string& where);

// Panels of loss in training, loss in validation, and what validation found right, by step: one line an attempt.
Figure training_figure(const std::vector<TrainingLog>& logs);

}  // namespace lenbench
