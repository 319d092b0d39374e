// Attention over distinct (key, value) rows with multiplicities: exact where keys repeat (docs/kernels.md).
#pragma once

#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// Multiplicities [distinct][kRows] of the keys each lane sees, kept up to date by walking from one tile to the next.
struct Multiplicities {
  float* counts;
  std::int64_t seen[kRows];
};

inline void move_lane(const StreamHead& head, int lane, std::int64_t visible, Multiplicities& state) {
  for (; state.seen[lane] < visible; ++state.seen[lane])
    state.counts[head.key_ids[state.seen[lane]] * kRows + lane] += 1;
  for (; state.seen[lane] > visible; --state.seen[lane])
    state.counts[head.key_ids[state.seen[lane] - 1] * kRows + lane] -= 1;
}

// Counts once for the first lane and copies: the other lanes are at most a tile's worth of keys away.
inline void start_multiplicities(const StreamHead& head, std::int64_t visible, Multiplicities& state) {
  for (std::int64_t i = 0; i < head.distinct * kRows; ++i) state.counts[i] = 0;
  state.seen[0] = 0;
  move_lane(head, 0, visible, state);
  for (int lane = 1; lane < kRows; ++lane) state.seen[lane] = visible;
  for (std::int64_t u = 0; u < head.distinct; ++u)
    for (int lane = 1; lane < kRows; ++lane) state.counts[u * kRows + lane] = state.counts[u * kRows];
}

inline void duplicates_tile(const StreamHead& head, const QueryTile& tile, const Normalizer<float>& norm,
                            const StreamScratch& scratch, Multiplicities& state, StreamingCounters& counters) {
  for (int i = 0; i < tile.used; ++i)
    if (tile.visible[i] > 0) move_lane(head, i, tile.visible[i], state);
  std::int64_t distinct = 0;
  while (distinct < head.distinct && head.first_use[distinct] < tile.most) ++distinct;
  float* scores = scratch.scores;
  multiply<float>(distinct, kRows, head.head_size, {head.k, head.k_stride, 1}, scratch.queries, kRows, scores, kRows,
                  false);
  counters.scored_pairs += distinct * tile.used;
  for_keys<float>(distinct, [&](std::int64_t u, int g) {
    const std::int64_t at = u * kRows + g * kWidth;
    store<float>(scores + at, select(load<float>(state.counts + at) > Vec<float>{}, load<float>(scores + at),
                                     splat<float>(Simd<float>::kMasked)));
  });
  TileResult<float> result;
  normalize_tile<float>(scores, state.counts, distinct, norm, head.stats.entropy != nullptr, result);
  Vec<float> top[2] = {}, sink[2] = {};
  if (distinct > 0)
    for (int g = 0; g < 2; ++g) sink[g] = load<float>(scores + g * kWidth);
  LaneSum<float> support;
  for_keys<float>(
      distinct,
      [&](std::int64_t u, int g) {
        float* at = scores + u * kRows + g * kWidth;
        const Vec<float> weight = load<float>(at), count = load<float>(state.counts + u * kRows + g * kWidth);
        top[g] = larger(weight, top[g]);
        support.part[g] += select(weight > Vec<float>{}, count, Vec<float>{});
        store<float>(at, weight * count);
      },
      support);
  multiply<float>(head.head_size, kRows, distinct, {head.v, 1, head.v_stride}, scores, kRows, scratch.outputs, kRows,
                  false);
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) {
      write_empty_row(head, tile, i);
      continue;
    }
    const int g = i / kWidth, lane = i % kWidth;
    write_lane(head, tile, i, scratch.outputs, result.sum[i]);
    write_stats(head, tile.row[i],
                {entropy_of(result.sum[i], result.log_sum[i]), static_cast<double>(sink[g][lane]) / result.sum[i],
                 static_cast<double>(top[g][lane]) / result.sum[i], static_cast<double>(result.top_score[i]),
                 norm.shape == Shape::kSoftmax ? tile.visible[i] : static_cast<std::int64_t>(support.total[i])});
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
