// Gradients of softmax and alpha-entmax attention by one warp for each query row and one for each key.
// Weights are computed again from the scores and the three numbers that the forward pass kept of each row, so nothing
// of size rows x keys is held. Sums are double and of a fixed order: the same inputs give the same bits. A key without
// weight costs its score alone.
#pragma once

#include <initializer_list>

#include "kernels/cuda/weighted_row.h"

namespace lenbench::kernels {

// One query row; terms as in attention_kernels.h, pointers to this row's head.
struct GradientRow {
  const float *q, *k, *v, *dout;
  std::int64_t k_stride, v_stride, visible, head_size;
  double alpha;
  float slope;
  const double* state;      // of RowOutput
  float* dq;                // [head_size] or null
  double* delta;            // mean of dp over the weights' slopes: what key_gradient reads
  double *dslope, *dalpha;  // of this row, or null
};

struct WeightSlope {
  double p, u;  // weight, and its derivative: ds = u (dp - delta)
};

LENBENCH_LANE_CODE RowWeights kept_weights(const double* state, double alpha) {
  return {1 / (alpha - 1), state[1], state[0], alpha == 1};
}

// u = p^(2 - alpha) with p divided by the row's sum, which is 1 for entmax but for rounding.
LENBENCH_LANE_CODE WeightSlope weight_slope(const RowWeights& weights, double sum, double alpha, float score) {
  const double p = weight_of(weights, score) / sum;
  if (weights.softmax) return {p, p};
  if (!(p > 0)) return {p, p * 0};
  return {p, weights.beta == 2 ? sqrt(p) : weights.beta == 1 ? 1 : power(p, 2 - alpha)};
}

LENBENCH_LANE_CODE double dot_of(const float* a, const float* b, std::int64_t size) {
  double dot = 0;
  for (std::int64_t c = 0; c < size; ++c) dot += static_cast<double>(a[c]) * static_cast<double>(b[c]);
  return dot;
}

// e^a - 1 - a for a >= 0 without cancellation.
LENBENCH_LANE_CODE double exp_beyond_linear(double a) {
  if (a > 0.01) return expm1(a) - a;
  return a * a / 2 * (1 + a / 3 * (1 + a / 4 * (1 + a / 5 * (1 + a / 6))));
}

// Sums over a row that its own gradients and those of its keys need.
struct RowSums {
  double u = 0, u_dp = 0, p_dp = 0, a_dp = 0, phi_dp = 0, entropy = 0, phi = 0, square = 0, square_dp = 0;
};

// d(sum p dp)/dalpha in the form without cancellation; at alpha = 1 its limit.
LENBENCH_LANE_CODE double alpha_gradient(const RowSums& sums, double alpha) {
  const double e = alpha - 1;
  if (e == 0) return (sums.square * sums.p_dp - sums.square_dp) / 2;
  const double one = 1 + e * sums.entropy;
  return (sums.phi * (sums.p_dp + sums.a_dp) - one * sums.phi_dp) / (e * e * (one + sums.phi));
}

// Adds lanes' terms[lane] * rows[lane][c] for all channels c to `to` of channel block `first`, lane by lane.
template <class Warp, int kChannels>
LENBENCH_LANE_CODE void add_channels(typename Warp::template Lanes<double>& terms,
                                     typename Warp::template Lanes<const float*>& rows, std::int64_t first,
                                     std::int64_t head_size, typename Warp::template Lanes<double> (&to)[kChannels]) {
  typename Warp::template Lanes<bool> some;
  Warp::each([&](int lane) { some[lane] = terms[lane] != 0; });
  for (std::uint32_t mask = Warp::ballot(some); mask != 0; mask &= mask - 1) {
    const int i = Warp::lowest_bit(mask);
    const double term = Warp::broadcast(terms, i);
    const float* row = Warp::broadcast(rows, i);
    Warp::each([&](int lane) {
      LENBENCH_UNROLL
      for (int n = 0; n < kChannels; ++n) {
        const std::int64_t c = first + n * kWarpLanes + lane;
        if (c < head_size) to[n][lane] += term * static_cast<double>(row[c]);
      }
    });
  }
}

template <class Warp, int kChannels>
LENBENCH_LANE_CODE void write_channels(typename Warp::template Lanes<double> (&from)[kChannels], std::int64_t first,
                                       std::int64_t head_size, float* to) {
  Warp::each([&](int lane) {
    LENBENCH_UNROLL
    for (int n = 0; n < kChannels; ++n) {
      const std::int64_t c = first + n * kWarpLanes + lane;
      if (c < head_size) to[c] = static_cast<float>(from[n][lane]);
    }
  });
}

inline constexpr int kGradientChannels = 4;  // of one lane at a time

// Writes dq, delta and the row's shares of dslope and dalpha. A row that sees nothing gives 0, one with NaN gives NaN.
template <class Warp>
LENBENCH_LANE_CODE void query_gradient(const GradientRow& row) {
  const RowWeights weights = kept_weights(row.state, row.alpha);
  const double total = row.state[2];
  const auto score = [&](std::int64_t j) {
    return score_of(row.q, row.k + j * row.k_stride, row.head_size, row.slope, row.visible - 1 - j);
  };
  const auto dp_of = [&](std::int64_t j) { return dot_of(row.dout, row.v + j * row.v_stride, row.head_size); };
  typename Warp::template Lanes<RowSums> parts;
  Warp::each([&](int lane) {
    RowSums sums;
    const double e = row.alpha - 1;
    for (std::int64_t j = lane; j < row.visible; j += kWarpLanes) {
      const WeightSlope at = weight_slope(weights, total, row.alpha, score(j));
      if (at.p == 0) continue;
      const double dp = dp_of(j), log_p = log(at.p), a = -e * log_p, phi = exp_beyond_linear(a > 0 ? a : 0);
      sums.u += at.u;
      sums.u_dp += at.u * dp;
      sums.p_dp += at.p * dp;
      sums.a_dp += at.p * a * dp;
      sums.phi_dp += at.p * phi * dp;
      sums.entropy -= at.p * log_p;
      sums.phi += at.p * phi;
      sums.square += at.p * log_p * log_p;
      sums.square_dp += at.p * log_p * log_p * dp;
    }
    parts[lane] = sums;
  });
  const auto sum_of = [&](double RowSums::*field) {
    typename Warp::template Lanes<double> lanes;
    Warp::each([&](int lane) { lanes[lane] = parts[lane].*field; });
    return Warp::sum(lanes);
  };
  RowSums sums;
  for (double RowSums::*field : {&RowSums::u, &RowSums::u_dp, &RowSums::p_dp, &RowSums::a_dp, &RowSums::phi_dp,
                                 &RowSums::entropy, &RowSums::phi, &RowSums::square, &RowSums::square_dp}) {
    sums.*field = sum_of(field);
  }
  const double delta = row.visible > 0 ? sums.u_dp / sums.u : 0;
  typename Warp::template Lanes<double> slope_parts;
  for (std::int64_t first = 0; first < row.head_size; first += kGradientChannels * kWarpLanes) {
    typename Warp::template Lanes<double> dq[kGradientChannels];
    for (std::int64_t begin = 0; begin < row.visible; begin += kWarpLanes) {
      typename Warp::template Lanes<double> ds;
      typename Warp::template Lanes<const float*> keys;
      Warp::each([&](int lane) {
        const std::int64_t j = begin + lane;
        if (j >= row.visible) return;
        keys[lane] = row.k + j * row.k_stride;
        const WeightSlope at = weight_slope(weights, total, row.alpha, score(j));
        if (at.p == 0) return;
        ds[lane] = at.u * (dp_of(j) - delta);
        if (first == 0) slope_parts[lane] -= ds[lane] * static_cast<double>(row.visible - 1 - j);
      });
      add_channels<Warp>(ds, keys, first, row.head_size, dq);
    }
    if (row.dq) write_channels<Warp>(dq, first, row.head_size, row.dq);
  }
  const double dslope = Warp::sum(slope_parts);
  const double dalpha = row.visible > 0 ? alpha_gradient(sums, row.alpha) : 0;
  Warp::each([&](int lane) {
    if (lane != 0) return;
    *row.delta = delta;
    if (row.dslope) *row.dslope = dslope;
    if (row.dalpha) *row.dalpha = dalpha;
  });
}

// One key of a KV head; q, dout, state, delta of the first query head that reads it.
struct GradientKey {
  const float *q, *k, *v, *dout;
  std::int64_t q_head_stride, q_stride, dout_head_stride, dout_stride, rows, head_size, key;
  int heads;                     // query heads that read this KV head
  const std::int64_t* visible;   // [rows]
  const float *alphas, *slopes;  // of the first query head; slopes may be null
  const double *state, *delta;   // [heads, rows, 3] and [heads, rows]
  float *dk, *dv;                // [head_size], or null
};

// Writes dk and dv: sums over the heads and rows that see the key.
template <class Warp>
LENBENCH_LANE_CODE void key_gradient(const GradientKey& key) {
  for (std::int64_t first = 0; first < key.head_size; first += kGradientChannels * kWarpLanes) {
    typename Warp::template Lanes<double> dk[kGradientChannels], dv[kGradientChannels];
    for (int h = 0; h < key.heads; ++h) {
      const auto alpha = static_cast<double>(key.alphas[h]);
      const float slope = key.slopes ? key.slopes[h] : 0;
      for (std::int64_t begin = 0; begin < key.rows; begin += kWarpLanes) {
        typename Warp::template Lanes<double> p, ds;
        typename Warp::template Lanes<const float*> queries, outs;
        Warp::each([&](int lane) {
          const std::int64_t r = begin + lane;
          if (r >= key.rows || key.visible[r] <= key.key) return;
          const std::int64_t at = h * key.rows + r;
          queries[lane] = key.q + h * key.q_head_stride + r * key.q_stride;
          outs[lane] = key.dout + h * key.dout_head_stride + r * key.dout_stride;
          const float score = score_of(queries[lane], key.k, key.head_size, slope, key.visible[r] - 1 - key.key);
          const WeightSlope weight =
              weight_slope(kept_weights(key.state + 3 * at, alpha), key.state[3 * at + 2], alpha, score);
          if (weight.p == 0) return;
          p[lane] = weight.p;
          ds[lane] = weight.u * (dot_of(outs[lane], key.v, key.head_size) - key.delta[at]);
        });
        add_channels<Warp>(ds, queries, first, key.head_size, dk);
        add_channels<Warp>(p, outs, first, key.head_size, dv);
      }
    }
    if (key.dk) write_channels<Warp>(dk, first, key.head_size, key.dk);
    if (key.dv) write_channels<Warp>(dv, first, key.head_size, key.dv);
  }
}

// The sum of a head's shares over batches and rows, in a fixed order. `shares` [batches, heads, rows] from this head
// on.
template <class Warp>
LENBENCH_LANE_CODE void sum_shares(const double* shares, std::int64_t batches, std::int64_t batch_stride,
                                   std::int64_t rows, float* to) {
  typename Warp::template Lanes<double> parts;
  Warp::each([&](int lane) {
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t r = lane; r < rows; r += kWarpLanes) parts[lane] += shares[b * batch_stride + r];
    }
  });
  const double sum = Warp::sum(parts);
  Warp::each([&](int lane) {
    if (lane == 0) *to = static_cast<float>(sum);
  });
}

}  // namespace lenbench::kernels
