// Tensors to what the kernels room takes. Letters: B rows of a batch, H query heads, G key/value heads, Q queries, D
// head size.
#include "attention/kernel_inputs.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace lenbench {

at::Tensor unit_channel_stride(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

KernelInputs kernel_inputs(const AttendRequest& request) {
  const at::Tensor& q = request.q_BHQD;
  const at::TensorOptions options = q.options().requires_grad(false);
  KernelInputs inputs;
  inputs.q_BHQD = unit_channel_stride(q * score_scale(request));
  inputs.k_BGKD = unit_channel_stride(request.k_BGKD);
  inputs.v_BGKD = unit_channel_stride(request.v_BGKD);
  inputs.visible_BQ = (request.positions_BQ + 1).contiguous();
  inputs.slopes_H = request.slopes.empty()
                        ? at::zeros({q.size(1)}, options)
                        : at::tensor(request.slopes, at::TensorOptions(at::kDouble)).to(q.device(), q.scalar_type());
  const Normalizer& normalizer = request.normalizer;
  if (normalizer.kind == Normalizer::Kind::kTopK) inputs.topk = normalizer.topk;
  if (normalizer.kind != Normalizer::Kind::kEntmax) {
    inputs.alphas_H = at::ones({q.size(1)}, options);
  } else if (normalizer.alpha_minus_one_H.defined()) {
    inputs.alphas_H =
        (normalizer.alpha_minus_one_H.detach() + 1.0).to(q.scalar_type()).expand({q.size(1)}).contiguous();
  } else {
    inputs.alphas_H = at::full({q.size(1)}, normalizer.alpha, options);
  }
  return inputs;
}

template <typename T>
kernels::Problem<T> kernel_problem(const KernelInputs& inputs) {
  kernels::Problem<T> problem;
  problem.batches = inputs.q_BHQD.size(0);
  problem.heads = inputs.q_BHQD.size(1);
  problem.kv_heads = inputs.k_BGKD.size(1);
  problem.rows = inputs.q_BHQD.size(2);
  problem.keys = inputs.k_BGKD.size(2);
  problem.head_size = inputs.q_BHQD.size(3);
  problem.q = kernel_view<const T>(inputs.q_BHQD);
  problem.k = kernel_view<const T>(inputs.k_BGKD);
  problem.v = kernel_view<const T>(inputs.v_BGKD);
  problem.visible = inputs.visible_BQ.data_ptr<std::int64_t>();
  problem.visible_batch_stride = inputs.visible_BQ.size(0) == 1 ? 0 : inputs.visible_BQ.size(1);
  problem.slopes = inputs.slopes_H.data_ptr<T>();
  problem.alphas = inputs.alphas_H.data_ptr<T>();
  problem.topk = inputs.topk;
  problem.threads = at::get_num_threads();
  return problem;
}

template kernels::Problem<float> kernel_problem(const KernelInputs& inputs);
template kernels::Problem<double> kernel_problem(const KernelInputs& inputs);

kernels::RowStats KernelStatistics::pointers() const {
  return {rows.entropy.data_ptr<float>(), rows.support.data_ptr<std::int32_t>(), rows.sink.data_ptr<float>(),
          rows.top.data_ptr<float>(), top_score.defined() ? top_score.data_ptr<float>() : nullptr};
}

KernelStatistics kernel_statistics(const KernelInputs& inputs, bool with_top_score) {
  const auto sizes = inputs.q_BHQD.sizes().slice(0, 3);
  const at::TensorOptions options = inputs.q_BHQD.options();
  return {{at::empty(sizes, options),
           at::empty(sizes, options.dtype(at::kInt)),
           at::empty(sizes, options),
           at::empty(sizes, options),
           {}},
          with_top_score ? at::empty(sizes, options) : at::Tensor()};
}

}  // namespace lenbench
