// Streaming entmax: one sweep of the keys against a running threshold, exact by the subset rule (docs/kernels.md).
#pragma once

#include "kernels/stream_dense.h"
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
  Int<float> any = {};
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m) {
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
      if constexpr (kMask) {
        const Vec<float> key = splat<float>(static_cast<float>(first + m));
        sums[m][g] = select(tile.seen[g] > key, sums[m][g], splat<float>(Simd<float>::kMasked));
      }
      any |= (Int<float>)(sums[m][g] > threshold[g]);
    }
  }
  if (!any_lane(any)) return;
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m) offer(sums[m][0], sums[m][1], first + m, norm, scratch, state);
}

template <bool kMask, bool kBias>
inline void sweep_keys(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end, float slope,
                       const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                       StreamingCounters& counters) {
  std::int64_t j = begin;
  for (; j + kBlock <= end; j += kBlock) sweep_block<kBlock, kMask, kBias>(head, tile, j, slope, norm, scratch, state);
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

// Keys begin .. end - 1, all visible to every row, panel by panel through the byte screen. Where the screen lets half
// the keys of a panel through, the next panels are scored outright.
inline void sweep_screened(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                           const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                           StreamingCounters& counters) {
  constexpr std::int64_t kPause = 24;  // panels
  alignas(64) QueryCodes query;
  encode_queries(head, tile, scratch, query);
  std::int32_t found[2 * kPanelKeys];
  std::int64_t waiting = 0, paused = 0, scored = 0;
  const std::int64_t first_panel = (begin + kPanelKeys - 1) / kPanelKeys, end_panel = end / kPanelKeys;
  if (end_panel <= first_panel) {
    sweep_keys<false, false>(head, tile, begin, end, 0, norm, scratch, state, counters);
    return;
  }
  sweep_keys<false, false>(head, tile, begin, first_panel * kPanelKeys, 0, norm, scratch, state, counters);
  for (std::int64_t panel = first_panel; panel < end_panel; ++panel) {
    const std::int64_t first = panel * kPanelKeys;
    if (paused > 0) {
      --paused;
      sweep_keys<false, false>(head, tile, first, first + kPanelKeys, 0, norm, scratch, state, counters);
      continue;
    }
    std::int32_t* const end_found = screen_panel(head, query, state.threshold, panel, found + waiting);
    const std::int64_t count = end_found - found;
    if (head.options.certify)
      certify_keys(head, tile, first, first + kPanelKeys, found + waiting, count - waiting, scratch, state, counters);
    if (count - waiting > kPanelKeys / 2) paused = kPause;
    scored += count - waiting;
    std::int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) sweep_listed<kBlock>(head, found + i, norm, scratch, state);
    if (paused > 0)
      for (; i < count; ++i) sweep_listed<1>(head, found + i, norm, scratch, state);
    for (waiting = 0; i < count; ++i) found[waiting++] = found[i];
  }
  for (std::int64_t i = 0; i < waiting; ++i) sweep_listed<1>(head, found + i, norm, scratch, state);
  counters.screened_pairs += (end_panel - first_panel) * kPanelKeys * tile.used;
  counters.scored_pairs += scored * tile.used;
  sweep_keys<false, false>(head, tile, end_panel * kPanelKeys, end, 0, norm, scratch, state, counters);
}

inline void sweep_range(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                        const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                        StreamingCounters& counters) {
  const float slope = head.slope;
  const std::int64_t open = tile.least < begin ? begin : tile.least < end ? tile.least : end;
  if (slope == 0) {
    if (kHasScreen && head.codes && open - begin >= kFewestScreened)
      sweep_screened(head, tile, begin, open, norm, scratch, state, counters);
    else
      sweep_keys<false, false>(head, tile, begin, open, slope, norm, scratch, state, counters);
    sweep_keys<true, false>(head, tile, open, end, slope, norm, scratch, state, counters);
  } else {
    sweep_keys<false, true>(head, tile, begin, open, slope, norm, scratch, state, counters);
    sweep_keys<true, true>(head, tile, open, end, slope, norm, scratch, state, counters);
  }
}

