// The seam between gated_gelu.cpp and the code compiled once per instruction set.
#pragma once

#include <cstdint>

namespace lenbench::kernels {

#define LENBENCH_GATED_GELU(NAME)                                                                                 \
  namespace NAME {                                                                                                \
  void gated_gelu(const float* gate, const float* up, float* out, std::int64_t count);                            \
  void gated_gelu_backward(const float* gate, const float* up, const float* gradient, float* d_gate, float* d_up, \
                           std::int64_t count);                                                                   \
  }
LENBENCH_GATED_GELU(baseline)
#ifdef LENBENCH_KERNELS_X86
LENBENCH_GATED_GELU(avx2)
LENBENCH_GATED_GELU(avx512)
#endif
#undef LENBENCH_GATED_GELU

}  // namespace lenbench::kernels
