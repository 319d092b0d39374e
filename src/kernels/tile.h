// Normalisation of a tile of materialised scores: softmax or alpha-entmax of 16 or so rows at once, one row per lane.
#pragma once

#include "kernels/gemm.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

enum class Shape { kSoftmax, kSquare, kLinear, kPower };  // alpha 1, 1.5, 2, any other in (1, 2)

template <typename T>
struct Normalizer {
  Shape shape;
  T scale, beta;  // alpha - 1 and its inverse; both 1 for softmax
};

template <typename T>
inline Normalizer<T> make_normalizer(double alpha) {
  if (alpha == 1) return {Shape::kSoftmax, T(1), T(1)};
  const Shape shape = alpha == 1.5 ? Shape::kSquare : alpha == 2 ? Shape::kLinear : Shape::kPower;
  return {shape, static_cast<T>(alpha - 1), static_cast<T>(1 / (alpha - 1))};
}

// weight = x^beta and slope = x^(beta-1) of x >= 0, both 0 at 0.
template <typename T, Shape kShape>
inline void entmax_terms(Vec<T> x, T beta, Vec<T>& weight, Vec<T>& slope) {
  if constexpr (kShape == Shape::kSquare) {
    weight = x * x;
    slope = x;
  } else if constexpr (kShape == Shape::kLinear) {
    weight = x;
    slope = select(x > Vec<T>{}, splat<T>(1), Vec<T>{});
  } else {
    const Vec<T> positive = larger(x, splat<T>(Simd<T>::kTiny));
    weight = select(x > Vec<T>{}, exp<T>(log<T>(positive) * beta), Vec<T>{});
    slope = weight / positive;
  }
}

// Sums of two vectors of lanes: 64 terms in T, then double, so that a row of a million equal keys keeps fp32's digits.
template <typename T>
struct LaneSum {
  Vec<T> part[2] = {};
  double total[kTileRows<T>] = {};
  void flush() {
    for (int g = 0; g < 2; ++g) {
      for (int i = 0; i < kLanes<T>; ++i) total[g * kLanes<T> + i] += static_cast<double>(part[g][i]);
      part[g] = Vec<T>{};
    }
  }
  Vec<T> vector(int g) const {
    Vec<T> value;
    for (int i = 0; i < kLanes<T>; ++i) value[i] = static_cast<T>(total[g * kLanes<T> + i]);
    return value;
  }
};
constexpr std::int64_t kSumChunk = 64;

// The terms of x = score - (high + low), score being shifted and scaled. Near alpha = 1 every x is close to 1 and beta
// is large, so the power is taken as exp(beta * log1p(x - 1)) of a difference that keeps its digits.
template <typename T, Shape kShape>
inline void shifted_terms(Vec<T> score, Vec<T> high, Vec<T> low, T beta, Vec<T>& weight, Vec<T>& slope) {
  if constexpr (kShape == Shape::kPower) {
    const Vec<T> y = larger((score - (high + T(1))) - low, splat<T>(-1)), x = y + T(1);
    const Vec<T> positive = larger(x, splat<T>(Simd<T>::kTiny));
    const Vec<T> log1p = log<T>(positive) + (y - (x - T(1))) / positive;
    weight = select(x > Vec<T>{}, exp<T>(log1p * beta), Vec<T>{});
    slope = weight / positive;
  } else {
    entmax_terms<T, kShape>(larger((score - high) - low, Vec<T>{}), beta, weight, slope);
  }
}

// F - F^(1 - 1/beta) of vector g, the numerator of Newton's step on the beta-norm (docs/kernels.md). For a general
// alpha it is F (1 - e^-w) with w = ln(F) / beta in double: near alpha = 1 the difference of powers would lose all
// digits.
template <typename T, Shape kShape>
inline Vec<T> norm_excess(const LaneSum<T>& sums, int g, T beta) {
  const Vec<T> f = sums.vector(g);
  if constexpr (kShape == Shape::kSquare) {
    return f - root(f);
  } else if constexpr (kShape == Shape::kLinear) {
    return f - T(1);
  } else {
    Vec<T> excess;
    for (int begin = 0; begin < kLanes<T>; begin += kLanes<double>) {
      const Vec<double> sum =
          larger(load<double>(sums.total + g * kLanes<T> + begin), splat<double>(Simd<double>::kTiny));
      const Vec<double> w = log<double>(sum) * (1 / static_cast<double>(beta));
      Vec<double> series = splat<double>(1);
#pragma GCC unroll 16
      for (int k = 14; k >= 2; --k) series = series * w * (-1.0 / k) + 1.0;
      const Vec<double> small = w * series;
      const Vec<double> large = 1.0 - exp<double>(-w);
      const Vec<double> value = sum * select(larger(w, -w) < splat<double>(0.25), small, large);
      for (int i = 0; i < kLanes<double>; ++i) excess[begin + i] = static_cast<T>(value[i]);
    }
    return excess;
  }
}

