// Training batches as a pure function of (recipe, seed, step), made on a thread of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tasks/task.h"
#include "train/recipe.h"

namespace lenbench {

// Rows of one batch. Samples of one batch share a nominal length; shorter rows are padded on the right and padding is
// never scored.
struct TrainBatch {
  std::int64_t step = 0, rows = 0, tokens = 0;
  std::vector<std::int64_t> ids;          // [rows * tokens]
  std::vector<std::int64_t> scored_flat;  // row * tokens + position of every judged row
  std::vector<std::int64_t> targets;      // parallel to scored_flat
};

// The tasks of a recipe, made once. Requires all of one vocabulary. Throws Error otherwise.
class TrainTasks {
 public:
  explicit TrainTasks(const Recipe& recipe, const std::string& recipe_folder);
  std::int64_t vocab_size() const;
  const SpecialTokens& specials() const;
  const Task& validation() const { return *validation_; }
  // As the recipe writes it: its own, or that of the first source.
  const std::string& validation_task() const {
    return recipe_.validation.task.empty() ? recipe_.sources.front().task : recipe_.validation.task;
  }
  // SHA-256 of all documents' bytes, training before validation; equal texts give equal digests wherever they lie.
  const std::string& documents_sha256() const { return documents_sha256_; }
  // The rows of batch `step` for the given seed that rank `rank` of `world` takes; none where there are more ranks than
  // rows. The ranks' rows in order are those of a single rank.
  TrainBatch batch(std::uint64_t seed, std::int64_t step, int rank = 0, int world = 1) const;
  // Samples of the validation split at the training length.
  std::vector<Sample> validation_samples() const;

 private:
  std::int64_t batch_length(class Rng& rng, std::int64_t step) const;

  Recipe recipe_;
  std::vector<std::unique_ptr<Task>> sources_;
  std::unique_ptr<Task> validation_;
  std::string documents_sha256_;
};

TrainBatch pack(const std::vector<Sample>& samples);

// Draws batches ahead of their use.
class BatchQueue {
 public:
  static constexpr int kAhead = 4;
  // Serves the share of a rank in steps first_step, first_step + 1, ... `ahead` batches are kept ready.
  BatchQueue(const TrainTasks& tasks, std::uint64_t seed, std::int64_t first_step, std::int64_t last_step,
             int ahead = kAhead, int rank = 0, int world = 1);
  ~BatchQueue();
  // The next batch; blocks. Rethrows what the drawing thread threw.
  TrainBatch next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lenbench
