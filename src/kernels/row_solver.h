// alpha-entmax of one row given as a list of scores: the threshold by Newton on the beta-norm (docs/kernels.md).
#pragma once

#include "kernels/tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// F = sum x^beta and G = sum x^(beta-1) over x = max(scale * (scores - shift) - t, 0).
template <typename T, Shape kShape>
inline void entmax_sums(const T* scores, std::int64_t count, T shift, T t, const Normalizer<T>& norm, double& f,
                        double& g) {
  f = g = 0;
  constexpr std::int64_t kChunk = 64 * kLanes<T>;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t end = begin + kChunk < count ? begin + kChunk : count;
    Vec<T> weights = {}, slopes = {};
    for (std::int64_t i = begin; i < end; i += kLanes<T>) {
      Vec<T> weight, slope;
      entmax_terms<T, kShape>(larger((load<T>(scores + i) - shift) * norm.scale - t, Vec<T>{}), norm.beta, weight,
                              slope);
      weights += weight;
      slopes += slope;
    }
    f += static_cast<double>(sum_lanes<T>(weights));
    g += static_cast<double>(sum_lanes<T>(slopes));
  }
}

// The threshold t in [-1, 0] of (alpha - 1) * (scores - shift), shift being their maximum; `start` is a lower bound of
// it. The list must be readable and hold Simd::kMasked up to a multiple of the lanes.
template <typename T, Shape kShape>
inline double solve_row(const T* scores, std::int64_t count, T shift, double start, const Normalizer<T>& norm) {
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 4e-15;
  double t = start;
  for (int round = 0; round < 60; ++round) {
    double f, g;
    entmax_sums<T, kShape>(scores, count, shift, static_cast<T>(t), norm, f, g);
    double companion = 1;
    if constexpr (kShape == Shape::kSquare) companion = __builtin_sqrt(f);
    if constexpr (kShape == Shape::kPower) companion = __builtin_pow(f, 1 - 1 / static_cast<double>(norm.beta));
    const double next = t + (f - companion) / g;
    if (!(next > t) || next >= 0) return t;
    t = next;
    if (f <= 1 + tolerance) return t;
  }
  return t;
}

template <typename T>
inline double row_threshold(const T* scores, std::int64_t count, T shift, double start, const Normalizer<T>& norm) {
  switch (norm.shape) {
    case Shape::kSquare:
      return solve_row<T, Shape::kSquare>(scores, count, shift, start, norm);
    case Shape::kLinear:
      return solve_row<T, Shape::kLinear>(scores, count, shift, start, norm);
    default:
      return solve_row<T, Shape::kPower>(scores, count, shift, start, norm);
  }
}

template <typename T>
inline void pad_list(T* scores, std::int64_t count) {
  for (int i = 0; i < kLanes<T>; ++i) scores[count + i] = Simd<T>::kMasked;
}

template <typename T>
inline T max_of_list(const T* scores, std::int64_t count) {
  Vec<T> best = splat<T>(Simd<T>::kMasked);
  for (std::int64_t i = 0; i < count; i += kLanes<T>) best = larger(load<T>(scores + i), best);
  return max_lanes<T>(best);
}

// Turns x > 0 in place into weights x^beta; returns their sum and sets log_sum to sum of weight * ln(weight). The list
// needs room for one more vector.
inline double weigh_row(double* list, std::int64_t count, const Normalizer<double>& norm, double& log_sum) {
  constexpr int kWide = kLanes<double>;
  for (int i = 0; i < kWide; ++i) list[count + i] = 0;
  double sum = 0;
  log_sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += 64 * kWide) {
    Vec<double> weights = {}, logs = {};
    for (std::int64_t i = begin; i < count && i < begin + 64 * kWide; i += kWide) {
      const Vec<double> x = load<double>(list + i);
      const Vec<double> ln = log<double>(larger(x, splat<double>(Simd<double>::kTiny))) * norm.beta;
      const Vec<double> weight = norm.shape == Shape::kSquare   ? x * x
                                 : norm.shape == Shape::kLinear ? x
                                                                : select(x > Vec<double>{}, exp<double>(ln), x);
      store<double>(list + i, weight);
      weights += weight;
      logs += weight * ln;
    }
    sum += sum_lanes<double>(weights);
    log_sum += sum_lanes<double>(logs);
  }
  return sum;
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
