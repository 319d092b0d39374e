// The streaming path on the CPU. Letters: B rows of a batch, H query heads, G key/value heads, Q queries, D head
// size.
#include "attention/streaming.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "attention/cuda.h"
#include "attention/kernel_autograd.h"
#include "attention/reference.h"
#include "attention/row_stats.h"
#include "kernels/attention_kernels.h"

namespace lenbench {
namespace {

template <typename T>
class FusedAttention : public torch::autograd::Function<FusedAttention<T>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q_BHQD,
                            const at::Tensor& k_BGKD, const at::Tensor& v_BGKD, const at::Tensor& learnt_alpha_H,
                            const at::Tensor& visible_BQ, const at::Tensor& slopes_H, const at::Tensor& alphas_H) {
    const KernelInputs inputs{q_BHQD, k_BGKD, v_BGKD, visible_BQ, slopes_H, alphas_H};
    const kernels::Problem<T> problem = kernel_problem<T>(inputs);
    const at::Tensor out = at::empty(q_BHQD.sizes(), q_BHQD.options());
    const at::Tensor saved = at::empty({kernels::training_saved_size(problem)}, q_BHQD.options());
    kernels::attend_forward<T>(problem, kernel_view<T>(out), saved.data_ptr<T>());
    keep_for_backward(context, inputs, learnt_alpha_H, saved);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return kernel_gradients<T>(context, gradients[0],
                               [](const kernels::Problem<T>& problem, const at::Tensor& dout, const at::Tensor& saved,
                                  const kernels::Gradients<T>& to) {
                                 kernels::attend_backward<T>(problem, kernel_view<const T>(dout),
                                                             saved.template data_ptr<T>(), to);
                               });
  }
};

at::Tensor train(const AttendRequest& request, const KernelInputs& inputs) {
  const at::Tensor learnt_alpha_H = learnt_alpha(request, inputs);
  const auto apply = [&](auto zero) {
    return FusedAttention<decltype(zero)>::apply(inputs.q_BHQD, inputs.k_BGKD, inputs.v_BGKD, learnt_alpha_H,
                                                 inputs.visible_BQ, inputs.slopes_H, inputs.alphas_H);
  };
  return inputs.q_BHQD.scalar_type() == at::kDouble ? apply(double{}) : apply(float{});
}

struct Swept {
  at::Tensor out_BHQD;
  RowStatistics rows;  // undefined tensors unless asked for
};

// The weight of each row's source key, from the row's largest score and weight: both transforms are monotone, with
// p = e^(s - s_top) p_top for softmax and p^(alpha-1) = p_top^(alpha-1) + (alpha-1)(s - s_top) for entmax. [B, H, Q].
at::Tensor source_mass(const kernels::Problem<float>& problem, const kernels::RowStats& stats,
                       const at::Tensor& source_keys_BQ) {
  const at::Tensor mass =
      at::zeros({problem.batches, problem.heads, problem.rows}, at::TensorOptions().dtype(at::kDouble));
  const auto* sources = source_keys_BQ.data_ptr<std::int64_t>();
  auto* out = mass.data_ptr<double>();
  for (std::int64_t b = 0; b < problem.batches; ++b) {
    for (std::int64_t row = 0; row < problem.rows; ++row) {
      const std::int64_t key = sources[b * problem.rows + row];
      if (key < 0) continue;
      for (std::int64_t h = 0; h < problem.heads; ++h) {
        const float* q = problem.q.at(b, h) + row * problem.q.token_stride;
        const float* k = problem.k.at(b, h / (problem.heads / problem.kv_heads)) + key * problem.k.token_stride;
        double score = 0;
        for (std::int64_t c = 0; c < problem.head_size; ++c) {
          score += static_cast<double>(q[c]) * static_cast<double>(k[c]);
        }
        const std::int64_t newest = problem.visible[b * problem.visible_batch_stride + row] - 1;
        score -= static_cast<double>(problem.slopes[h]) * static_cast<double>(newest - key);
        const std::int64_t at = (b * problem.heads + h) * problem.rows + row;
        const double below = score - static_cast<double>(stats.top_score[at]);
        const auto top = static_cast<double>(stats.top[at]);
        const double e = static_cast<double>(problem.alphas[h]) - 1;
        out[at] = e == 0 ? top * std::exp(below) : std::pow(std::max(std::pow(top, e) + e * below, 0.0), 1 / e);
      }
    }
  }
  return mass;
}

