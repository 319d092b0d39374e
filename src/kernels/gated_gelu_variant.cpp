// The gated activation for one instruction set: CMake compiles this file several times with different flags and names.
#include "kernels/gated_gelu_variant.h"

#include "kernels/simd.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {
namespace {

constexpr float kScale = 0.7978845608F, kCubic = 0.044715F;  // sqrt(2 / pi)

// With y = sqrt(2 / pi) (x + 0.044715 x^3): 0.5 (1 + tanh y) = 1 / (1 + e^(-2 y)), which has no cancellation.
inline Vec<float> gate_of(Vec<float> x) {
  const Vec<float> y = x * (kScale + kScale * kCubic * (x * x));
  return 1.0F / (1.0F + exp<float>(y * -2.0F));
}

inline Vec<float> slope_of(Vec<float> x, Vec<float> sigma) {
  const Vec<float> rate = 2.0F * kScale + (6.0F * kScale * kCubic) * (x * x);
  return sigma + x * sigma * (1.0F - sigma) * rate;
}

// Calls body(load, store) for whole vectors, then once for the rest through padded copies.
template <typename Body>
inline void for_vectors(std::int64_t count, const Body& body) {
  constexpr int kWide = kLanes<float>;
  std::int64_t i = 0;
  for (; i + kWide <= count; i += kWide)
    body([i](const float* from) { return load<float>(from + i); },
         [i](float* to, Vec<float> value) { store<float>(to + i, value); });
  if (i == count) return;
  const std::int64_t rest = count - i;
  body(
      [i, rest](const float* from) {
        Vec<float> value = {};
        for (std::int64_t lane = 0; lane < rest; ++lane) value[lane] = from[i + lane];
        return value;
      },
      [i, rest](float* to, Vec<float> value) {
        for (std::int64_t lane = 0; lane < rest; ++lane) to[i + lane] = value[lane];
      });
}

}  // namespace

void gated_gelu(const float* gate, const float* up, float* out, std::int64_t count) {
  for_vectors(count, [&](const auto& from, const auto& put) {
    const Vec<float> x = from(gate);
    put(out, x * gate_of(x) * from(up));
  });
}

void gated_gelu_backward(const float* gate, const float* up, const float* gradient, float* d_gate, float* d_up,
                         std::int64_t count) {
  for_vectors(count, [&](const auto& from, const auto& put) {
    const Vec<float> x = from(gate), sigma = gate_of(x), given = from(gradient);
    const Vec<float> d_of_gate = given * from(up) * slope_of(x, sigma);
    put(d_up, given * (x * sigma));
    put(d_gate, d_of_gate);
  });
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
