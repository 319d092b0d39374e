// The sweep of a tile: keys are scored, or screened first, and what may be in a support is collected.
#pragma once

#include "kernels/stream_collect.h"
#include "kernels/stream_screen.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// Thresholds from a subset of the keys visible to every lane: the newest ones and a strided sample of the rest. Keys
// must not repeat, or the bound would be too high.
inline void seed_thresholds(const StreamHead& head, const QueryTile& tile, std::int64_t begin,
                            const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                            StreamingCounters& counters) {
  const std::int64_t common = tile.least - begin;
  if (common < 4 * kRecent) return;
  const std::int64_t older = common - kRecent;
  std::int64_t samples = common / 32 < kRecent ? kRecent : common / 32;
  if (samples > kMostSamples) samples = kMostSamples;
  const std::int64_t step = older / samples;
  const auto score = [&](std::int64_t first, std::int64_t stride, std::int64_t keys, float* to) {
    multiply<float>(keys, kRows, head.head_size, {head.k + first * head.k_stride, head.k_stride * stride, 1},
                    scratch.queries, kRows, to, kRows, false);
    bias_and_mask(tile, first, stride, keys, head.slope, to);
    counters.scored_pairs += keys * tile.used;
  };
  score(begin, step, samples, scratch.scores);
  score(tile.least - kRecent, 1, kRecent, scratch.scores + samples * kRows);
  Vec<float> top[2], high[2], low[2];
  threshold_tile<float>(scratch.scores, samples + kRecent, norm, top, high, low);
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) continue;
    const int g = i / kWidth, lane = i % kWidth;
    state.threshold[i] =
        safe_threshold(top[g][lane], static_cast<double>(high[g][lane]) + static_cast<double>(low[g][lane]), norm);
  }
}

// Scores keys first .. first + kKeys - 1 and collects what is above the thresholds.
template <int kKeys, bool kMask, bool kBias>
inline void sweep_block(const StreamHead& head, const QueryTile& tile, std::int64_t first, float slope,
                        const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state) {
  Vec<float> sums[kKeys][2] = {};
  if constexpr (kBias) {
#pragma GCC unroll 16
    for (int m = 0; m < kKeys; ++m)
#pragma GCC unroll 2
      for (int g = 0; g < 2; ++g) sums[m][g] = position_bias(tile, g, first + m, slope);
  }
  multiply_block<float, kKeys, 2>(head.head_size, {head.k + first * head.k_stride, head.k_stride, 1}, scratch.queries,
                                  kRows, sums);
  const Vec<float> threshold[2] = {load<float>(state.threshold), load<float>(state.threshold + kWidth)};
  LaneSet any = {};
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m) {
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
      if constexpr (kMask) {
        const Vec<float> key = splat<float>(static_cast<float>(first + m));
        sums[m][g] = select(tile.seen[g] > key, sums[m][g], splat<float>(Simd<float>::kMasked));
      }
      any = join(any, lanes_above(sums[m][g], threshold[g]));
    }
  }
  if (is_empty(any)) return;
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m)
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) offer(sums[m][g], g, first + m, norm, scratch, state);
}

template <bool kMask, bool kBias>
inline void sweep_keys(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end, float slope,
                       const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                       RowsAhead<>& ahead, StreamingCounters& counters) {
  std::int64_t j = begin;
  for (; j + kBlock <= end; j += kBlock) {
    ahead.ask(2);
    sweep_block<kBlock, kMask, kBias>(head, tile, j, slope, norm, scratch, state);
  }
  for (; j < end; ++j) sweep_block<1, kMask, kBias>(head, tile, j, slope, norm, scratch, state);
  if (begin < end) counters.scored_pairs += (end - begin) * tile.used;
}

constexpr std::int64_t kFewestScreened = 1024;  // keys: for fewer, coding the queries costs more than it saves

constexpr int kListBlock = 2 * kBlock;  // keys of a list scored together, for one vector of rows

// Scores kKeys keys of a list for vector g, as sweep_block does.
template <int kKeys>
inline void sweep_listed(const StreamHead& head, int g, const std::int32_t* keys, const Normalizer<float>& norm,
                         const StreamScratch& scratch, EntmaxState& state) {
  constexpr std::int64_t kStep = 4;  // channels a key's address is used for
  const float* rows[kKeys];
  for (int m = 0; m < kKeys; ++m) rows[m] = head.k + keys[m] * head.k_stride;
  const float* queries = scratch.queries + g * kWidth;
  Vec<float> sums[kKeys] = {};
  std::int64_t c = 0;
  for (; c + kStep <= head.head_size; c += kStep) {
    Vec<float> query[kStep];
#pragma GCC unroll 4
    for (int i = 0; i < kStep; ++i) query[i] = load<float>(queries + (c + i) * kRows);
#pragma GCC unroll 32
    for (int m = 0; m < kKeys; ++m)
#pragma GCC unroll 4
      for (int i = 0; i < kStep; ++i) sums[m] += splat<float>(rows[m][c + i]) * query[i];
  }
  for (; c < head.head_size; ++c) {
    const Vec<float> query = load<float>(queries + c * kRows);
#pragma GCC unroll 32
    for (int m = 0; m < kKeys; ++m) sums[m] += splat<float>(rows[m][c]) * query;
  }
#pragma GCC unroll 32
  for (int m = 0; m < kKeys; ++m) offer(sums[m], g, keys[m], norm, scratch, state);
}