// Per-lane results of a tile; the weights themselves stay unnormalised: p = weight / sum.
template <typename T>
struct TileResult {
  double sum[kTileRows<T>];      // sum of count * weight
  double log_sum[kTileRows<T>];  // sum of count * weight * ln weight: H = ln(sum) - log_sum / sum
  T top_score[kTileRows<T>];     // largest score
};

// Calls body(j, g, sums...) for all keys and both vectors and flushes the sums on the way.
template <typename T, typename Body, typename... Sums>
inline void for_keys(std::int64_t keys, const Body& body, Sums&... sums) {
  for (std::int64_t begin = 0; begin < keys; begin += kSumChunk) {
    const std::int64_t end = begin + kSumChunk < keys ? begin + kSumChunk : keys;
    for (std::int64_t j = begin; j < end; ++j) {
      body(j, 0);
      body(j, 1);
    }
    (sums.flush(), ...);
  }
}

// Thresholds of the shifted scores (maximum 0) by Newton on the beta-norm, from -1 upwards; high + low is the
// threshold.
template <typename T, Shape kShape, bool kCounted>
inline void solve_tile(const T* scores, const T* counts, std::int64_t keys, T beta, Vec<T> (&high)[2],
                       Vec<T> (&low)[2]) {
  const T tolerance = sizeof(T) == 4 ? (kShape == Shape::kPower ? T(4e-6) : T(1e-6)) : T(1e-14);
  for (int g = 0; g < 2; ++g) high[g] = splat<T>(-1), low[g] = Vec<T>{};
  for (int round = 0; round < 50; ++round) {
    LaneSum<T> weights, slopes;
    for_keys<T>(
        keys,
        [&](std::int64_t j, int g) {
          const std::int64_t at = j * kTileRows<T> + g * kLanes<T>;
          Vec<T> weight, slope;
          shifted_terms<T, kShape>(load<T>(scores + at), high[g], low[g], beta, weight, slope);
          if constexpr (kCounted) {
            weight *= load<T>(counts + at);
            slope *= load<T>(counts + at);
          }
          weights.part[g] += weight;
          slopes.part[g] += slope;
        },
        weights, slopes);
    bool moving = false;
    for (int g = 0; g < 2; ++g) {
      const Vec<T> f = weights.vector(g);
      // A lane that is done stands still, so that its bits do not depend on its neighbours.
      const Vec<T> step = select(
          f > splat<T>(1 + tolerance),
          norm_excess<T, kShape>(weights, g, beta) / larger(slopes.vector(g), splat<T>(Simd<T>::kTiny)), Vec<T>{});
      const Vec<T> rest = low[g] + step, next = high[g] + rest;
      low[g] = (high[g] - next) + rest;
      high[g] = next;
      moving |= any_greater<T>(f, splat<T>(1 + tolerance));
    }
    if (!moving) return;
  }
}

template <typename T>
inline void tile_maximum(const T* scores, std::int64_t keys, Vec<T> (&top)[2]) {
  for (int g = 0; g < 2; ++g) top[g] = splat<T>(Simd<T>::kMasked);
  for_keys<T>(keys, [&](std::int64_t j, int g) {
    top[g] = larger(load<T>(scores + j * kTileRows<T> + g * kLanes<T>), top[g]);
  });
}

template <typename T>
inline void shift_tile(T* scores, std::int64_t keys, T scale, const Vec<T> (&top)[2]) {
  for_keys<T>(keys, [&](std::int64_t j, int g) {
    T* at = scores + j * kTileRows<T> + g * kLanes<T>;
    store<T>(at, (load<T>(at) - top[g]) * scale);
  });
}

