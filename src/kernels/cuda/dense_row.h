// Dense attention of one row by one warp: every key within reach is scored once, the threshold is solved over all
// scores. For softmax, and for rows whose support is too large to be worth screening (kernel B).
#pragma once

#include "kernels/cuda/weighted_row.h"

namespace lenbench::kernels {

// One query row; terms as in attention_kernels.h, pointers to this row's head.
struct DenseRow {
  const float *q, *k, *v;
  std::int64_t k_stride, v_stride, visible, head_size;
  double alpha;
  float slope;
  float key_norm;          // at least the norm of every key
  std::int64_t first_bad;  // first key whose k or v is not finite; the number of keys where there is none
  float* scores;           // [visible] scratch, aligned to 4 bytes
  RowOutput to;
};

template <class Warp>
LENBENCH_LANE_CODE double squared_norm(const float* values, std::int64_t size) {
  typename Warp::template Lanes<double> squares;
  Warp::each([&](int lane) {
    for (std::int64_t c = lane; c < size; c += kWarpLanes) {
      squares[lane] += static_cast<double>(values[c]) * static_cast<double>(values[c]);
    }
  });
  return Warp::sum(squares);
}

// The first key that may have weight. With R = |q| max |k| the newest key's score is at least -R, a key at distance D
// has at most R - slope D: entmax weighs it 0 where that is beta = 1 / (alpha - 1) below, and softmax's weight is below
// every float's range where it is 104 below (docs/kernels.md). R is taken 0.1 % too large, for the scores' rounding.
LENBENCH_LANE_CODE std::int64_t first_within_reach(double q_norm, const DenseRow& row) {
  const double vanishing = row.alpha == 1 ? 104 : 1 / (row.alpha - 1);
  const double distance =
      (2.002 * q_norm * static_cast<double>(row.key_norm) + 1.001 * vanishing) / static_cast<double>(row.slope) + 1;
  const auto newest = static_cast<double>(row.visible - 1);
  return distance < newest ? row.visible - 1 - static_cast<std::int64_t>(distance) : 0;
}

// Writes the row's output and statistics, as attend_streaming does: a row that sees nothing gives 0, one that sees a
// non-finite q, k or v gives NaN.
template <class Warp>
LENBENCH_LANE_CODE void dense_row(const DenseRow& row) {
  if (row.visible <= 0) return fill_row<Warp>(row.to, row.head_size, 0, 0);
  const double q_square = squared_norm<Warp>(row.q, row.head_size);
  if (row.visible > row.first_bad || !(q_square < INFINITY)) return fill_row<Warp>(row.to, row.head_size, NAN, -1);
  const std::int64_t first = row.slope > 0 ? first_within_reach(sqrt(q_square), row) : 0;
  const std::int64_t count = row.visible - first;
  typename Warp::template Lanes<float> best, bad;
  Warp::each([&](int lane) {
    best[lane] = -INFINITY;
    for (std::int64_t i = lane; i < count; i += kWarpLanes) {
      const std::int64_t j = first + i;
      const float score = score_of(row.q, row.k + j * row.k_stride, row.head_size, row.slope, row.visible - 1 - j);
      row.scores[i] = score;
      best[lane] = score > best[lane] ? score : best[lane];
      if (!(score * 0 == 0)) bad[lane] = 1;
    }
  });
  if (Warp::max(bad) > 0) return fill_row<Warp>(row.to, row.head_size, NAN, -1);
  const RowWeights weights{1 / (row.alpha - 1), -1, static_cast<double>(Warp::max(best)), row.alpha == 1};
  finish_row<Warp>({row.scores, nullptr, first, count, row.visible, row.v, row.v_stride, row.head_size, row.to},
                   weights);
}

}  // namespace lenbench::kernels
