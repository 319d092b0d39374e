// The candidates of a screened row: scored in fp32 as they come, thinned by the threshold that rises with them, sorted
// and finished at the end. One warp works on one row's list.
#pragma once

#include "kernels/cuda/screen.h"

namespace lenbench::kernels {

inline constexpr int kScreenRows = 16, kScreenKeys = 64;

// How often something happened; null pointers are not counted.
struct ScreenCounters {
  unsigned long long bounded_pairs = 0;  // (row, key) bounds computed, in whole tiles
  unsigned long long kept_keys = 0;      // keys whose bound was above their row's threshold
  unsigned long long solves = 0;         // running thresholds solved
  unsigned long long dense_rows = 0;     // rows left to the dense kernel
};

// 16 rows of one head, `num_rows` of which exist; pointers to this head, terms as in attention_kernels.h.
struct ScreenedRows {
  const float *q, *k, *v;  // q of the first row
  std::int64_t q_stride, k_stride, v_stride, head_size, keys;
  int num_rows;
  const std::int64_t* visible;  // [num_rows]
  double alpha;
  float slope;
  const std::uint32_t* columns;  // [keys][8 * kSteps], of prepare_key
  KeySummary summary;
  std::int32_t* list_keys;  // [(16 + 1) * capacity] scratch: a list for each row, and one to sort into
  float* list_scores;       // likewise
  int capacity;             // of a list: a power of two, at least 2 * kScreenKeys
  RowOutput to;             // of the first row
  std::int64_t out_stride;
  std::uint8_t* dense;  // [num_rows] set to 1 where the row is left to the dense kernel, else to 0
  ScreenCounters* counters;
  bool forwards;  // visit the keys in ascending order: for tests, which expect the same results
};

LENBENCH_LANE_CODE RowOutput output_of(const ScreenedRows& rows, int row) {
  RowOutput to = rows.to;
  to.out += row * rows.out_stride;
  if (to.entropy) to.entropy += row;
  if (to.sink) to.sink += row;
  if (to.top) to.top += row;
  if (to.top_score) to.top_score += row;
  if (to.support) to.support += row;
  if (to.state) to.state += 3 * row;
  return to;
}

// What is known of one row, the same in every lane.
struct RowProgress {
  std::int32_t visible, kept, scored;
  float threshold;
  double shift, top;
};

// Scores a row's new entries, raises its threshold and drops what is now proven to have no weight.
template <class Warp>
LENBENCH_LANE_CALL RowProgress settle_row(const ScreenedRows& rows, int row, RowProgress now) {
  if (now.kept == now.scored) return now;
  std::int32_t* keys = rows.list_keys + static_cast<std::int64_t>(row) * rows.capacity;
  float* scores = rows.list_scores + static_cast<std::int64_t>(row) * rows.capacity;
  Warp::each([&](int lane) {
    for (std::int32_t i = now.scored + lane; i < now.kept; i += kWarpLanes) {
      const std::int64_t key = keys[i];
      scores[i] = score_of(rows.q + row * rows.q_stride, rows.k + key * rows.k_stride, rows.head_size, rows.slope,
                           now.visible - 1 - key);
    }
  });
  RowWeights weights{1 / (rows.alpha - 1), -1, static_cast<double>(largest_score<Warp>(scores, now.kept)), false};
  if (now.scored > 0) {
    const double before = now.shift + (now.top - weights.top) / weights.beta;
    weights.shift = before > -1 ? before : -1;
  }
  weights.shift = raise_shift<Warp>(scores, now.kept, weights, 4);
  Warp::count(rows.counters ? &rows.counters->solves : nullptr, 1);
  // Rounded down by more than what the two steps to a float may add.
  const double exact = weights.top + weights.beta * weights.shift;
  const auto threshold = static_cast<float>(exact - 0x1p-20 * (fabs(weights.top) + weights.beta));
  std::int32_t left = 0;
  for (std::int32_t begin = 0; begin < now.kept; begin += kWarpLanes) {
    typename Warp::template Lanes<bool> alive;
    typename Warp::template Lanes<std::int32_t> key;
    typename Warp::template Lanes<float> score;
    Warp::each([&](int lane) {
      const std::int32_t i = begin + lane;
      if (i < now.kept) {
        key[lane] = keys[i];
        score[lane] = scores[i];
      }
      alive[lane] = i < now.kept && score[lane] > threshold;
    });
    const std::uint32_t mask = Warp::ballot(alive);
    Warp::each([&](int lane) {
      if (!alive[lane]) return;
      const std::int32_t at = left + Warp::count_bits(mask & ((1U << lane) - 1));
      keys[at] = key[lane];
      scores[at] = score[lane];
    });
    left += Warp::count_bits(mask);
  }
  return {now.visible, left, left, threshold, weights.shift, weights.top};
}

// Bitonic; `count` is a power of two, at least 32.
template <class Warp>
LENBENCH_LANE_CODE void sort_by_key(std::int32_t* keys, float* scores, std::int32_t count) {
  for (std::int32_t size = 2; size <= count; size *= 2) {
    for (std::int32_t stride = size / 2; stride > 0; stride /= 2) {
      Warp::each([&](int lane) {
        for (std::int32_t pair = lane; pair < count / 2; pair += kWarpLanes) {
          const std::int32_t i = pair / stride * 2 * stride + pair % stride, j = i + stride;
          const std::int32_t key_i = keys[i], key_j = keys[j];
          if ((key_i > key_j) != ((i & size) == 0)) continue;
          const float score = scores[i];
          keys[i] = key_j;
          keys[j] = key_i;
          scores[i] = scores[j];
          scores[j] = score;
        }
      });
    }
  }
}

// Sorts a row's list by key and finishes the row.
template <class Warp>
LENBENCH_LANE_CALL void finish_screened_row(const ScreenedRows& rows, int row, const RowProgress& before) {
  const RowProgress now = settle_row<Warp>(rows, row, before);
  const std::int32_t* keys = rows.list_keys + static_cast<std::int64_t>(row) * rows.capacity;
  const float* scores = rows.list_scores + static_cast<std::int64_t>(row) * rows.capacity;
  std::int32_t* sorted_keys = rows.list_keys + static_cast<std::int64_t>(kScreenRows) * rows.capacity;
  float* sorted_scores = rows.list_scores + static_cast<std::int64_t>(kScreenRows) * rows.capacity;
  std::int32_t padded = kWarpLanes;
  while (padded < now.kept) padded *= 2;
  Warp::each([&](int lane) {
    for (std::int32_t i = lane; i < padded; i += kWarpLanes) {
      sorted_keys[i] = i < now.kept ? keys[i] : INT32_MAX;
      if (i < now.kept) sorted_scores[i] = scores[i];
    }
  });
  sort_by_key<Warp>(sorted_keys, sorted_scores, padded);
  finish_row<Warp>({sorted_scores, sorted_keys, 0, now.kept, now.visible, rows.v, rows.v_stride, rows.head_size,
                    output_of(rows, row)},
                   {1 / (rows.alpha - 1), now.shift, now.top, false});
}

}  // namespace lenbench::kernels