// out[c] = sum_i weights[i] * v[keys[i]][c] in the order of the list: fp32 runs of 256 terms, summed in double.
template <int kVectors>
inline void gather_panel(const StreamHead& head, const double* weights, const std::int32_t* keys, std::int64_t count,
                         std::int64_t channel, double* out) {
  for (int c = 0; c < kVectors * kWidth; ++c) out[channel + c] = 0;
  for (std::int64_t begin = 0; begin < count; begin += 256) {
    const std::int64_t end = begin + 256 < count ? begin + 256 : count;
    Vec<float> sums[kVectors] = {};
    for (std::int64_t i = begin; i < end; ++i) {
      const float* v = head.v + keys[i] * head.v_stride + channel;
      const Vec<float> weight = splat<float>(static_cast<float>(weights[i]));
#pragma GCC unroll 4
      for (int n = 0; n < kVectors; ++n) sums[n] += weight * load<float>(v + n * kWidth);
    }
    for (int n = 0; n < kVectors; ++n)
      for (int c = 0; c < kWidth; ++c) out[channel + n * kWidth + c] += static_cast<double>(sums[n][c]);
  }
}

inline void gather_values(const StreamHead& head, const double* weights, const std::int32_t* keys, std::int64_t count,
                          double* out) {
  std::int64_t c = 0;
  for (; c + 4 * kWidth <= head.head_size; c += 4 * kWidth) gather_panel<4>(head, weights, keys, count, c, out);
  for (; c + 2 * kWidth <= head.head_size; c += 2 * kWidth) gather_panel<2>(head, weights, keys, count, c, out);
  for (; c + kWidth <= head.head_size; c += kWidth) gather_panel<1>(head, weights, keys, count, c, out);
  for (; c < head.head_size; ++c) {
    out[c] = 0;
    for (std::int64_t i = 0; i < count; ++i)
      out[c] += static_cast<double>(static_cast<float>(weights[i]) * head.v[keys[i] * head.v_stride + c]);
  }
}

// Shell sort by key: only lists collected in a shuffled order are out of order.
inline void sort_by_key(float* scores, std::int32_t* keys, std::int64_t count) {
  for (std::int64_t gap = count / 2; gap > 0; gap /= 2) {
    for (std::int64_t i = gap; i < count; ++i) {
      const float score = scores[i];
      const std::int32_t key = keys[i];
      std::int64_t at = i;
      for (; at >= gap && keys[at - gap] > key; at -= gap) scores[at] = scores[at - gap], keys[at] = keys[at - gap];
      scores[at] = score, keys[at] = key;
    }
  }
}

// The exact threshold in double over the survivors, in key order, so that the bits do not depend on how they were
// found.
inline void finish_row(const StreamHead& head, const QueryTile& tile, int lane, const Normalizer<double>& norm,
                       const StreamScratch& scratch, const EntmaxState& state) {
  float* scores = scratch.list_scores + lane * scratch.list_stride;
  std::int32_t* keys = scratch.list_keys + lane * scratch.list_stride;
  double* exact = scratch.exact;
  std::int64_t count = state.count[lane];
  if (head.options.visit_seed != 0) sort_by_key(scores, keys, count);
  pad_list(scores, count);
  const double top = static_cast<double>(max_of_list(scores, count));
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    exact[kept] = static_cast<double>(scores[i]) - top;
    keys[kept] = keys[i];
    kept += scores[i] > state.threshold[lane] ? 1 : 0;
  }
  count = kept;
  pad_list(exact, count);
  const double known = (static_cast<double>(state.threshold[lane]) - top) * norm.scale;
  const double threshold = row_threshold<double>(exact, count, 0.0, known > -1 ? known : -1, norm);
  kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = exact[i] * norm.scale - threshold;
    exact[kept] = x;
    keys[kept] = keys[i];
    kept += x > 0 ? 1 : 0;
  }
  double log_sum;
  // Rounded to fp32, where it is 1: its last bits in double depend on how the threshold was reached, and a quotient
  // half way between two floats would show them.
  const double sum = static_cast<double>(static_cast<float>(weigh_row(exact, kept, norm, log_sum)));
  gather_values(head, exact, keys, kept, scratch.gathered);
  float* out = head.out + tile.row[lane] * head.out_stride;
  for (std::int64_t c = 0; c < head.head_size; ++c) out[c] = static_cast<float>(scratch.gathered[c] / sum);
  double largest = 0;
  for (std::int64_t i = 0; i < kept; ++i) largest = exact[i] > largest ? exact[i] : largest;
  write_stats(head, tile.row[lane],
              {entropy_of(sum, log_sum), kept > 0 && keys[0] == 0 ? exact[0] / sum : 0.0, largest / sum, top, kept});
}