Swept sweep(const KernelInputs& inputs, bool want_rows, const at::Tensor& source_keys_BQ) {
  const kernels::Problem<float> problem = kernel_problem<float>(inputs);
  Swept result{at::empty(inputs.q_BHQD.sizes(), inputs.q_BHQD.options()), {}};
  const bool sources = want_rows && source_keys_BQ.defined();
  const at::Tensor source_keys = sources ? source_keys_BQ.contiguous() : at::Tensor();
  kernels::RowStats stats;
  KernelStatistics statistics;
  if (want_rows) {
    statistics = kernel_statistics(inputs, sources);
    stats = statistics.pointers();
    result.rows = statistics.rows;
  }
  if (sources && inputs.topk > 0) {
    result.rows.source = at::empty(result.rows.top.sizes(), result.rows.top.options());
    stats.source = result.rows.source.data_ptr<float>();
    stats.source_keys = source_keys.const_data_ptr<std::int64_t>();
  }
  kernels::attend_streaming(problem, kernel_view<float>(result.out_BHQD), stats);
  if (sources && inputs.topk == 0) result.rows.source = source_mass(problem, stats, source_keys);
  return result;
}

// Copies one head's result over the rows where the temperature is not 1.
void replace_rows(Swept& all, const Swept& head, std::int64_t h, const at::Tensor& changed_BQ) {
  const auto put = [&](const at::Tensor& whole, const at::Tensor& part, const at::Tensor& mask) {
    whole.narrow(1, h, 1).copy_(at::where(mask, part, whole.narrow(1, h, 1)));
  };
  const at::Tensor mask_B1Q = changed_BQ.unsqueeze(1);
  put(all.out_BHQD, head.out_BHQD, mask_B1Q.unsqueeze(-1));
  for (const auto field : kRowStatistics) {
    if ((head.rows.*field).defined()) put(all.rows.*field, head.rows.*field, mask_B1Q);
  }
}

// A head with a bias and a temperature per row: the temperature multiplies the bias too, which no kernel slope can say.
// The reference path does it, in blocks whose keys stop where the bias leaves nothing: relative to the row's own key,
// a key at distance t has exponent at most 2 R - slope t (R bounds scaled |q.k|; factors are at least 1), and below
// -104 a float weight is exactly 0.
Swept biased_head(const AttendRequest& request, const at::Tensor& q_B1QD, const at::Tensor& k_B1KD,
                  const at::Tensor& v_B1KD, double slope, bool want_rows) {
  constexpr std::int64_t kRows = 256;
  constexpr double kVanishingExponent = 104.0;
  const double q_norm = q_B1QD.norm(2, {-1}).max().item<double>();
  const double k_norm = k_B1KD.norm(2, {-1}).max().item<double>();
  const double bound = 1.001 * q_norm * k_norm * score_scale(request);
  const double window = std::ceil((2.0 * bound + kVanishingExponent) / slope);
  std::vector<at::Tensor> outs;
  std::vector<RowStatistics> rows;
  for (std::int64_t row = 0; row < q_B1QD.size(2); row += kRows) {
    const std::int64_t count = std::min(kRows, q_B1QD.size(2) - row);
    AttendRequest part;
    part.positions_BQ = request.positions_BQ.narrow(1, row, count);
    const auto lowest = static_cast<double>(part.positions_BQ.min().item<std::int64_t>());
    const auto first_key = window < lowest ? static_cast<std::int64_t>(lowest - window) : std::int64_t{0};
    part.q_BHQD = q_B1QD.narrow(2, row, count);
    part.k_BGKD = k_B1KD.narrow(2, first_key, k_B1KD.size(2) - first_key);
    part.v_BGKD = v_B1KD.narrow(2, first_key, v_B1KD.size(2) - first_key);
    part.slopes = {slope};
    part.score_scale = request.score_scale;
    part.normalizer = request.normalizer;
    if (want_rows && request.source_keys_BQ.defined()) {
      part.source_keys_BQ = request.source_keys_BQ.narrow(1, row, count);
    }
    const ReferenceResult result = attend_reference(part, want_rows, first_key);
    outs.push_back(result.out_BHQD);
    if (want_rows) rows.push_back(result.rows);
  }
  return {at::cat(outs, 2), join_rows(rows)};
}

