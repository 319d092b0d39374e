// The activation of a gated MLP as one operation with gradient.
#pragma once

#include <ATen/core/Tensor.h>

namespace lenbench {

// gelu(gate, tanh form) * up for fp32 on the CPU, both of one shape; differentiable in both, gradients of first order.
at::Tensor gated_gelu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace lenbench
