// Dense attention of one row by one warp: every visible key is scored once, the threshold is solved over all scores.
// The path for rows whose support is too large to be worth screening (kernels.md 4.2, kernel B).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/warp.h"

namespace lenbench::kernels {

// One query row; terms as in attention_kernels.h, pointers to this row's head.
struct DenseRow {
  const float *q, *k, *v;
  std::int64_t k_stride, v_stride, visible, head_size;
  double alpha, slope;
  float* scores;                            // [visible] scratch, aligned to 4 bytes
  float* out;                               // [head_size]
  float *entropy, *sink, *top, *top_score;  // one value each, or null
  std::int32_t* support;                    // one value, or null
};

struct DenseWeights {
  double beta, shift, top;  // weight of score s: softmax e^(s - top); entmax max((s - top) / beta - shift, 0)^beta
  bool softmax;
};

LENBENCH_LANE_CODE double dense_positive_part(const DenseWeights& weights, float score) {
  const double x = (static_cast<double>(score) - weights.top) / weights.beta - weights.shift;
  return x > 0 ? x : 0;
}

LENBENCH_LANE_CODE double dense_weight(const DenseWeights& weights, float score) {
  if (weights.softmax) return exp(static_cast<double>(score) - weights.top);
  const double x = dense_positive_part(weights, score);
  if (weights.beta == 2) return x * x;
  if (weights.beta == 1) return x;
  return x > 0 ? pow(x, weights.beta) : 0;
}

// Newton on the beta-norm of the positive parts, from -1 upwards: N = F^(1/beta), dN/dshift = -F^(1/beta - 1) G with
// F = sum x^beta and G = sum x^(beta - 1). Convex and decreasing, so the steps rise and never overshoot.
template <class Warp>
LENBENCH_LANE_CODE void dense_solve(const DenseRow& row, DenseWeights& weights) {
  weights.shift = -1;
  for (int round = 0; round < 64; ++round) {
    typename Warp::template Lanes<double> powers, slopes;
    Warp::each([&](int lane) {
      double f = 0, g = 0;
      for (std::int64_t j = lane; j < row.visible; j += kWarpLanes) {
        const double x = dense_positive_part(weights, row.scores[j]);
        if (x == 0) continue;
        const double below = weights.beta == 2 ? x : weights.beta == 1 ? 1 : pow(x, weights.beta - 1);
        f += below * x;
        g += below;
      }
      powers[lane] = f;
      slopes[lane] = g;
    });
    const double f = Warp::sum(powers), g = Warp::sum(slopes);
    const double step = (f - pow(f, 1 - 1 / weights.beta)) / g;
    if (!(step > 1e-14)) return;
    weights.shift += step;
  }
}

template <class Warp>
LENBENCH_LANE_CODE void dense_output(const DenseRow& row, const DenseWeights& weights, double sum) {
  constexpr int kChannels = 4;  // of one lane at a time
  for (std::int64_t first = 0; first < row.head_size; first += kChannels * kWarpLanes) {
    typename Warp::template Lanes<double> outputs[kChannels];
    Warp::each([&](int lane) {
      for (int n = 0; n < kChannels; ++n) outputs[n][lane] = 0;
    });
    for (std::int64_t begin = 0; begin < row.visible; begin += kWarpLanes) {
      typename Warp::template Lanes<float> mine;
      Warp::each([&](int lane) {
        const std::int64_t j = begin + lane;
        mine[lane] = j < row.visible ? static_cast<float>(dense_weight(weights, row.scores[j])) : 0.0F;
      });
      for (int i = 0; i < kWarpLanes && begin + i < row.visible; ++i) {
        const auto weight = static_cast<double>(Warp::broadcast(mine, i));
        if (weight == 0) continue;
        const float* v = row.v + (begin + i) * row.v_stride;
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
        if (c < row.head_size) row.out[c] = static_cast<float>(outputs[n][lane] / sum);
      }
    });
  }
}

template <class Warp>
LENBENCH_LANE_CODE void dense_fill(const DenseRow& row, float value, std::int32_t support) {
  Warp::each([&](int lane) {
    for (std::int64_t c = lane; c < row.head_size; c += kWarpLanes) row.out[c] = value;
    if (lane != 0) return;
    if (row.entropy) *row.entropy = value;
    if (row.sink) *row.sink = value;
    if (row.top) *row.top = value;
    if (row.top_score) *row.top_score = value;
    if (row.support) *row.support = support;
  });
}

// Writes the row's output and statistics, as attend_streaming does: a row that sees nothing gives 0, one that sees a
// non-finite q, k or v gives NaN.
template <class Warp>
LENBENCH_LANE_CODE void dense_row(const DenseRow& row) {
  if (row.visible <= 0) return dense_fill<Warp>(row, 0, 0);
  typename Warp::template Lanes<float> best, bad;
  Warp::each([&](int lane) {
    best[lane] = -INFINITY;
    bad[lane] = 0;
    for (std::int64_t j = lane; j < row.visible; j += kWarpLanes) {
      const float *k = row.k + j * row.k_stride, *v = row.v + j * row.v_stride;
      float dot = 0, nothing = 0;
      for (std::int64_t c = 0; c < row.head_size; ++c) {
        dot += row.q[c] * k[c];
        nothing += v[c] * 0;
      }
      const float score = dot - static_cast<float>(row.slope) * static_cast<float>(row.visible - 1 - j);
      row.scores[j] = score;
      best[lane] = score > best[lane] ? score : best[lane];
      if (!(score * 0 + nothing == 0)) bad[lane] = 1;
    }
  });
  if (Warp::max(bad) > 0) return dense_fill<Warp>(row, NAN, -1);

  DenseWeights weights{};
  weights.softmax = row.alpha == 1;
  weights.top = static_cast<double>(Warp::max(best));
  if (!weights.softmax) {
    weights.beta = 1 / (row.alpha - 1);
    dense_solve<Warp>(row, weights);
  }
  typename Warp::template Lanes<double> sums, logs, counts;
  Warp::each([&](int lane) {
    double sum = 0, log_sum = 0, count = 0;
    for (std::int64_t j = lane; j < row.visible; j += kWarpLanes) {
      const double weight = dense_weight(weights, row.scores[j]);
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
  dense_output<Warp>(row, weights, sum);
  Warp::each([&](int lane) {
    if (lane != 0) return;
    if (row.entropy) *row.entropy = static_cast<float>(entropy > 0 ? entropy : 0);
    if (row.sink) *row.sink = static_cast<float>(dense_weight(weights, row.scores[0]) / sum);
    if (row.top) *row.top = static_cast<float>(dense_weight(weights, static_cast<float>(weights.top)) / sum);
    if (row.top_score) *row.top_score = static_cast<float>(weights.top);
    if (row.support) *row.support = static_cast<std::int32_t>(weights.softmax ? row.visible : count);
  });
}

}  // namespace lenbench::kernels
