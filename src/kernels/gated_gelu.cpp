// Takes the gated activation of the instruction set in use.
#include "kernels/gated_gelu.h"

#include "kernels/gated_gelu_variant.h"
#include "kernels/variant.h"

namespace lenbench::kernels {

void gated_gelu(const float* gate, const float* up, float* out, std::int64_t count) {
#ifdef LENBENCH_KERNELS_X86
  if (&active_variant() == &avx2::variant()) return avx2::gated_gelu(gate, up, out, count);
  if (&active_variant() == &avx512::variant()) return avx512::gated_gelu(gate, up, out, count);
#endif
  baseline::gated_gelu(gate, up, out, count);
}

void gated_gelu_backward(const float* gate, const float* up, const float* gradient, float* d_gate, float* d_up,
                         std::int64_t count) {
#ifdef LENBENCH_KERNELS_X86
  if (&active_variant() == &avx2::variant()) return avx2::gated_gelu_backward(gate, up, gradient, d_gate, d_up, count);
  if (&active_variant() == &avx512::variant())
    return avx512::gated_gelu_backward(gate, up, gradient, d_gate, d_up, count);
#endif
  baseline::gated_gelu_backward(gate, up, gradient, d_gate, d_up, count);
}

}  // namespace lenbench::kernels