template <typename T, Shape kShape, bool kCounted>
inline void normalize_shape(T* scores, const T* counts, std::int64_t keys, const Normalizer<T>& norm, bool want_log,
                            TileResult<T>& result) {
  const auto row = [](std::int64_t j, int g) { return j * kTileRows<T> + g * kLanes<T>; };
  LaneSum<T> sums, logs;
  Vec<T> top[2], high[2], low[2];
  tile_maximum<T>(scores, keys, top);
  if constexpr (kShape != Shape::kSoftmax) {
    shift_tile<T>(scores, keys, norm.scale, top);
    solve_tile<T, kShape, kCounted>(scores, counts, keys, norm.beta, high, low);
  }
  for_keys<T>(
      keys,
      [&](std::int64_t j, int g) {
        Vec<T> weight, slope;
        const Vec<T> score = load<T>(scores + row(j, g));
        if constexpr (kShape == Shape::kSoftmax)
          weight = exp<T>(score - top[g]);
        else
          shifted_terms<T, kShape>(score, high[g], low[g], norm.beta, weight, slope);
        store<T>(scores + row(j, g), weight);
        if constexpr (kCounted) {
          const Vec<T> count = load<T>(counts + row(j, g));
          sums.part[g] += count * weight;
          if (want_log) logs.part[g] += count * weight * log<T>(larger(weight, splat<T>(Simd<T>::kTiny)));
        } else {
          sums.part[g] += weight;
          if (want_log) logs.part[g] += weight * log<T>(larger(weight, splat<T>(Simd<T>::kTiny)));
        }
      },
      sums, logs);
  for (int i = 0; i < kTileRows<T>; ++i) {
    result.sum[i] = sums.total[i];
    result.log_sum[i] = logs.total[i];
    result.top_score[i] = top[i / kLanes<T>][i % kLanes<T>];
  }
}

// The thresholds alone, for alpha > 1: high + low of (alpha - 1) * (score - top) per lane. Leaves the scores shifted
// and scaled so. kCounted: keys stand for as many as `counts` says (same layout as scores).
template <typename T, bool kCounted = false>
inline void threshold_tile(T* scores, std::int64_t keys, const Normalizer<T>& norm, Vec<T> (&top)[2], Vec<T> (&high)[2],
                           Vec<T> (&low)[2], const T* counts = nullptr) {
  tile_maximum<T>(scores, keys, top);
  shift_tile<T>(scores, keys, norm.scale, top);
  if (norm.shape == Shape::kSquare)
    solve_tile<T, Shape::kSquare, kCounted>(scores, counts, keys, norm.beta, high, low);
  else if (norm.shape == Shape::kLinear)
    solve_tile<T, Shape::kLinear, kCounted>(scores, counts, keys, norm.beta, high, low);
  else
    solve_tile<T, Shape::kPower, kCounted>(scores, counts, keys, norm.beta, high, low);
}

// Turns scores [keys][lanes] (Simd::kMasked where a lane may not look) into weights in place. `counts` (same layout)
// are multiplicities, or null. A lane with nothing visible gets garbage, which the caller must ignore.
template <typename T>
inline void normalize_tile(T* scores, const T* counts, std::int64_t keys, const Normalizer<T>& norm, bool want_log,
                           TileResult<T>& result) {
  const auto run = [&]<Shape kShape>() {
    if (counts)
      normalize_shape<T, kShape, true>(scores, counts, keys, norm, want_log, result);
    else
      normalize_shape<T, kShape, false>(scores, counts, keys, norm, want_log, result);
  };
  switch (norm.shape) {
    case Shape::kSoftmax:
      return run.template operator()<Shape::kSoftmax>();
    case Shape::kSquare:
      return run.template operator()<Shape::kSquare>();
    case Shape::kLinear:
      return run.template operator()<Shape::kLinear>();
    case Shape::kPower:
      return run.template operator()<Shape::kPower>();
  }
}

// Hands out an allocation part by part, each on a cache line of its own. Without an allocation it only counts.
class Carver {
 public:
  explicit Carver(void* memory) : memory_(static_cast<char*>(memory)) {}

  template <typename T>
  T* take(std::int64_t count) {
    T* start = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return start;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  char* memory_;
  std::size_t bytes_ = 0;
};

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
