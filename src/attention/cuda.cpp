// Tensors on a CUDA device to kernels and back. Letters: B rows of a batch, H query heads, G key/value heads, Q
// queries, K keys, D head size, N rows that have a source.
#include "attention/cuda.h"

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include <stdexcept>
#include <vector>

#include "attention/kernel_autograd.h"
#include "attention/reference.h"
#include "attention/row_stats.h"
#include "attention/streaming.h"
#ifdef LENBENCH_HAS_CUDA
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.h"
#endif

namespace lenbench {
namespace {

// Heads of `heads` alone; every head has key/value heads of its own.
KernelInputs of_heads(const KernelInputs& inputs, const at::Tensor& heads) {
  const auto chosen = [&](const at::Tensor& x, std::int64_t dimension) {
    return at::index_select(x, dimension, heads);
  };
  return {chosen(inputs.q_BHQD, 1), chosen(inputs.k_BGKD, 1),   chosen(inputs.v_BGKD, 1),
          inputs.visible_BQ,        chosen(inputs.slopes_H, 0), chosen(inputs.alphas_H, 0)};
}

at::Tensor fused(const KernelInputs& inputs) {
  const bool grouped = inputs.q_BHQD.size(1) != inputs.k_BGKD.size(1);
  return at::scaled_dot_product_attention(inputs.q_BHQD, inputs.k_BGKD, inputs.v_BGKD, {}, 0.0, true, 1.0, grouped);
}

}  // namespace

at::Tensor softmax_by_parts(const KernelInputs& inputs, std::span<const double> slopes,
                            const std::function<at::Tensor(const KernelInputs&)>& rest) {
  const std::int64_t rows = inputs.q_BHQD.size(2);
  std::vector<std::int64_t> plain, others;
  for (std::int64_t h = 0; h < inputs.q_BHQD.size(1); ++h) {
    (slopes.empty() || slopes[static_cast<std::size_t>(h)] == 0 ? plain : others).push_back(h);
  }
  const at::Tensor causal_1Q = at::arange(1, rows + 1, inputs.visible_BQ.options()).unsqueeze(0);
  const bool causal = rows == inputs.k_BGKD.size(2) && at::eq(inputs.visible_BQ, causal_1Q).all().item<bool>();
  const bool splits = inputs.q_BHQD.size(1) == inputs.k_BGKD.size(1);
  if (!causal || plain.empty() || (!others.empty() && !splits)) return rest(inputs);
  if (others.empty()) return fused(inputs);
  const auto on_device = [&](const std::vector<std::int64_t>& heads) {
    return at::tensor(heads, at::TensorOptions(at::kLong)).to(inputs.q_BHQD.device());
  };
  const at::Tensor plain_heads = on_device(plain), other_heads = on_device(others);
  const at::Tensor parts = at::cat({fused(of_heads(inputs, plain_heads)), rest(of_heads(inputs, other_heads))}, 1);
  return at::index_select(parts, 1, at::argsort(at::cat({plain_heads, other_heads})));
}

at::Tensor source_mass(const KernelInputs& inputs, const at::Tensor& top_BHQ, const at::Tensor& top_score_BHQ,
                       const at::Tensor& source_keys_BQ) {
  const at::NoGradGuard no_grad;
  const std::int64_t heads = inputs.q_BHQD.size(1), heads_per_group = heads / inputs.k_BGKD.size(1);
  const at::Tensor sourced_N2 = at::nonzero(at::ge(source_keys_BQ, 0));
  const at::Tensor b_N = sourced_N2.select(1, 0), row_N = sourced_N2.select(1, 1);
  const auto of_rows = [&](const at::Tensor& x_BHQ, const at::Tensor& index_N) {
    return x_BHQ.transpose(1, 2).index({b_N, index_N}).to(at::kDouble);
  };
  const at::Tensor key_N = source_keys_BQ.index({b_N, row_N});
  const at::Tensor k_NHD = of_rows(inputs.k_BGKD, key_N).repeat_interleave(heads_per_group, 1);
  const at::Tensor visible_N = inputs.visible_BQ.expand(source_keys_BQ.sizes()).index({b_N, row_N});
  const at::Tensor distance_N1 = (visible_N - 1 - key_N).to(at::kDouble).unsqueeze(1);
  const at::Tensor score_NH =
      (of_rows(inputs.q_BHQD, row_N) * k_NHD).sum(-1) - inputs.slopes_H.to(at::kDouble) * distance_N1;
  const at::Tensor below_NH = score_NH - of_rows(top_score_BHQ, row_N), top_NH = of_rows(top_BHQ, row_N);
  const at::Tensor e_H = inputs.alphas_H.to(at::kDouble) - 1.0;
  const at::Tensor one_over_e_H = at::where(at::eq(e_H, 0.0), 1.0, 1.0 / e_H);
  const at::Tensor power_NH = at::clamp_min(at::pow(top_NH, e_H) + e_H * below_NH, 0.0);
  const at::Tensor p_NH = at::where(at::eq(e_H, 0.0), top_NH * at::exp(below_NH), at::pow(power_NH, one_over_e_H));
  const at::Tensor mass_BQH = at::zeros({source_keys_BQ.size(0), source_keys_BQ.size(1), heads}, p_NH.options());
  mass_BQH.index_put_({b_N, row_N}, p_NH);
  return mass_BQH.transpose(1, 2);
}

#ifdef LENBENCH_HAS_CUDA
namespace {

// Kernels run on the default stream, as LibTorch's do here, so scratch may be freed while they wait.
at::Tensor scratch(std::int64_t bytes, const at::Tensor& like) {
  return at::empty({bytes}, like.options().dtype(at::kByte).requires_grad(false));
}

// For LibTorch and for the kernels.
class OnDevice {
 public:
  explicit OnDevice(const at::Tensor& x) : guard_(x.device()) { kernels::use_cuda_device(x.device().index()); }

