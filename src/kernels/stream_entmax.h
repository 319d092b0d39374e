// Streaming entmax: one sweep of the keys against a running threshold, exact by the subset rule (kernels.md 2.2).
#pragma once

#include "kernels/row_solver.h"
#include "kernels/stream_dense.h"
#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

constexpr std::int64_t kFirstLimit = 256;  // scores a row collects before its threshold is solved again

// A row's threshold never falls as keys are added, so a key at or below the threshold of any subset has weight 0 and is
// dropped; what survives is collected per row.
struct EntmaxState {
  alignas(64) float threshold[kRows];  // lower bound of the row's final threshold, in score units
  std::int64_t count[kRows] = {};
  std::int64_t limit[kRows];
};

// A threshold of (alpha - 1) * (score - top) as a bound in score units, below the true one by more than every rounding
// involved.
inline float safe_threshold(float top, double value, const Normalizer<float>& norm) {
  const double magnitude = top < 0 ? -static_cast<double>(top) : static_cast<double>(top);
  return static_cast<float>(static_cast<double>(top) + (value - 4e-6) * static_cast<double>(norm.beta) -
                            4e-7 * magnitude);
}

// Thresholds from a subset of the keys visible to every lane: the newest ones and a strided sample of the rest. Keys
// must not repeat, or the bound would be too high. Lanes of `done` are left alone.
inline void seed_thresholds(const StreamHead& head, const QueryTile& tile, std::int64_t begin, unsigned done,
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
    if (tile.visible[i] == 0 || (done >> i & 1) != 0) continue;
    const int g = i / kWidth, lane = i % kWidth;
    state.threshold[i] =
        safe_threshold(top[g][lane], static_cast<double>(high[g][lane]) + static_cast<double>(low[g][lane]), norm);
  }
}

// Solves row `lane` on what it has collected and drops the dead.
inline void tighten(int lane, const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state) {
  float* scores = scratch.list_scores + lane * scratch.list_stride;
  std::int32_t* keys = scratch.list_keys + lane * scratch.list_stride;
  const std::int64_t count = state.count[lane];
  pad_list(scores, count);
  const float top = max_of_list(scores, count);
  const double known =
      (static_cast<double>(state.threshold[lane]) - static_cast<double>(top)) * static_cast<double>(norm.scale);
  const float bound =
      safe_threshold(top, row_threshold<float>(scores, count, top, known > -1 ? known : -1, norm), norm);
  if (bound > state.threshold[lane]) state.threshold[lane] = bound;
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float score = scores[i];
    scores[kept] = score;
    keys[kept] = keys[i];
    kept += score > state.threshold[lane] ? 1 : 0;
  }
  state.count[lane] = kept;
  state.limit[lane] = 2 * kept > kFirstLimit ? 2 * kept : kFirstLimit;
}

// Appends the scores [keys][kRows] of keys first, first + 1, ... that are above the thresholds to their rows' lists.
[[gnu::noinline]] inline void collect(const float* values, int keys, std::int64_t first, const Normalizer<float>& norm,
                                      const StreamScratch& scratch, EntmaxState& state, StreamingCounters& counters) {
  const Vec<float> threshold[2] = {load<float>(state.threshold), load<float>(state.threshold + kWidth)};
  for (int m = 0; m < keys; ++m) {
    const float* row = values + m * kRows;
    unsigned bits = greater_bits(load<float>(row), threshold[0]) | greater_bits(load<float>(row + kWidth), threshold[1])
                                                                       << kWidth;
    for (; bits != 0; bits &= bits - 1) {
      const int lane = __builtin_ctz(bits);
      const std::int64_t at = lane * scratch.list_stride + state.count[lane]++;
      scratch.list_scores[at] = row[lane];
      scratch.list_keys[at] = static_cast<std::int32_t>(first + m);
      ++counters.pushed_scores;
    }
  }
  for (int lane = 0; lane < kRows; ++lane)
    if (state.count[lane] >= state.limit[lane]) tighten(lane, norm, scratch, state);
}

// Scores keys first .. first + kKeys - 1 and collects what is above the thresholds.
template <int kKeys, bool kMask, bool kBias>
inline void sweep_block(const StreamHead& head, const QueryTile& tile, std::int64_t first, float slope,
                        const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                        StreamingCounters& counters) {
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
  alignas(64) float values[kKeys * kRows];
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m) {
    store<float>(values + m * kRows, sums[m][0]);
    store<float>(values + m * kRows + kWidth, sums[m][1]);
  }
  collect(values, kKeys, first, norm, scratch, state, counters);
}

template <bool kMask, bool kBias>
inline void sweep_keys(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end, float slope,
                       const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                       StreamingCounters& counters) {
  std::int64_t j = begin;
  for (; j + kBlock <= end; j += kBlock)
    sweep_block<kBlock, kMask, kBias>(head, tile, j, slope, norm, scratch, state, counters);
  for (; j < end; ++j) sweep_block<1, kMask, kBias>(head, tile, j, slope, norm, scratch, state, counters);
  if (begin < end) counters.scored_pairs += (end - begin) * tile.used;
}

inline void sweep_range(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                        const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                        StreamingCounters& counters) {
  const float slope = head.slope;
  const std::int64_t open = tile.least < begin ? begin : tile.least < end ? tile.least : end;
  if (slope == 0) {
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
  float* out = head.out + (tile.first + lane) * head.out_stride;
  for (std::int64_t c = 0; c < head.head_size; ++c) out[c] = static_cast<float>(scratch.gathered[c] / sum);
  double largest = 0;
  for (std::int64_t i = 0; i < kept; ++i) largest = exact[i] > largest ? exact[i] : largest;
  write_stats(head, tile.first + lane,
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

inline void entmax_tile(const StreamHead& head, const QueryTile& tile, const Normalizer<float>& norm,
                        const StreamScratch& scratch, StreamingCounters& counters) {
  unsigned seeing = 0, diffuse = 0;
  for (int i = 0; i < tile.used; ++i) seeing |= tile.visible[i] > 0 ? 1u << i : 0u;
  if (head.slope == 0 && head.options.dense) {
    diffuse = diffuse_rows(head, tile, norm, scratch, counters);
    if (diffuse != 0) dense_rows(head, tile, diffuse, norm, scratch, counters);
  }
  EntmaxState state;
  for (int i = 0; i < kRows; ++i) {
    const bool sparse = ((seeing & ~diffuse) >> i & 1) != 0;
    state.threshold[i] = sparse ? Simd<float>::kMasked : __builtin_inff();
    state.limit[i] = kFirstLimit;
  }
  if ((seeing & ~diffuse) != 0) {
    const std::int64_t begin = window_begin(head, tile, 1 / (head.alpha - 1));
    seed_thresholds(head, tile, begin, diffuse, norm, scratch, state, counters);
    if (head.options.visit_seed != 0)
      sweep_shuffled(head, tile, begin, norm, scratch, state, counters);
    else
      sweep_range(head, tile, begin, tile.most, norm, scratch, state, counters);
  }
  const Normalizer<double> exact = make_normalizer<double>(head.alpha);
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0)
      write_empty_row(head, tile, i);
    else if ((diffuse >> i & 1) == 0)
      finish_row(head, tile, i, exact, scratch, state);
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
