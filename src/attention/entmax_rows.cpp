// With e = alpha - 1 and scores d relative to the row's maximum, p_j = (1 + e (d_j - L))_+^(1/e). L >= 0 is the
// threshold in score units and tends to log-sum-exp as e tends to 0, so nothing cancels near softmax.
#include "attention/entmax_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace lenbench {
namespace {

constexpr int kMaxNewtonSteps = 100;
constexpr double kThresholdTolerance = 1e-15;

struct Powers {
  at::Tensor p;        // (1 + u)_+^(1/e)
  at::Tensor p_slope;  // p / (1 + u): the derivative of p with respect to the score
};

Powers powers(const at::Tensor& scaled_u, const at::Tensor& e) {
  // "Not dead" instead of "alive": a NaN must stay a NaN.
  const at::Tensor dead = at::le(scaled_u, -1.0);
  const at::Tensor u = at::where(dead, 0.0, scaled_u);
  const at::Tensor log_x = at::log1p(u);
  return {at::where(dead, 0.0, at::exp(log_x / e)), at::where(dead, 0.0, at::exp(log_x / e - log_x))};
}

// Newton on the beta-norm of the positive part: from L = 0 it rises monotonically and never passes the solution for
// alpha in (1, 2] (docs/kernels.md). In the limit e = 0 one step gives log-sum-exp.
at::Tensor solve(const at::Tensor& scores, const at::Tensor& e) {
  at::Tensor row_max = scores.amax({-1}, true);
  const at::Tensor empty = at::eq(row_max, -std::numeric_limits<double>::infinity());
  row_max = at::where(empty, 0.0, row_max);
  const at::Tensor d = scores - row_max;
  at::Tensor threshold = at::zeros_like(row_max);
  at::Tensor running = at::logical_not(empty);
  for (int step = 0; step < kMaxNewtonSteps; ++step) {
    const Powers powered = powers((d - threshold) * e, e);
    const at::Tensor sum = powered.p.sum({-1}, true);
    const at::Tensor slope = powered.p_slope.sum({-1}, true);
    const at::Tensor move = sum * -at::expm1(-e * at::log(sum)) / (e * slope);
    // A row stops by itself, so that it does not matter which rows share a block.
    running = at::logical_and(running, move > kThresholdTolerance * (1.0 + threshold));
    if (!running.any().item<bool>()) break;
    threshold = at::where(running, threshold + move, threshold);
  }
  const at::Tensor p = powers((d - threshold) * e, e).p;
  const at::Tensor sum = p.sum({-1}, true);
  return at::where(empty, 0.0, p / at::where(empty, 1.0, sum));
}

// With a = -e ln p and phi = exp(a) - 1 - a, the gradient in alpha has no difference of large terms.
at::Tensor alpha_gradient(const at::Tensor& p, const at::Tensor& grad_p, const at::Tensor& e) {
  const at::Tensor off = at::le(p, 0.0);
  const at::Tensor log_p = at::log(at::where(off, 1.0, p));
  const at::Tensor a = -e * log_p;
  const at::Tensor series = a * a * (1.0 / 2 + a * (1.0 / 6 + a * (1.0 / 24 + a * (1.0 / 120 + a * (1.0 / 720)))));
  const at::Tensor slope = at::exp((1.0 - e) * log_p);  // p exp(a), which overflows in that form
  const at::Tensor p_phi = at::where(off, 0.0, at::where(a < 1e-2, p * series, slope - p - p * a));
  const at::Tensor entropy = -at::sum(p * log_p, {-1}, true);
  const at::Tensor phi = p_phi.sum({-1}, true);
  const at::Tensor a0 = (p * grad_p).sum({-1}, true);
  const at::Tensor a1 = (p * a * grad_p).sum({-1}, true);
  const at::Tensor a2 = (p_phi * grad_p).sum({-1}, true);
  const at::Tensor normalizer = 1.0 + e * entropy;
  return (phi * (a0 + a1) - normalizer * a2) / (e * e * (normalizer + phi));
}

class EntmaxRows : public torch::autograd::Function<EntmaxRows> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& scores_BHQK,
                            const at::Tensor& alpha_minus_one_H) {
    const at::Tensor e = alpha_minus_one_H.to(at::kDouble).reshape({1, -1, 1, 1});
    const at::Tensor p = solve(scores_BHQK.to(at::kDouble), e);
    context->save_for_backward({p, e});
    context->saved_data["scores_type"] = static_cast<std::int64_t>(scores_BHQK.scalar_type());
    context->saved_data["alpha_type"] = static_cast<std::int64_t>(alpha_minus_one_H.scalar_type());
    return p.to(scores_BHQK.scalar_type());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor p = saved[0];
    const at::Tensor e = saved[1];
    const at::Tensor grad_p = gradients[0].to(at::kDouble);
    at::Tensor grad_scores;
    at::Tensor grad_alpha;
    if (context->needs_input_grad(0)) {
      const at::Tensor off = at::le(p, 0.0);
      const at::Tensor u = at::where(off, 0.0, at::exp((1.0 - e) * at::log(at::where(off, 1.0, p))));
      const at::Tensor total = u.sum({-1}, true);
      const at::Tensor mean = (u * grad_p).sum({-1}, true) / at::where(at::le(total, 0.0), 1.0, total);
      grad_scores = (u * (grad_p - mean)).to(static_cast<at::ScalarType>(context->saved_data["scores_type"].toInt()));
    }
    if (context->needs_input_grad(1)) {
      const at::Tensor per_head = alpha_gradient(p, grad_p, e).sum({0, 2, 3});
      const at::Tensor grad = e.size(1) == 1 ? per_head.sum().reshape({1}) : per_head;
      grad_alpha = grad.to(static_cast<at::ScalarType>(context->saved_data["alpha_type"].toInt()));
    }
    return {grad_scores, grad_alpha};
  }
};

}  // namespace

at::Tensor entmax_rows(const at::Tensor& scores_BHQK, const at::Tensor& alpha_minus_one_H) {
  return EntmaxRows::apply(scores_BHQK, alpha_minus_one_H);
}

}  // namespace lenbench
