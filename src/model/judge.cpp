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

}  // namespace

JudgedRows judge(const SequenceModel& model, const at::Tensor& hidden_NE, std::span<const std::int32_t> targets) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = hidden_NE.size(0), outputs = model.config().num_outputs();
  const std::int64_t chunk = std::max<std::int64_t>(1, kLogitBytes / (8 * outputs));
  JudgedRows judged;
  judged.argmax.reserve(targets.size());
  judged.nll.reserve(targets.size());
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t end = std::min(rows, begin + chunk);
    const at::Tensor logits_NV = model.logits(hidden_NE.slice(0, begin, end)).to(at::kCPU, at::kDouble).contiguous();
    const at::Tensor log_sums_N = at::logsumexp(logits_NV, 1).contiguous();
    const double* logits = logits_NV.const_data_ptr<double>();
    const double* log_sums = log_sums_N.const_data_ptr<double>();
    for (std::int64_t r = begin; r < end; ++r) {
      judge_row(std::span(logits + (r - begin) * outputs, static_cast<std::size_t>(outputs)), log_sums[r - begin],
                targets[static_cast<std::size_t>(r)], judged);
    }
  }
  return judged;
}

}  // namespace lenbench
