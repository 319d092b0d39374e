// Diffuse entmax rows: where much of a row survives, weighing a tile as a matrix beats collecting keys one by one.
#pragma once

#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

constexpr double kDenseShare = 0.12;             // of a row's keys estimated alive: above, the row is weighed densely
constexpr std::int64_t kShortestDenseRow = 512;  // visible keys
constexpr std::int64_t kLargestProbe = 256;      // keys of the estimate

// The estimate looks at every step-th of the row's first 2^m keys, 2^m <= visible, so that it depends on the row alone:
// the choice of path, and with it the last bits of a result, is the same whichever rows share its tile.
struct Probe {
  std::int64_t keys, step;
};
inline Probe probe_of(std::int64_t visible) {
  std::int64_t prefix = kShortestDenseRow;
  while (2 * prefix <= visible) prefix *= 2;
  const std::int64_t keys = prefix / 32 < 64 ? 64 : prefix / 32 > kLargestProbe ? kLargestProbe : prefix / 32;
  return {keys, prefix / keys};
}

// Bit i: row i of the tile is diffuse. Each key of the probe stands for `step` keys, which makes the share of survivors
// an estimate of the whole row's.
inline unsigned diffuse_rows(const StreamHead& head, const QueryTile& tile, const Normalizer<float>& norm,
                             const StreamScratch& scratch, StreamingCounters& counters) {
  unsigned diffuse = 0;
  std::int64_t done = 0;  // prefixes up to here were looked at
  for (;;) {
    std::int64_t shortest = 0;
    for (int i = 0; i < tile.used; ++i) {
      const std::int64_t visible = tile.visible[i];
      if (visible >= kShortestDenseRow && visible > done && (shortest == 0 || visible < shortest)) shortest = visible;
    }
    if (shortest == 0) return diffuse;
    const Probe probe = probe_of(shortest);
    done = 2 * probe.keys * probe.step - 1;
    float* scores = scratch.list_scores;
    float* counts = scores + kLargestProbe * kRows;
    multiply<float>(probe.keys, kRows, head.head_size, {head.k, head.k_stride * probe.step, 1}, scratch.queries, kRows,
                    scores, kRows, false);
    counters.scored_pairs += probe.keys * tile.used;
    for (std::int64_t i = 0; i < probe.keys * kRows; ++i) counts[i] = static_cast<float>(probe.step);
    Vec<float> top[2], high[2], low[2];
    threshold_tile<float, true>(scores, probe.keys, norm, top, high, low, counts);
    LaneSum<float> alive;
    for_keys<float>(
        probe.keys,
        [&](std::int64_t j, int g) {
          alive.part[g] +=
              select(load<float>(scores + j * kRows + g * kWidth) > high[g], splat<float>(1), Vec<float>{});
        },
        alive);
    for (int i = 0; i < tile.used; ++i) {
      const std::int64_t visible = tile.visible[i];
      const bool looked = visible >= probe.keys * probe.step && visible <= done;
      if (looked && alive.total[i] > kDenseShare * static_cast<double>(probe.keys)) diffuse |= 1u << i;
    }
  }
}

// Writes the rows of `wanted`: all scores of the tile, thresholds by Newton over them, one product with the values.
inline void dense_rows(const StreamHead& head, const QueryTile& tile, unsigned wanted, const Normalizer<float>& norm,
                       const StreamScratch& scratch, StreamingCounters& counters) {
  // Keys whose products are summed in one run of fp32: equal weights round the same way every time, so runs are short.
  constexpr std::int64_t kChunk = 128;
  const std::int64_t keys = tile.most;
  float* scores = scratch.list_scores;
  multiply<float>(keys, kRows, head.head_size, {head.k, head.k_stride, 1}, scratch.queries, kRows, scores, kRows,
                  false);
  bias_and_mask(tile, 0, 1, keys, 0, scores);
  counters.scored_pairs += keys * tile.used;
  TileResult<float> result;
  normalize_tile<float>(scores, nullptr, keys, norm, head.stats.entropy != nullptr, result);
  Vec<float> top[2] = {};
  LaneSum<float> support;
  for_keys<float>(
      keys,
      [&](std::int64_t j, int g) {
        const Vec<float> weight = load<float>(scores + j * kRows + g * kWidth);
        top[g] = larger(weight, top[g]);
        support.part[g] += select(weight > Vec<float>{}, splat<float>(1), Vec<float>{});
      },
      support);
  for (std::int64_t i = 0; i < head.head_size * kRows; ++i) scratch.totals[i] = 0;
  for (std::int64_t first = 0; first < keys; first += kChunk) {
    const std::int64_t count = keys - first < kChunk ? keys - first : kChunk;
    multiply<float>(head.head_size, kRows, count, {head.v + first * head.v_stride, 1, head.v_stride},
                    scores + first * kRows, kRows, scratch.outputs, kRows, false);
    for (std::int64_t i = 0; i < head.head_size * kRows; ++i)
      scratch.totals[i] += static_cast<double>(scratch.outputs[i]);
  }
  for (std::int64_t i = 0; i < head.head_size * kRows; ++i) scratch.outputs[i] = static_cast<float>(scratch.totals[i]);
  for (int i = 0; i < tile.used; ++i) {
    if ((wanted >> i & 1) == 0) continue;
    const int g = i / kWidth, lane = i % kWidth;
    write_lane(head, tile, i, scratch.outputs, result.sum[i]);
    write_stats(head, tile.first + i,
                {entropy_of(result.sum[i], result.log_sum[i]), static_cast<double>(scores[i]) / result.sum[i],
                 static_cast<double>(top[g][lane]) / result.sum[i], static_cast<double>(result.top_score[i]),
                 static_cast<std::int64_t>(support.total[i])});
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