 private:
  c10::DeviceGuard guard_;
};

at::Tensor run_kernels(const KernelInputs& inputs, const kernels::RowStats& stats, double* states) {
  const kernels::Problem<float> problem = kernel_problem<float>(inputs);
  const at::Tensor out = at::empty(inputs.q_BHQD.sizes(), inputs.q_BHQD.options().requires_grad(false));
  kernels::CudaOptions options;
  options.states = states;
  const std::int64_t bytes = kernels::attend_cuda_scratch_bytes(problem, options);
  kernels::attend_cuda(problem, kernel_view<float>(out), stats, options, nullptr, scratch(bytes, out).data_ptr(), bytes,
                       nullptr);
  return out;
}

class CudaAttention : public torch::autograd::Function<CudaAttention> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q_BHQD,
                            const at::Tensor& k_BGKD, const at::Tensor& v_BGKD, const at::Tensor& learnt_alpha_H,
                            const at::Tensor& visible_BQ, const at::Tensor& slopes_H, const at::Tensor& alphas_H) {
    const KernelInputs inputs{q_BHQD, k_BGKD, v_BGKD, visible_BQ, slopes_H, alphas_H};
    const at::Tensor states = at::empty({q_BHQD.size(0), q_BHQD.size(1), q_BHQD.size(2), 3},
                                        q_BHQD.options().dtype(at::kDouble).requires_grad(false));
    const at::Tensor out = run_kernels(inputs, {}, states.data_ptr<double>());
    keep_for_backward(context, inputs, learnt_alpha_H, states);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const OnDevice guard(gradients[0]);
    return kernel_gradients<float>(context, gradients[0],
                                   [](const kernels::Problem<float>& problem, const at::Tensor& dout,
                                      const at::Tensor& states, const kernels::Gradients<float>& to) {
                                     const std::int64_t bytes = kernels::attend_cuda_backward_scratch_bytes(problem);
                                     kernels::attend_cuda_backward(problem, kernel_view<const float>(dout),
                                                                   states.const_data_ptr<double>(), to,
                                                                   scratch(bytes, dout).data_ptr(), bytes, nullptr);
                                   });
  }
};

// The statistics of every row, by the kernel that fits: softmax outputs may have come from elsewhere.
KernelStatistics statistics_of(const KernelInputs& inputs, bool with_top_score) {
  KernelStatistics statistics = kernel_statistics(inputs, with_top_score);
  const kernels::Problem<float> problem = kernel_problem<float>(inputs);
  const std::int64_t bytes = kernels::softmax_statistics_cuda_scratch_bytes(problem);
  kernels::softmax_statistics_cuda(problem, statistics.pointers(), scratch(bytes, inputs.q_BHQD).data_ptr(), bytes,
                                   nullptr);
  return statistics;
}

}  // namespace

std::string uncovered_by_cuda(const AttendRequest& request) {
  if (request.normalizer.adaptive) return "adaptive temperature has no CUDA kernel";
  if (request.normalizer.kind == Normalizer::Kind::kTopK) return "top-k has no CUDA kernel";
  return request.q_BHQD.scalar_type() == at::kFloat ? "" : "another type than float32 on CUDA";
}

at::Tensor attend_cuda(const AttendRequest& request) {
  const OnDevice guard(request.q_BHQD);
  const KernelInputs inputs = kernel_inputs(request);
  const bool softmax = request.normalizer.kind == Normalizer::Kind::kSoftmax, gradient = wants_gradient(request);
  const bool sources = request.stats != nullptr && request.source_keys_BQ.defined();
  KernelStatistics statistics;
  at::Tensor out;
  if (softmax) {
    out = softmax_by_parts(inputs, request.slopes, [&](const KernelInputs& part) {
      if (!gradient) return run_kernels(part, {}, nullptr);
      return CudaAttention::apply(part.q_BHQD, part.k_BGKD, part.v_BGKD, learnt_alpha(request, part), part.visible_BQ,
                                  part.slopes_H, part.alphas_H);
    });
    if (request.stats) statistics = statistics_of(inputs, sources);
  } else if (gradient) {
    out = CudaAttention::apply(inputs.q_BHQD, inputs.k_BGKD, inputs.v_BGKD, learnt_alpha(request, inputs),
                               inputs.visible_BQ, inputs.slopes_H, inputs.alphas_H);
  }
  if (!softmax && (request.stats || !gradient)) {
    const at::NoGradGuard no_grad;
    if (request.stats) statistics = kernel_statistics(inputs, sources);
    const at::Tensor swept = run_kernels(inputs, request.stats ? statistics.pointers() : kernels::RowStats{}, nullptr);
    if (!gradient) out = swept;
  }
  if (request.stats) {
    const at::NoGradGuard no_grad;
    RowStatistics rows = statistics.rows;
    if (sources) rows.source = source_mass(inputs, rows.top, statistics.top_score, request.source_keys_BQ);
    report_rows(request, rows);
  }
  return out;
}
#else
std::string uncovered_by_cuda(const AttendRequest&) { return "this build has no CUDA kernels"; }

at::Tensor attend_cuda(const AttendRequest&) { throw std::logic_error("attend_cuda: not covered"); }
#endif

}  // namespace lenbench
