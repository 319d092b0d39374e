// From logits to what a Predictor says about them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "bench/predictor.h"
#include "model/decoder.h"

namespace lenbench {

struct JudgedRows {
  std::vector<std::int32_t> argmax;  // lowest id wins ties; -1 where a logit is not finite
  std::vector<double> nll;           // nats, log-softmax in double; NaN where a logit is not finite
};

// Rows of `hidden_NE` against `targets` [N], in chunks so that the logits held at a time stay under
// kLogitBytes (or one row). Requires targets in [0, num_outputs) and the model's output_weights().
JudgedRows judge(const SequenceModel& model, const at::Tensor& output_VE, const at::Tensor& hidden_NE,
                 std::span<const std::int32_t> targets);

// The same of logits that are already there, of any device and floating type.
JudgedRows judge_logits(const at::Tensor& logits_NV, std::span<const std::int32_t> targets);

// The rows of one sample, parallel to its `scored`.
SamplePrediction prediction_of(JudgedRows judged, std::span<const ScoredToken> scored);

}  // namespace lenbench
