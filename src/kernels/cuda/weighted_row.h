// One row from scores to output and statistics, by one warp. What the dense and the screened kernel share: the same
// arithmetic on the same scores, so that leaving out keys without weight changes nothing.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/warp.h"

namespace lenbench::kernels {

// Where a row's results go; every pointer but `out` may be null. Terms as in attention_kernels.h.
struct RowOutput {
  float* out;                               // [head_size]
  float *entropy, *sink, *top, *top_score;  // one value each
  std::int32_t* support;
  double* state;  // [3] for gradient_rows.h: top, shift and sum of RowWeights; sum 0 for a fully masked row
};

// Scores of the keys that may have weight, in ascending order of the keys.
struct ScoredRow {
  const float* scores;       // [count], at least one
  const std::int32_t* keys;  // [count]; null: `first`, `first` + 1, ...
  std::int64_t first, count, visible;
  const float* v;
  std::int64_t v_stride, head_size;
  RowOutput to;
};

struct RowWeights {
  double beta;   // 1 / (alpha - 1); softmax: not read
  double shift;  // the threshold: of score s the weight is max((s - top) / beta - shift, 0)^beta, softmax e^(s - top)
  double top;    // largest score
  bool softmax;
};

// Scores as every kernel of this folder computes them, so that they agree on which keys have weight.
LENBENCH_LANE_CODE float score_of(const float* q, const float* k, std::int64_t head_size, float slope,
                                  std::int64_t distance) {
  float dot = 0;
  for (std::int64_t c = 0; c < head_size; ++c) dot += q[c] * k[c];
  return dot - slope * static_cast<float>(distance);
}

// One copy of what the double-precision library inlines at length.
LENBENCH_LANE_CALL double power(double x, double y) { return pow(x, y); }

LENBENCH_LANE_CODE double positive_part(const RowWeights& weights, float score) {
  const double x = (static_cast<double>(score) - weights.top) / weights.beta - weights.shift;
  return x > 0 ? x : 0;
}

LENBENCH_LANE_CODE double weight_of(const RowWeights& weights, float score) {
  if (weights.softmax) return exp(static_cast<double>(score) - weights.top);
  const double x = positive_part(weights, score);
  if (weights.beta == 2) return x * x;
  if (weights.beta == 1) return x;
  return x > 0 ? power(x, weights.beta) : 0;
}

// Newton on the beta-norm of the positive parts, from weights.shift upwards: N = F^(1/beta),
// dN/dshift = -F^(1/beta - 1) G with F = sum x^beta and G = sum x^(beta - 1). Convex and decreasing, so the steps rise
// and never overshoot (docs/kernels.md). Requires shift at or below the threshold; returns it raised to the threshold,
// or, where `rounds` end early, to something below.
template <class Warp>
LENBENCH_LANE_CALL double raise_shift(const float* scores, std::int64_t count, RowWeights weights, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    typename Warp::template Lanes<double> powers, slopes;
    Warp::each([&](int lane) {
      double f = 0, g = 0;
      for (std::int64_t i = lane; i < count; i += kWarpLanes) {
        const double x = positive_part(weights, scores[i]);
        if (x == 0) continue;
        const double below = weights.beta == 2 ? x : weights.beta == 1 ? 1 : power(x, weights.beta - 1);
        f += below * x;
        g += below;
      }
      powers[lane] = f;
      slopes[lane] = g;
    });
    const double f = Warp::sum(powers), g = Warp::sum(slopes);
    const double step = (f - power(f, 1 - 1 / weights.beta)) / g;
    if (!(step > 1e-14)) break;
    weights.shift += step;
  }
  return weights.shift;
}

template <class Warp>
LENBENCH_LANE_CODE float largest_score(const float* scores, std::int64_t count) {
  typename Warp::template Lanes<float> best;
  Warp::each([&](int lane) {
    best[lane] = -INFINITY;
    for (std::int64_t i = lane; i < count; i += kWarpLanes)
      best[lane] = scores[i] > best[lane] ? scores[i] : best[lane];
  });
  return Warp::max(best);
}

