// Vectors of the width this file is compiled for, with exp and log. Included only by the instruction-set variants.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef LENBENCH_KERNEL_VARIANT
#error "simd.h is compiled once per instruction set: see variant.cpp"
#endif

// Everything lives in the variant's namespace and calls no inline function of the standard library: the linker keeps
// one copy of such a function for the whole program, and it must not be one that needs a newer CPU.
namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kBlock = 12;  // rows of a register block: 24 of 32 registers accumulate
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kBlock = 6;  // 12 of 16 registers accumulate
#else
constexpr int kVectorBytes = 16;
constexpr int kBlock = 6;
#endif

template <typename T>
struct Simd;

template <>
struct Simd<float> {
  typedef float Vec __attribute__((vector_size(kVectorBytes)));
  typedef std::int32_t Int __attribute__((vector_size(kVectorBytes)));
  using Bits = std::int32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127, kSqrtHalf = 0x3f3504f3, kRoundBits = 0x4b400000;
  static constexpr float kRound = 12582912.0f, kLowest = -87.3f, kHighest = 88.0f;
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f, kTiny = 1.17549435e-38f;
  static constexpr float kMasked = -3.0e38f;
  static constexpr int kExpDegree = 7, kLogTerms = 5;
};

template <>
struct Simd<double> {
  typedef double Vec __attribute__((vector_size(kVectorBytes)));
  typedef std::int64_t Int __attribute__((vector_size(kVectorBytes)));
  using Bits = std::int64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023, kSqrtHalf = 0x3fe6a09e667f3bcd, kRoundBits = 0x4338000000000000;
  static constexpr double kRound = 6755399441055744.0, kLowest = -708.0, kHighest = 709.0;
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kTiny = 2.2250738585072014e-308, kMasked = -1.0e300;
  static constexpr int kExpDegree = 13, kLogTerms = 11;
};

template <typename T>
using Vec = typename Simd<T>::Vec;
template <typename T>
using Int = typename Simd<T>::Int;
template <typename T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
// A tile holds two vectors of query rows, one row per lane.
template <typename T>
constexpr int kTileRows = 2 * kLanes<T>;

template <typename T>
inline Vec<T> load(const T* from) {
  Vec<T> value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
inline void store(T* to, Vec<T> value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

template <typename T>
inline Vec<T> splat(T value) {
  return value - Vec<T>{};
}

template <typename V>
inline V select(decltype(V{} > V{}) mask, V yes, V no) {
  return mask ? yes : no;
}

// The larger (the second operand where either is NaN), square roots, and whether any lane of a comparison holds. Bit i
// of greater_bits is lane i of a > b. The generic forms are right everywhere; compilers turn them into lane-by-lane
// code.
template <typename V>
inline V larger(V a, V b) {
  return a > b ? a : b;
}
template <typename V>
inline V root(V value) {
  for (std::size_t i = 0; i < sizeof(V) / sizeof(value[0]); ++i) value[i] = __builtin_sqrt(value[i]);
  return value;
}
template <typename I>
inline bool any_lane(I mask) {
  bool any = false;
  for (std::size_t i = 0; i < sizeof(I) / sizeof(mask[0]); ++i) any |= mask[i] != 0;
  return any;
}
#if defined(__AVX512F__)
inline Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm512_max_ps(a, b); }
inline Vec<double> larger(Vec<double> a, Vec<double> b) { return _mm512_max_pd(a, b); }
inline Vec<float> root(Vec<float> value) { return _mm512_sqrt_ps(value); }
inline Vec<double> root(Vec<double> value) { return _mm512_sqrt_pd(value); }
inline bool any_lane(Int<float> mask) { return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0; }
inline bool any_lane(Int<double> mask) { return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0; }
inline unsigned greater_bits(Vec<float> a, Vec<float> b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
#elif defined(__AVX2__)
inline Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a, b); }
inline Vec<double> larger(Vec<double> a, Vec<double> b) { return _mm256_max_pd(a, b); }
inline Vec<float> root(Vec<float> value) { return _mm256_sqrt_ps(value); }
inline Vec<double> root(Vec<double> value) { return _mm256_sqrt_pd(value); }
inline bool any_lane(Int<float> mask) { return _mm256_movemask_ps((__m256)mask) != 0; }
inline bool any_lane(Int<double> mask) { return _mm256_movemask_pd((__m256d)mask) != 0; }
inline unsigned greater_bits(Vec<float> a, Vec<float> b) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)));
}
#elif defined(__SSE2__)
inline Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm_max_ps(a, b); }
inline Vec<double> larger(Vec<double> a, Vec<double> b) { return _mm_max_pd(a, b); }
inline Vec<float> root(Vec<float> value) { return _mm_sqrt_ps(value); }
inline Vec<double> root(Vec<double> value) { return _mm_sqrt_pd(value); }
inline bool any_lane(Int<float> mask) { return _mm_movemask_ps((__m128)mask) != 0; }
inline bool any_lane(Int<double> mask) { return _mm_movemask_pd((__m128d)mask) != 0; }
inline unsigned greater_bits(Vec<float> a, Vec<float> b) {
  return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpgt_ps(a, b)));
}
#else
inline unsigned greater_bits(Vec<float> a, Vec<float> b) {
  unsigned bits = 0;
  for (int i = 0; i < kLanes<float>; ++i) bits |= a[i] > b[i] ? 1u << i : 0u;
  return bits;
}
#endif

