// A small task whose every property a test can set.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tasks/task.h"

namespace lenbench {

struct FakeShape {
  std::string name = "fake";
  TaskMetric metric = TaskMetric::kExactMatch;
  std::int64_t vocab_size = 10;
  std::int32_t answer_symbols = 4;  // targets are 1..answer_symbols
  std::int32_t answers = 2;
  std::int32_t tokens_per_answer = 2;
  bool end_token = false;  // a last scored token with answer -1 and target 9
  std::int64_t min_length = 1;
  std::int64_t max_length = 1 << 30;
  std::uint64_t available = 0;
};

// `length` random tokens of 5..8, then the answers, teacher-forced.
class FakeTask : public Task {
 public:
  explicit FakeTask(FakeShape shape) : shape_(std::move(shape)) {
    info_.name = shape_.name;
    info_.comparability = "inspired: none";
    info_.vocab_size = shape_.vocab_size;
    info_.metric = shape_.metric;
    info_.parameters = {{"answers", std::to_string(shape_.answers)}};
  }
  const TaskInfo& info() const override { return info_; }
  Sample draw(const DrawKey& key) const override {
    if (key.length > shape_.max_length) throw Error("fake: length " + std::to_string(key.length) + " is above a bound");
    Rng rng(stable_hash(shape_.name + std::to_string(key.length) + "/" + std::to_string(key.seed)),
            2 * key.index + (key.split == Split::kTrain ? 1 : 0));
    Sample sample;
    for (std::int64_t i = 0; i < key.length; ++i) sample.tokens.push_back(static_cast<std::int32_t>(5 + rng.below(4)));
    const std::int32_t scored = shape_.answers * shape_.tokens_per_answer + (shape_.end_token ? 1 : 0);
    for (std::int32_t i = 0; i < scored; ++i) {
      const bool end = shape_.end_token && i + 1 == scored;
      const auto symbol = static_cast<std::int32_t>(1 + rng.below(static_cast<std::uint64_t>(shape_.answer_symbols)));
      ScoredToken token{static_cast<std::int64_t>(sample.tokens.size()) - 1, end ? 9 : symbol,
                        end ? -1 : i / shape_.tokens_per_answer, i + 1 < scored};
      if (token.fed_back) sample.tokens.push_back(token.target);
      sample.scored.push_back(token);
    }
    sample.prompt_tokens = key.length;
    return sample;
  }
  std::vector<std::int32_t> solve(std::span<const std::int32_t>, std::span<const std::int64_t>) const override {
    return {};
  }
  std::int64_t total_tokens(std::int64_t length) const override {
    return length + shape_.answers * shape_.tokens_per_answer + (shape_.end_token ? 1 : 0) - 1;
  }
  std::int64_t min_length() const override { return shape_.min_length; }
  std::uint64_t available(std::int64_t) const override { return shape_.available; }
  double chance() const override {
    double chance = 1;
    for (std::int32_t i = 0; i < shape_.tokens_per_answer; ++i) chance /= shape_.answer_symbols;
    return chance;
  }

 private:
  FakeShape shape_;
  TaskInfo info_;
};

inline std::shared_ptr<const Task> fake_task(FakeShape shape = {}) {
  return std::make_shared<FakeTask>(std::move(shape));
}

}  // namespace lenbench
