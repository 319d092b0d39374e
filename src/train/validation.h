// What a model says on a batch of training samples, and how good it is on the validation split.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "model/decoder.h"
#include "train/data.h"
#include "train/parallel.h"

namespace lenbench {

struct Judged {
  at::Tensor logits_NV;  // N judged rows
  at::Tensor targets_N;
};

Judged judge(const SequenceModel& model, const TrainBatch& batch);
// Bool [N].
at::Tensor right_rows(const Judged& judged);

// On samples of the training length: shares of judged tokens, and of samples with every judged token, that are right,
// and nats per token.
struct Validation {
  double token_accuracy = 0, exact_match = 0, nats = 0;
};

// Every rank takes some of the samples, and all get the same result. Requires at least one sample.
Validation validate(const SequenceModel& model, const std::vector<Sample>& samples, const Parallel& parallel);

}  // namespace lenbench
