// gelu(gate) * up of gated MLPs, forward and backward in one pass each.
#pragma once

#include <cstdint>

namespace lenbench::kernels {

// gelu is the tanh form, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). Arrays of `count` floats; the result of an
// element depends on that element alone. Relative error of gelu below 1e-6 where |x| < 8.

void gated_gelu(const float* gate, const float* up, float* out, std::int64_t count);

// d_gate = gradient * up * gelu'(gate), d_up = gradient * gelu(gate).
void gated_gelu_backward(const float* gate, const float* up, const float* gradient, float* d_gate, float* d_up,
                         std::int64_t count);

}  // namespace lenbench::kernels
