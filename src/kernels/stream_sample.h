// A few keys of each row, looked at first: they say how diffuse the row is and give a threshold to start from.
#pragma once

#include "kernels/stream_collect.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

constexpr double kDenseShare = 0.055;           // of a row's keys estimated alive: above, the row is weighed densely
constexpr std::int64_t kShortestSampled = 128;  // visible keys; shorter rows are weighed densely
constexpr std::int64_t kLargestSample = 512;    // keys

struct RowSample {
  bool diffuse = false;
  float threshold = Simd<float>::kMasked;  // in score units, proven: a subset of the row's keys gives it
  // An estimate, not a bound, of the row's threshold: (alpha - 1) * (score - top) = value.
  float top = Simd<float>::kMasked, value = -1;
};

// The sample takes every step-th of the row's first 2^m keys, 2^m <= visible, so that it depends on the row alone: the
// choice of path, and with it the last bits of a result, is the same whichever rows share its tile.
struct SampleShape {
  std::int64_t keys, step;
};
inline SampleShape sample_shape(std::int64_t visible) {
  std::int64_t prefix = kShortestSampled;
  while (2 * prefix <= visible) prefix *= 2;
  const std::int64_t few = prefix / 16 < 128 ? prefix / 16 : 128, many = prefix / 64;
  const std::int64_t keys = many < few ? few : many < kLargestSample ? many : kLargestSample;
  return {keys, prefix / keys};
}

// Continues Newton on the beta-norm from thresholds that are lower bounds, with every key of row i standing for
// count[i] keys.
template <Shape kShape>
inline void raise_thresholds(const float* scores, std::int64_t keys, const double (&count)[kRows], float beta,
                             Vec<float> (&value)[2]) {
  for (int round = 0; round < 30; ++round) {
    LaneSum<float> weights, slopes;
    for_keys<float>(
        keys,
        [&](std::int64_t j, int g) {
          Vec<float> weight, slope;
          entmax_terms<float, kShape>(larger(load<float>(scores + j * kRows + g * kWidth) - value[g], Vec<float>{}),
                                      beta, weight, slope);
          weights.part[g] += weight;
          slopes.part[g] += slope;
        },
        weights, slopes);
    for (int i = 0; i < kRows; ++i) weights.total[i] *= count[i], slopes.total[i] *= count[i];
    bool moving = false;
    for (int g = 0; g < 2; ++g) {
      // A lane that is done stands still, so that its bits do not depend on its neighbours.
      const Vec<float> f = weights.vector(g), enough = splat<float>(1.02F);
      const Vec<float> step = select(
          f > enough,
          norm_excess<float, kShape>(weights, g, beta) / larger(slopes.vector(g), splat<float>(Simd<float>::kTiny)),
          Vec<float>{});
      value[g] += step;
      moving |= any_greater<float>(f, enough);
    }
    if (!moving) return;
  }
}

// Fills samples[i] for the tile's live rows. For rows without positional bias.
inline void sample_rows(const StreamHead& head, const QueryTile& tile, const Normalizer<float>& norm,
                        const StreamScratch& scratch, RowSample (&samples)[kRows], StreamingCounters& counters) {
  for (int i = 0; i < tile.used; ++i) {
    samples[i] = {};
    samples[i].diffuse = tile.visible[i] < kShortestSampled;
  }
  std::int64_t done = kShortestSampled - 1;  // rows that see up to so many keys are sampled
  for (;;) {
    std::int64_t shortest = 0;
    for (int i = 0; i < tile.used; ++i) {
      if (tile.visible[i] > done && (shortest == 0 || tile.visible[i] < shortest)) shortest = tile.visible[i];
    }
    if (shortest == 0) return;
    const auto [keys, step] = sample_shape(shortest);
    done = 2 * keys * step - 1;
    float* scores = scratch.scores;
    multiply<float>(keys, kRows, head.head_size, {head.k, head.k_stride * step, 1}, scratch.queries, kRows, scores,
                    kRows, false);
    counters.scored_pairs += keys * tile.used;
    Vec<float> top[2], high[2], low[2];
    threshold_tile<float>(scores, keys, norm, top, high, low);
    Vec<float> value[2] = {high[0] + low[0], high[1] + low[1]};
    double count[kRows];
    for (int i = 0; i < kRows; ++i) count[i] = static_cast<double>(tile.visible[i]) / static_cast<double>(keys);
    if (norm.shape == Shape::kSquare)
      raise_thresholds<Shape::kSquare>(scores, keys, count, norm.beta, value);
    else if (norm.shape == Shape::kLinear)
      raise_thresholds<Shape::kLinear>(scores, keys, count, norm.beta, value);
    else
      raise_thresholds<Shape::kPower>(scores, keys, count, norm.beta, value);
    LaneSum<float> alive;
    for_keys<float>(
        keys,
        [&](std::int64_t j, int g) {
          alive.part[g] +=
              select(load<float>(scores + j * kRows + g * kWidth) > value[g], splat<float>(1), Vec<float>{});
        },
        alive);
    for (int i = 0; i < tile.used; ++i) {
      const int g = i / kWidth, lane = i % kWidth;
      if (tile.visible[i] < keys * step || tile.visible[i] > done) continue;
      samples[i].diffuse = alive.total[i] > kDenseShare * static_cast<double>(keys);
      samples[i].threshold =
          safe_threshold(top[g][lane], static_cast<double>(high[g][lane]) + static_cast<double>(low[g][lane]), norm);
      samples[i].top = top[g][lane];
      samples[i].value = value[g][lane];
    }
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