// Visits chunks of keys in an order drawn from the seed.
inline void sweep_shuffled(const StreamHead& head, const QueryTile& tile, std::int64_t begin,
                           const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                           StreamingCounters& counters) {
  constexpr std::int64_t kChunk = 5 * kBlock;
  const std::int64_t chunks = (tile.most - begin + kChunk - 1) / kChunk;
  // An affine permutation of the chunks: any step coprime to their number.
  std::int64_t step = head.options.visit_seed % chunks + 1;
  const auto coprime = [&](std::int64_t a) {
    std::int64_t b = chunks;
    while (b != 0) {
      const std::int64_t rest = a % b;
      a = b, b = rest;
    }
    return a == 1;
  };
  while (!coprime(step)) ++step;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const std::int64_t first = begin + (i * step + head.options.visit_seed / 7) % chunks * kChunk;
    const std::int64_t end = first + kChunk < tile.most ? first + kChunk : tile.most;
    sweep_range(head, tile, first, end, norm, scratch, state, counters);
  }
}

// Rows by collecting what may be in their supports. `samples` (null: none) are the rows' own.
inline void sparse_tile(const StreamHead& head, const QueryTile& tile, const RowSample* samples,
                        const Normalizer<float>& norm, const StreamScratch& scratch, StreamingCounters& counters) {
  EntmaxState state;
  for (int i = 0; i < kRows; ++i) {
    state.threshold[i] = i >= tile.used || tile.visible[i] == 0 ? __builtin_inff()
                         : samples                              ? samples[i].threshold
                                                                : Simd<float>::kMasked;
    state.limit[i] = kFirstLimit;
  }
  if (tile.most > 0) {
    const std::int64_t begin = window_begin(head, tile, 1 / (head.alpha - 1));
    if (!samples) seed_thresholds(head, tile, begin, norm, scratch, state, counters);
    if (head.options.visit_seed != 0)
      sweep_shuffled(head, tile, begin, norm, scratch, state, counters);
    else
      sweep_range(head, tile, begin, tile.most, norm, scratch, state, counters);
    if (state.waiting > 0) flush_pending(norm, scratch, state);
    if (head.options.certify) certify_keys(head, tile, 0, begin, nullptr, 0, scratch, state, counters);
  }
  const Normalizer<double> exact = make_normalizer<double>(head.alpha);
  for (int i = 0; i < tile.used; ++i) {
    state.pushed += state.count[i] - state.kept[i];
    if (tile.visible[i] == 0)
      write_empty_row(head, tile, i);
    else
      finish_row(head, tile, i, exact, scratch, state);
  }
  counters.pushed_scores += state.pushed;
}

// Rows of one kind that wait for company.
template <int kMost>
struct WaitingRows {
  std::int64_t row[kMost];
  RowSample sample[kMost];
  int count = 0;
  void add(std::int64_t new_row, const RowSample& new_sample) {
    row[count] = new_row;
    sample[count++] = new_sample;
  }
};

// Rows row_begin .. row_end - 1. Each row is weighed densely or collected as its own sample says; rows of both kinds
// are packed into tiles of their own, so that no row pays for its neighbours.
inline void entmax_rows(const StreamHead& head, std::int64_t row_begin, std::int64_t row_end,
                        const Normalizer<float>& norm, const StreamScratch& scratch, StreamingCounters& counters) {
  const bool choose = head.slope == 0 && head.options.dense;
  WaitingRows<kRows> few;
  WaitingRows<kTileGroup * kRows> many;
  const auto collect_few = [&] {
    if (few.count == 0) return;
    const QueryTile tile = pack_queries(head, few.row, few.count, scratch.queries);
    sparse_tile(head, tile, few.sample, norm, scratch, counters);
    few.count = 0;
  };
  const auto weigh_many = [&] {
    if (many.count > 0) dense_rows(head, many.row, many.sample, many.count, norm, scratch, counters);
    many.count = 0;
  };
  for (std::int64_t first = row_begin; first < row_end; first += kRows) {
    const QueryTile tile = pack_queries(head, first, row_end, scratch.queries);
    if (!choose) {
      sparse_tile(head, tile, nullptr, norm, scratch, counters);
      continue;
    }
    RowSample samples[kRows];
    sample_rows(head, tile, norm, scratch, samples, counters);
    int diffuse = 0;
    for (int i = 0; i < tile.used; ++i) diffuse += tile.visible[i] > 0 && samples[i].diffuse ? 1 : 0;
    if (diffuse == 0) {
      sparse_tile(head, tile, samples, norm, scratch, counters);
      continue;
    }
    for (int i = 0; i < tile.used; ++i) {
      if (samples[i].diffuse) {
        many.add(tile.row[i], samples[i]);
        if (many.count == kTileGroup * kRows) weigh_many();
      } else {
        few.add(tile.row[i], samples[i]);
        if (few.count == kRows) collect_few();
      }
    }
  }
  collect_few();
  weigh_many();
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
