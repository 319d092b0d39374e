// Lays samples out as tensors.
#include "model/batch.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace lenbench {

std::int64_t longest(std::span<const Sample> samples) {
  std::int64_t tokens = 0;
  for (const Sample& sample : samples) tokens = std::max(tokens, std::ssize(sample.tokens));
  return tokens;
}

JudgedRowLists owned_rows(std::span<const Sample> samples, const SequenceShare& share) {
  JudgedRowLists lists(samples.size());
  for (std::size_t b = 0; b < samples.size(); ++b) {
    for (std::size_t i = 0; i < samples[b].scored.size(); ++i) {
      if (share.owns(samples[b].scored[i].position)) lists[b].push_back(i);
    }
  }
  return lists;
}

EvaluationRequest evaluation_request(std::span<const Sample> samples) {
  return evaluation_request(samples, owned_rows(samples, SequenceShare(longest(samples))));
}

EvaluationRequest evaluation_request(std::span<const Sample> samples, const JudgedRowLists& judged) {
  const std::int64_t batch = std::ssize(samples), tokens = longest(samples);
  std::int64_t judged_rows = 1;
  for (const std::vector<std::size_t>& rows : judged) judged_rows = std::max(judged_rows, std::ssize(rows));
  const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong);
  EvaluationRequest evaluation;
  evaluation.tokens_BT = at::zeros({batch, tokens}, integers);
  evaluation.positions_BQ = at::full({batch, judged_rows}, -1, integers);
  auto* ids = evaluation.tokens_BT.mutable_data_ptr<std::int64_t>();
  auto* positions = evaluation.positions_BQ.mutable_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < batch; ++b) {
    const Sample& sample = samples[static_cast<std::size_t>(b)];
    std::copy(sample.tokens.begin(), sample.tokens.end(), ids + b * tokens);
    std::int64_t* next = positions + b * judged_rows;
    for (const std::size_t i : judged[static_cast<std::size_t>(b)]) *next++ = sample.scored[i].position;
    evaluation.lengths.push_back(std::ssize(sample.tokens));
  }
  return evaluation;
}

}  // namespace lenbench
