// Tensors to the gated activation of the kernels and back.
#include "model/gated_mlp.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/gated_gelu.h"

namespace lenbench {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements of a work item

at::Tensor run_forward(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor out = at::empty_like(gate);
  const float *g = gate.const_data_ptr<float>(), *u = up.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, gate.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::gated_gelu(g + begin, u + begin, to + begin, end - begin);
  });
  return out;
}

struct GatedGelu : torch::autograd::Function<GatedGelu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    context->save_for_backward({gate, up});
    return run_forward(gate, up);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor d_gate = at::empty_like(saved[0]), d_up = at::empty_like(saved[1]);
    const float *g = saved[0].const_data_ptr<float>(), *u = saved[1].const_data_ptr<float>(),
                *given = gradient.const_data_ptr<float>();
    float *to_gate = d_gate.mutable_data_ptr<float>(), *to_up = d_up.mutable_data_ptr<float>();
    at::parallel_for(0, gradient.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels::gated_gelu_backward(g + begin, u + begin, given + begin, to_gate + begin, to_up + begin, end - begin);
    });
    return {d_gate, d_up};
  }
};

}  // namespace

at::Tensor gated_gelu(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor g = gate.contiguous(), u = up.contiguous();
  if (at::GradMode::is_enabled() && (g.requires_grad() || u.requires_grad())) return GatedGelu::apply(g, u);
  return run_forward(g, u);
}

}  // namespace lenbench