// Scores keys begin .. end - 1, which were left out for lanes lane .. lane_end - 1, and keeps the smallest distance up
// to a row's threshold. `kept` keys among them, in order, were not left out.
[[gnu::noinline]] inline void certify_keys(const StreamHead& head, const QueryTile& tile, int lane, int lane_end,
                                           std::int64_t begin, std::int64_t end, const std::int32_t* kept,
                                           std::int64_t num_kept, const StreamScratch& scratch,
                                           const EntmaxState& state, StreamingCounters& counters) {
  alignas(64) float scores[kRows];
  for (std::int64_t j = begin; j < end; ++j) {
    if (num_kept > 0 && *kept == j) {
      ++kept, --num_kept;
      continue;
    }
    multiply<float>(1, kRows, head.head_size, {head.k + j * head.k_stride, head.k_stride, 1}, scratch.queries, kRows,
                    scores, kRows, false);
    bias_and_mask(tile, j, 1, 1, head.slope, scores);
    for (int i = lane; i < lane_end && i < tile.used; ++i) {
      if (tile.visible[i] <= j) continue;
      const float margin = state.threshold[i] - scores[i];
      if (margin < counters.least_margin) counters.least_margin = margin;
      ++counters.certified_pairs;
    }
  }
}

// What the byte screen of a tile remembers from one range of keys to the next.
struct ScreenState {
  alignas(64) QueryCodes query;
  bool on = false;
  FoundKeys found;          // keys let through that wait to be scored together
  std::int64_t paused = 0;  // panels still to be scored outright
};

// Scores what waits, so that lists stay in the order of keys.
inline void score_waiting(const StreamHead& head, const Normalizer<float>& norm, const StreamScratch& scratch,
                          EntmaxState& state, ScreenState& screen) {
  for (int g = 0; g < 2; ++g) {
    for (std::int64_t i = 0; i < screen.found.count[g]; ++i)
      sweep_listed<1>(head, g, screen.found.keys[g] + i, norm, scratch, state);
    screen.found.count[g] = 0;
  }
}

// Scores the keys let through for vector g but for the last few, which wait for more.
inline void score_found(const StreamHead& head, int g, const Normalizer<float>& norm, const StreamScratch& scratch,
                        EntmaxState& state, FoundKeys& found) {
  std::int32_t* const keys = found.keys[g];
  std::int64_t i = 0;
  for (; i + kListBlock <= found.count[g]; i += kListBlock)
    sweep_listed<kListBlock>(head, g, keys + i, norm, scratch, state);
  if (i == 0) return;
  const std::int64_t left = found.count[g] - i;
  for (std::int64_t rest = 0; rest < left; ++rest) keys[rest] = keys[i + rest];
  found.count[g] = left;
}

// Keys begin .. end - 1, all visible to every row, panel by panel through the byte screen, each half of the rows with a
// list of its own. Where the screen lets half the keys of a panel through, the next panels are scored outright.
inline void sweep_screened(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                           const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                           ScreenState& screen, RowsAhead<>& ahead, StreamingCounters& counters) {
  constexpr std::int64_t kPause = 24;  // panels
  const std::int64_t vectors = tile.used > kWidth ? 2 : 1;
  std::int64_t screened = 0;
  const auto outright = [&](std::int64_t from, std::int64_t to) {
    if (from >= to) return;
    score_waiting(head, norm, scratch, state, screen);
    sweep_keys<false, false>(head, tile, from, to, 0, norm, scratch, state, ahead, counters);
  };
  const std::int64_t first_panel = (begin + kPanelKeys - 1) / kPanelKeys, end_panel = end / kPanelKeys;
  if (end_panel <= first_panel) return outright(begin, end);
  outright(begin, first_panel * kPanelKeys);
  for (std::int64_t panel = first_panel; panel < end_panel; ++panel) {
    const std::int64_t first = panel * kPanelKeys;
    if (screen.paused > 0) {
      --screen.paused;
      outright(first, first + kPanelKeys);
      continue;
    }
    FoundKeys& found = screen.found;
    const std::int64_t waiting[2] = {found.count[0], found.count[1]};
    screen_panel(head, screen.query, state.threshold, panel, found);
    ++screened;
    std::int64_t passed = 0;
    for (int g = 0; g < 2; ++g) {
      const std::int64_t count = found.count[g] - waiting[g];
      const int lane = g * kWidth, rows = tile.used < lane ? 0 : tile.used - lane < kWidth ? tile.used - lane : kWidth;
      passed += count;
      counters.scored_pairs += count * rows;
      if (head.options.certify)
        certify_keys(head, tile, lane, lane + kWidth, first, first + kPanelKeys, found.keys[g] + waiting[g], count,
                     scratch, state, counters);
    }
    if (passed > vectors * kPanelKeys / 2) screen.paused = kPause;
    for (int g = 0; g < 2; ++g) score_found(head, g, norm, scratch, state, found);
  }
  counters.screened_pairs += screened * kPanelKeys * tile.used;
  outright(end_panel * kPanelKeys, end);
}

// Keys begin .. end - 1 of the tile.
inline void sweep_range(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                        const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                        ScreenState& screen, RowsAhead<> ahead, StreamingCounters& counters) {
  const float slope = head.slope;
  const std::int64_t open = tile.least < begin ? begin : tile.least < end ? tile.least : end;
  if (slope == 0) {
    if (screen.on)
      sweep_screened(head, tile, begin, open, norm, scratch, state, screen, ahead, counters);
    else
      sweep_keys<false, false>(head, tile, begin, open, slope, norm, scratch, state, ahead, counters);
    if (open < end) score_waiting(head, norm, scratch, state, screen);
    sweep_keys<true, false>(head, tile, open, end, slope, norm, scratch, state, ahead, counters);
  } else {
    sweep_keys<false, true>(head, tile, begin, open, slope, norm, scratch, state, ahead, counters);
    sweep_keys<true, true>(head, tile, open, end, slope, norm, scratch, state, ahead, counters);
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
