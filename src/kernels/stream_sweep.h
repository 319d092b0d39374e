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
  for (int m = 0; m < kKeys; ++m) offer(sums[m][0], sums[m][1], first + m, norm, scratch, state);
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

// Scores kKeys keys of a list, as sweep_block does.
template <int kKeys>
inline void sweep_listed(const StreamHead& head, const std::int32_t* keys, const Normalizer<float>& norm,
                         const StreamScratch& scratch, EntmaxState& state) {
  const float* rows[kKeys];
  for (int m = 0; m < kKeys; ++m) rows[m] = head.k + keys[m] * head.k_stride;
  Vec<float> sums[kKeys][2] = {};
  for (std::int64_t c = 0; c < head.head_size; ++c) {
    const Vec<float> low = load<float>(scratch.queries + c * kRows),
                     high = load<float>(scratch.queries + c * kRows + kWidth);
#pragma GCC unroll 16
    for (int m = 0; m < kKeys; ++m) {
      const Vec<float> key = splat<float>(rows[m][c]);
      sums[m][0] += key * low;
      sums[m][1] += key * high;
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m) offer(sums[m][0], sums[m][1], keys[m], norm, scratch, state);
}

// Scores keys begin .. end - 1, which were left out, and keeps the smallest distance up to a row's threshold. `kept`
// keys among them, in order, were not left out.
[[gnu::noinline]] inline void certify_keys(const StreamHead& head, const QueryTile& tile, std::int64_t begin,
                                           std::int64_t end, const std::int32_t* kept, std::int64_t num_kept,
                                           const StreamScratch& scratch, const EntmaxState& state,
                                           StreamingCounters& counters) {
  alignas(64) float scores[kRows];
  for (std::int64_t j = begin; j < end; ++j) {
    if (num_kept > 0 && *kept == j) {
      ++kept, --num_kept;
      continue;
    }
    multiply<float>(1, kRows, head.head_size, {head.k + j * head.k_stride, head.k_stride, 1}, scratch.queries, kRows,
                    scores, kRows, false);
    bias_and_mask(tile, j, 1, 1, head.slope, scores);
    for (int i = 0; i < tile.used; ++i) {
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
  std::int32_t found[2 * kPanelKeys];  // keys let through that wait to be scored together
  std::int64_t waiting = 0;
  std::int64_t paused = 0;  // panels still to be scored outright
};

// Scores what waits, so that lists stay in the order of keys.
inline void score_waiting(const StreamHead& head, const Normalizer<float>& norm, const StreamScratch& scratch,
                          EntmaxState& state, ScreenState& screen) {
  for (std::int64_t i = 0; i < screen.waiting; ++i) sweep_listed<1>(head, screen.found + i, norm, scratch, state);
  screen.waiting = 0;
}

// Keys begin .. end - 1, all visible to every row, panel by panel through the byte screen. Where the screen lets half
// the keys of a panel through, the next panels are scored outright.
inline void sweep_screened(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                           const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                           ScreenState& screen, RowsAhead<>& ahead, StreamingCounters& counters) {
  constexpr std::int64_t kPause = 24;  // panels
  std::int64_t scored = 0, screened = 0;
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
    std::int32_t* const found = screen.found;
    const std::int64_t waiting = screen.waiting;
    const std::int64_t count = screen_panel(head, screen.query, state.threshold, panel, found + waiting) - found;
    if (head.options.certify)
      certify_keys(head, tile, first, first + kPanelKeys, found + waiting, count - waiting, scratch, state, counters);
    if (count - waiting > kPanelKeys / 2) screen.paused = kPause;
    ++screened;
    scored += count - waiting;
    std::int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) sweep_listed<kBlock>(head, found + i, norm, scratch, state);
    for (screen.waiting = 0; i < count; ++i) found[screen.waiting++] = found[i];
  }
  counters.screened_pairs += screened * kPanelKeys * tile.used;
  counters.scored_pairs += scored * tile.used;
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