// Second sweep of adaptive temperature: rows whose factor is 1 keep the first sweep's bits.
void sharpen(const AttendRequest& request, const KernelInputs& inputs, Swept& first, bool want_rows) {
  const at::Tensor factor_BHQ = adaptive_factor(first.rows.entropy.to(at::kDouble)).to(inputs.q_BHQD.scalar_type());
  const std::int64_t heads_per_group = inputs.q_BHQD.size(1) / inputs.k_BGKD.size(1);
  for (std::int64_t h = 0; h < inputs.q_BHQD.size(1); ++h) {
    const at::Tensor factor_BQ = factor_BHQ.select(1, h);
    const at::Tensor changed_BQ = at::ne(factor_BQ, 1.0);
    if (!changed_BQ.any().item<bool>()) continue;
    const std::int64_t g = h / heads_per_group;
    const double slope = request.slopes.empty() ? 0.0 : request.slopes[static_cast<std::size_t>(h)];
    if (slope > 0) {
      replace_rows(first,
                   biased_head(request, request.q_BHQD.narrow(1, h, 1), inputs.k_BGKD.narrow(1, g, 1),
                               inputs.v_BGKD.narrow(1, g, 1), slope, want_rows),
                   h, changed_BQ);
      continue;
    }
    const at::Tensor q_B1QD = inputs.q_BHQD.narrow(1, h, 1) * factor_BQ.unsqueeze(1).unsqueeze(-1);
    const KernelInputs one{q_B1QD,
                           inputs.k_BGKD.narrow(1, g, 1),
                           inputs.v_BGKD.narrow(1, g, 1),
                           inputs.visible_BQ,
                           inputs.slopes_H.narrow(0, h, 1),
                           inputs.alphas_H.narrow(0, h, 1)};
    replace_rows(first, sweep(one, want_rows, request.source_keys_BQ), h, changed_BQ);
  }
}

}  // namespace

void check_instruction_set() {
  try {
    kernels::kernel_variant();
  } catch (const std::invalid_argument& error) {
    throw Error(error.what());
  }
}

bool wants_gradient(const AttendRequest& request) {
  if (!at::GradMode::is_enabled()) return false;
  const at::Tensor& alpha = request.normalizer.alpha_minus_one_H;
  return request.q_BHQD.requires_grad() || request.k_BGKD.requires_grad() || request.v_BGKD.requires_grad() ||
         (alpha.defined() && alpha.requires_grad());
}

at::Tensor attend_streaming(const AttendRequest& request) {
  if (request.q_BHQD.is_cuda()) return attend_cuda(request);
  const bool differentiable = wants_gradient(request);
  const KernelInputs inputs = kernel_inputs(request);
  at::Tensor out;
  if (differentiable) out = train(request, inputs);
  if (differentiable && !request.stats) return out;
  at::NoGradGuard no_grad;
  const bool want_rows = request.stats != nullptr;
  Swept swept =
      sweep(inputs, want_rows || request.normalizer.adaptive, want_rows ? request.source_keys_BQ : at::Tensor());
  if (request.normalizer.adaptive) sharpen(request, inputs, swept, want_rows);
  report_rows(request, swept.rows);
  return differentiable ? out : swept.out_BHQD;
}

}  // namespace lenbench
