// Root-mean-square normalisation.
#pragma once

#include <ATen/core/Tensor.h>

namespace lenbench {

// x / sqrt(mean(x^2) + eps) * (offset + w) over the last dimension of x [..., E], weight [E]; offset 1 is the Gemma
// kind, 0 the usual one. fp32 or fp64; sums in the type of x. Differentiable in both.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight_E, double eps, double offset = 1);

}  // namespace lenbench