template <class Warp>
LENBENCH_LANE_CODE void write_output(const ScoredRow& row, const RowWeights& weights, double sum) {
  constexpr int kChannels = 4;  // of one lane at a time
  for (std::int64_t first = 0; first < row.head_size; first += kChannels * kWarpLanes) {
    typename Warp::template Lanes<double> outputs[kChannels];
    for (std::int64_t begin = 0; begin < row.count; begin += kWarpLanes) {
      typename Warp::template Lanes<float> mine;
      typename Warp::template Lanes<std::int64_t> keys;
      Warp::each([&](int lane) {
        const std::int64_t i = begin + lane;
        mine[lane] = i < row.count ? static_cast<float>(weight_of(weights, row.scores[i])) : 0.0F;
        keys[lane] = row.keys && i < row.count ? row.keys[i] : row.first + i;
      });
      for (int i = 0; i < kWarpLanes && begin + i < row.count; ++i) {
        const auto weight = static_cast<double>(Warp::broadcast(mine, i));
        if (weight == 0) continue;
        const float* v = row.v + Warp::broadcast(keys, i) * row.v_stride;
        Warp::each([&](int lane) {
          for (int n = 0; n < kChannels; ++n) {
            const std::int64_t c = first + n * kWarpLanes + lane;
            if (c < row.head_size) outputs[n][lane] += weight * static_cast<double>(v[c]);
          }
        });
      }
    }
    Warp::each([&](int lane) {
      for (int n = 0; n < kChannels; ++n) {
        const std::int64_t c = first + n * kWarpLanes + lane;
        if (c < row.head_size) row.to.out[c] = static_cast<float>(outputs[n][lane] / sum);
      }
    });
  }
}

// A row with one value everywhere: 0 where it sees nothing, NaN where it sees something that is not finite.
template <class Warp>
LENBENCH_LANE_CODE void fill_row(const RowOutput& to, std::int64_t head_size, float value, std::int32_t support) {
  Warp::each([&](int lane) {
    for (std::int64_t c = lane; c < head_size; c += kWarpLanes) to.out[c] = value;
    if (lane != 0) return;
    if (to.entropy) *to.entropy = value;
    if (to.sink) *to.sink = value;
    if (to.top) *to.top = value;
    if (to.top_score) *to.top_score = value;
    if (to.support) *to.support = support;
    if (to.state) to.state[0] = to.state[1] = to.state[2] = static_cast<double>(value);
  });
}

// Solves the threshold from weights.shift and writes everything.
template <class Warp>
LENBENCH_LANE_CALL void finish_row(const ScoredRow& row, RowWeights weights) {
  if (!weights.softmax) weights.shift = raise_shift<Warp>(row.scores, row.count, weights, 64);
  typename Warp::template Lanes<double> sums, logs, counts;
  Warp::each([&](int lane) {
    double sum = 0, log_sum = 0, count = 0;
    for (std::int64_t i = lane; i < row.count; i += kWarpLanes) {
      const double weight = weight_of(weights, row.scores[i]);
      if (weight > 0) {
        sum += weight;
        log_sum += weight * log(weight);
        count += 1;
      }
    }
    sums[lane] = sum;
    logs[lane] = log_sum;
    counts[lane] = count;
  });
  const double sum = Warp::sum(sums), entropy = log(sum) - Warp::sum(logs) / sum, count = Warp::sum(counts);
  write_output<Warp>(row, weights, sum);
  Warp::each([&](int lane) {
    if (lane != 0) return;
    const bool has_sink = (row.keys ? row.keys[0] : row.first) == 0;
    if (row.to.entropy) *row.to.entropy = static_cast<float>(entropy > 0 ? entropy : 0);
    if (row.to.sink) *row.to.sink = has_sink ? static_cast<float>(weight_of(weights, row.scores[0]) / sum) : 0.0F;
    if (row.to.top) *row.to.top = static_cast<float>(weight_of(weights, static_cast<float>(weights.top)) / sum);
    if (row.to.top_score) *row.to.top_score = static_cast<float>(weights.top);
    if (row.to.support) *row.to.support = static_cast<std::int32_t>(weights.softmax ? row.visible : count);
    if (row.to.state) {
      row.to.state[0] = weights.top;
      row.to.state[1] = weights.shift;
      row.to.state[2] = sum;
    }
  });
}

}  // namespace lenbench::kernels
