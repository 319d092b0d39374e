// Entropy and extremes of softmax rows in one online sweep over the keys, without weights or values:
// what a fused attention kernel that returns only outputs leaves out.
#pragma once

#include "kernels/cuda/attention_items.h"

namespace lenbench::kernels {

inline constexpr int kStatisticsRows = 4;  // of one head, by one warp: each key is loaded once for all of them

// Sums over the keys of a row so far, relative to their largest score: Z = sum e^(s - M), W = sum e^(s - M) (s - M).
// Both have terms of one sign, so nothing cancels in the entropy ln Z - W / Z.
struct OnlineRow {
  float largest = -INFINITY;
  double z = 0, w = 0;
};

// The sums of `row` relative to a largest score at or above its own.
LENBENCH_LANE_CODE OnlineRow relative_to(const OnlineRow& row, float largest) {
  if (row.z == 0) return {largest, 0, 0};
  const double below = static_cast<double>(row.largest) - static_cast<double>(largest), scale = exp(below);
  return {largest, scale * row.z, scale * (row.w + below * row.z)};
}

// A score that is not finite makes z NaN for good.
LENBENCH_LANE_CODE void add_score(OnlineRow& row, float score) {
  if (!(score * 0 == 0)) {
    row.z = NAN;
    return;
  }
  if (score > row.largest) row = relative_to(row, score);
  const float below = score - row.largest;
  const auto weight = static_cast<double>(expf(below));
  row.z += weight;
  row.w += weight * static_cast<double>(below);
}

LENBENCH_BIT_CODE std::int64_t statistics_tiles_of(std::int64_t rows) {
  return (rows + kStatisticsRows - 1) / kStatisticsRows;
}

// Items: as place_of has them, of statistics_tiles_of(rows) tiles. Writes call.stats of 4 rows;
// reads call.problem and call.summaries.
template <class Warp>
LENBENCH_LANE_CODE void statistics_item(const AttentionCall& call, std::int64_t item) {
  const Problem<float>& problem = call.problem;
  const auto [tile, b, h, g] = place_of(problem, item, statistics_tiles_of(problem.rows));
  const std::int64_t first = tile * kStatisticsRows;
  const float slope = slope_of(problem, h);
  const float *queries[kStatisticsRows], *k = head_of(problem.k, b, g);
  std::int64_t visible[kStatisticsRows], longest = 0;
  for (int row = 0; row < kStatisticsRows; ++row) {
    const std::int64_t r = first + row;
    queries[row] = head_of(problem.q, b, h) + (r < problem.rows ? r : 0) * problem.q.token_stride;
    visible[row] = r < problem.rows ? problem.visible[b * problem.visible_batch_stride + r] : 0;
    longest = visible[row] > longest ? visible[row] : longest;
  }
  typename Warp::template Lanes<OnlineRow> sums[kStatisticsRows];
  Warp::each([&](int lane) {
    for (std::int64_t j = lane; j < longest; j += kWarpLanes) {
      const float* key = k + j * problem.k.token_stride;
      float dots[kStatisticsRows] = {};
      for (std::int64_t c = 0; c < problem.head_size; ++c) {
        const float channel = key[c];
        LENBENCH_UNROLL
        for (int row = 0; row < kStatisticsRows; ++row) dots[row] += queries[row][c] * channel;
      }
      LENBENCH_UNROLL
      for (int row = 0; row < kStatisticsRows; ++row) {
        if (j < visible[row]) {
          add_score(sums[row][lane], dots[row] - slope * static_cast<float>(visible[row] - 1 - j));
        }
      }
    }
  });
  LENBENCH_UNROLL
  for (int row = 0; row < kStatisticsRows; ++row) {
    const std::int64_t r = first + row;
    if (r >= problem.rows) continue;
    const std::int64_t at = (b * problem.heads + h) * problem.rows + r;
    typename Warp::template Lanes<float> largest;
    typename Warp::template Lanes<double> z, w;
    Warp::each([&](int lane) { largest[lane] = sums[row][lane].largest; });
    const float most = Warp::max(largest);
    Warp::each([&](int lane) {
      const OnlineRow part = relative_to(sums[row][lane], most);
      z[lane] = part.z;
      w[lane] = part.w;
    });
    const OnlineRow all{most, Warp::sum(z), Warp::sum(w)};
    float entropy = 0, sink = 0, top = 0, top_score = 0;
    auto support = static_cast<std::int32_t>(visible[row]);
    if (visible[row] > call.summaries[b * problem.kv_heads + g].first_bad || (visible[row] > 0 && !(all.z * 0 == 0))) {
      entropy = sink = top = top_score = NAN;
      support = -1;
    } else if (visible[row] > 0) {
      const double exact = log(all.z) - all.w / all.z;
      entropy = static_cast<float>(exact > 0 ? exact : 0);
      const float score = score_of(queries[row], k, problem.head_size, slope, visible[row] - 1);
      sink = static_cast<float>(exp(static_cast<double>(score) - static_cast<double>(all.largest)) / all.z);
      top = static_cast<float>(1 / all.z);
      top_score = all.largest;
    }
    Warp::each([&](int lane) {
      if (lane != 0) return;
      if (call.stats.entropy) call.stats.entropy[at] = entropy;
      if (call.stats.support) call.stats.support[at] = support;
      if (call.stats.sink) call.stats.sink[at] = sink;
      if (call.stats.top) call.stats.top[at] = top;
      if (call.stats.top_score) call.stats.top_score[at] = top_score;
    });
  }
}

}  // namespace lenbench::kernels
