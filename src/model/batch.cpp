// Lays samples out as tensors.
#include "model/batch.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace lenbench {

EvaluationRequest evaluation_request(std::span<const Sample> samples) {
  const std::int64_t batch = std::ssize(samples);
  std::int64_t tokens = 0, judged_rows = 1;
  for (const Sample& sample : samples) {
    tokens = std::max(tokens, std::ssize(sample.tokens));
    judged_rows = std::max(judged_rows, std::ssize(sample.scored));
  }
  const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong);
  EvaluationRequest evaluation;
  evaluation.tokens_BT = at::zeros({batch, tokens}, integers);
  evaluation.positions_BQ = at::full({batch, judged_rows}, -1, integers);
  auto* ids = evaluation.tokens_BT.mutable_data_ptr<std::int64_t>();
  auto* positions = evaluation.positions_BQ.mutable_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < batch; ++b) {
    const Sample& sample = samples[static_cast<std::size_t>(b)];
    std::copy(sample.tokens.begin(), sample.tokens.end(), ids + b * tokens);
    for (std::size_t i = 0; i < sample.scored.size(); ++i) {
      positions[b * judged_rows + static_cast<std::int64_t>(i)] = sample.scored[i].position;
    }
    evaluation.lengths.push_back(std::ssize(sample.tokens));
  }
  return evaluation;
}

}  // namespace lenbench