// A set of fp32 lanes, as the instruction set likes it: comparisons give it.
#if defined(__AVX512F__)
using LaneSet = __mmask16;
inline LaneSet lanes_above(Vec<float> a, Vec<float> b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
inline bool is_empty(LaneSet set) { return set == 0; }
#else
using LaneSet = Int<float>;
inline LaneSet lanes_above(Vec<float> a, Vec<float> b) { return (Int<float>)(a > b); }
inline bool is_empty(LaneSet set) { return !any_lane(set); }
#endif
inline LaneSet join(LaneSet a, LaneSet b) { return static_cast<LaneSet>(a | b); }

template <typename T>
inline T sum_lanes(Vec<T> value) {
  T sum = 0;
  for (int i = 0; i < kLanes<T>; ++i) sum += value[i];
  return sum;
}

template <typename T>
inline T max_lanes(Vec<T> value) {
  T best = value[0];
  for (int i = 1; i < kLanes<T>; ++i) best = value[i] > best ? value[i] : best;
  return best;
}

template <typename T>
inline bool any_greater(Vec<T> a, Vec<T> b) {
  return any_lane((Int<T>)(a > b));
}

// exp(x) within 2 ulp; exactly 0 below Simd::kLowest, saturated above Simd::kHighest.
template <typename T>
inline Vec<T> exp(Vec<T> x) {
  using S = Simd<T>;
  const Vec<T> bounded = select(x > splat<T>(S::kHighest), splat<T>(S::kHighest), x);
  const Vec<T> rounded = bounded * T(1.44269504088896340736) + S::kRound;
  const Vec<T> n = rounded - S::kRound;
  const Vec<T> r = (bounded - n * S::kLn2High) - n * S::kLn2Low;
  T coefficient = 1;
  for (int i = 2; i <= S::kExpDegree; ++i) coefficient /= i;
  Vec<T> sum = splat<T>(coefficient);
#pragma GCC unroll 16
  for (int i = S::kExpDegree; i >= 1; --i) {
    coefficient *= i;
    sum = sum * r + coefficient;
  }
  const Int<T> scale = ((Int<T>)rounded - S::kRoundBits + S::kBias) << S::kMantissa;
  return select(x < splat<T>(S::kLowest), Vec<T>{}, sum * (Vec<T>)scale);
}

// ln(x) for normal x > 0, within 2 ulp of the larger of |ln x| and |x - 1|.
template <typename T>
inline Vec<T> log(Vec<T> x) {
  using S = Simd<T>;
  const Int<T> bits = (Int<T>)x - S::kSqrtHalf;
  const Int<T> exponent = bits >> S::kMantissa;
  const Vec<T> n = (Vec<T>)(exponent + S::kRoundBits) - S::kRound;
  const Vec<T> m = (Vec<T>)((Int<T>)x - (exponent << S::kMantissa));
  const Vec<T> s = (m - T(1)) / (m + T(1));
  const Vec<T> square = s * s;
  Vec<T> sum = splat<T>(T(2) / (2 * S::kLogTerms - 1));
#pragma GCC unroll 16
  for (int i = S::kLogTerms - 1; i >= 1; --i) sum = sum * square + T(2) / (2 * i - 1);
  return n * S::kLn2High + (n * S::kLn2Low + s * sum);
}

// fp32 without the division, whose throughput is a tenth of a multiplication's (coefficients of Cephes' logf).
template <>
inline Vec<float> log<float>(Vec<float> x) {
  using S = Simd<float>;
  const Int<float> bits = (Int<float>)x - S::kSqrtHalf;
  const Int<float> exponent = bits >> S::kMantissa;
  const Vec<float> n = (Vec<float>)(exponent + S::kRoundBits) - S::kRound;
  const Vec<float> f = (Vec<float>)((Int<float>)x - (exponent << S::kMantissa)) - 1.0F;
  constexpr float kTerms[] = {7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,
                              -1.2420140846e-1F, 1.4249322787e-1F,  -1.6668057665e-1F,
                              2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
  Vec<float> sum = splat<float>(kTerms[0]);
#pragma GCC unroll 16
  for (int i = 1; i < 9; ++i) sum = sum * f + kTerms[i];
  const Vec<float> square = f * f;
  return n * S::kLn2High + (f + (n * S::kLn2Low + square * (f * sum - 0.5F)));
}

// ln(x) for normal x > 0 within 2e-6 plus an ulp, and something finite for 0: enough for an entropy, and in two thirds
// of log's operations. The bits of x, as an integer, are log2(x) but for the bend of the mantissa m in [1, 2), which is
// ln(m) - (m - 1) ln(2): the polynomial is the best one in the largest error.
inline Vec<float> log_near(Vec<float> x) {
  constexpr std::int32_t kOne = 0x3f800000, kDigits = 0x007fffff;
  const Vec<float> straight = __builtin_convertvector((Int<float>)x - kOne, Vec<float>);
  const Vec<float> m = (Vec<float>)(((Int<float>)x & kDigits) | kOne);
  constexpr float kTerms[] = {-0.0178077053F, 0.190718591F, -0.878160834F, 2.27804804F,
                              -3.70278478F,   3.54403591F,  -1.4140482F};
  Vec<float> sum = splat<float>(kTerms[0]);
#pragma GCC unroll 16
  for (int i = 1; i < 7; ++i) sum = sum * m + kTerms[i];
  return straight * 8.26295832e-08F + sum;
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
