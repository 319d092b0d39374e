// What the autograd functions of kernels share: inputs kept for the way back, and gradients in their order. Letters as
// in kernel_inputs.h.
#pragma once

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "attention/kernel_inputs.h"

namespace lenbench {

// alpha - 1 where it is learnt, else an empty tensor: autograd takes no undefined inputs. KernelInputs::alphas_H holds
// the values.
inline at::Tensor learnt_alpha(const AttendRequest& request, const KernelInputs& inputs) {
  const at::Tensor& alpha_minus_one_H = request.normalizer.alpha_minus_one_H;
  if (request.normalizer.kind == Normalizer::Kind::kEntmax && alpha_minus_one_H.defined()) return alpha_minus_one_H;
  return at::empty({0}, inputs.q_BHQD.options().requires_grad(false));
}

// For backward(): the inputs, what the kernel saved for itself, and whether alpha is learnt.
inline void keep_for_backward(torch::autograd::AutogradContext* context, const KernelInputs& inputs,
                              const at::Tensor& learnt_alpha_H, const at::Tensor& saved) {
  context->save_for_backward(
      {inputs.q_BHQD, inputs.k_BGKD, inputs.v_BGKD, inputs.visible_BQ, inputs.slopes_H, inputs.alphas_H, saved});
  context->saved_data["learns_alpha"] = learnt_alpha_H.numel() > 0;
}

// Gradients of q, k, v and learnt_alpha, in the order of forward()'s inputs, as run(problem, dout_BHQD, saved, to)
// fills `to`.
template <typename T, typename Run>
torch::autograd::variable_list kernel_gradients(torch::autograd::AutogradContext* context, const at::Tensor& gradient,
                                                const Run& run) {
  const auto kept = context->get_saved_variables();
  const KernelInputs inputs{kept[0], kept[1], kept[2], kept[3], kept[4], kept[5]};
  const kernels::Problem<T> problem = kernel_problem<T>(inputs);
  const at::Tensor dout = unit_channel_stride(gradient);
  const at::Tensor dq = at::empty(inputs.q_BHQD.sizes(), dout.options());
  const at::Tensor dk = at::empty(inputs.k_BGKD.sizes(), dout.options());
  const at::Tensor dv = at::empty(inputs.v_BGKD.sizes(), dout.options());
  at::Tensor dalphas;
  kernels::Gradients<T> to{kernel_view<T>(dq), kernel_view<T>(dk), kernel_view<T>(dv), nullptr, nullptr};
  if (context->saved_data["learns_alpha"].toBool()) {
    dalphas = at::empty({problem.heads}, dout.options());
    to.dalphas = dalphas.template data_ptr<T>();
  }
  run(problem, dout, kept[6], to);
  return {dq, dk, dv, dalphas, {}, {}, {}};
}

}  // namespace lenbench
