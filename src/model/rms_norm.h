// Root-mean-square normalisation of the Gemma kind.
#pragma once

#include <ATen/core/Tensor.h>

namespace lenbench {

// x / sqrt(mean(x^2) + eps) * (1 + w) over the last dimension of x [..., E], weight [E]. fp32 or fp64; sums in the type
// of x. Differentiable in both.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight_E, double eps);

}  // namespace lenbench
