// Arg max and log-likelihood of judged rows, a chunk of rows at a time.
#include "model/judge.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/logsumexp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "checkpoint/memory.h"

namespace lenbench {
namespace {

template <class T>
void judge_row(std::span<const T> logits, double log_sum, std::int32_t target, JudgedRows& judged) {
  std::size_t best = 0;
  bool finite = true;
  for (std::size_t v = 0; v < logits.size(); ++v) {
    finite = finite && std::isfinite(logits[v]);
    if (logits[v] > logits[best]) best = v;
  }
  judged.argmax.push_back(finite ? static_cast<std::int32_t>(best) : -1);
  judged.nll.push_back(finite ? log_sum - static_cast<double>(logits[static_cast<std::size_t>(target)])
                              : std::numeric_limits<double>::quiet_NaN());
}

// Adds the rows of logits_NV, which start at `targets`.
void judge_rows(const at::Tensor& logits, std::span<const std::int32_t> targets, JudgedRows& judged) {
  const at::Tensor logits_NV = logits.to(at::kCPU, at::kDouble).contiguous();
  const at::Tensor log_sums_N = at::logsumexp(logits_NV, 1).contiguous();
  const double* values = logits_NV.const_data_ptr<double>();
  const double* log_sums = log_sums_N.const_data_ptr<double>();
  const std::int64_t vocab = logits_NV.size(1);
  for (std::int64_t r = 0; r < logits_NV.size(0); ++r) {
    judge_row(std::span(values + r * vocab, static_cast<std::size_t>(vocab)), log_sums[r],
              targets[static_cast<std::size_t>(r)], judged);
  }
}

// `logits_of(begin, end)` gives logits of those rows, each with `outputs` of them; asked for in chunks.
template <class LogitsOf>
JudgedRows judge_chunks(std::int64_t outputs, std::span<const std::int32_t> targets, const LogitsOf& logits_of) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = std::ssize(targets), chunk = std::max<std::int64_t>(1, kLogitBytes / (8 * outputs));
  JudgedRows judged;
  judged.argmax.reserve(targets.size());
  judged.nll.reserve(targets.size());
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t end = std::min(rows, begin + chunk);
    judge_rows(logits_of(begin, end),
               targets.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), judged);
  }
  return judged;
}

}  // namespace

JudgedRows judge(const SequenceModel& model, const at::Tensor& output_VE, const at::Tensor& hidden_NE,
                 std::span<const std::int32_t> targets) {
  return judge_chunks(model.config().num_outputs(), targets, [&](std::int64_t begin, std::int64_t end) {
    return model.logits(hidden_NE.slice(0, begin, end), output_VE);
  });
}

JudgedRows judge_logits(const at::Tensor& logits_NV, std::span<const std::int32_t> targets) {
  return judge_chunks(logits_NV.size(1), targets,
                      [&](std::int64_t begin, std::int64_t end) { return logits_NV.slice(0, begin, end); });
}

SamplePrediction prediction_of(JudgedRows judged, std::span<const ScoredToken> scored) {
  SamplePrediction prediction;
  for (std::size_t i = 0; i < scored.size() && prediction.first_nonfinite < 0; ++i) {
    if (judged.argmax[i] < 0) prediction.first_nonfinite = scored[i].position;
  }
  prediction.argmax = std::move(judged.argmax);
  prediction.nll = std::move(judged.nll);
  return prediction;
}

}  // namespace lenbench
