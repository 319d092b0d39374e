// Candidates of a tile's rows: scores above a running threshold, kept in one list a row, and the threshold that rises
// with them.
#pragma once

#include "kernels/row_solver.h"
#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

constexpr std::int32_t kFirstLimit = 64;  // scores a row collects before its threshold is solved again
constexpr int kPending = 8;               // keys that wait to be sorted into the lists together

// A row's threshold never falls as keys are added, so a key at or below the threshold of any subset has weight 0 and is
// dropped; what survives is collected per row. For top-k this holds of keys taken in ascending order.
struct EntmaxState {
  alignas(64) float threshold[kRows];  // lower bound of the row's final threshold, in score units
  // Keys that one of a vector's rows wants, and their scores [kPending][kWidth].
  alignas(64) float pending[2][kPending * kWidth];
  std::int32_t pending_keys[2][kPending];
  int waiting[2] = {};
  std::int32_t count[kRows] = {};
  std::int32_t kept[kRows] = {};  // of `count`, what the last solve left
  std::int32_t limit[kRows];
  std::int64_t pushed = 0;
  std::int32_t topk = 0;  // > 0: the threshold is the K-th largest score so far
};

// A threshold of (alpha - 1) * (score - top) as a bound in score units, below the true one by more than every rounding
// involved.
inline float safe_threshold(float top, double value, const Normalizer<float>& norm) {
  const double magnitude = top < 0 ? -static_cast<double>(top) : static_cast<double>(top);
  return static_cast<float>(static_cast<double>(top) + (value - 4e-6) * static_cast<double>(norm.beta) -
                            4e-7 * magnitude);
}

// Moves the scores above `threshold`, and their keys, to the front in order; returns how many. `keys` and `scores` are
// readable and `to_keys` and `to_scores` writable up to a multiple of 8; a list may be compacted onto itself.
#if defined(__AVX2__)
struct CompactionTable {
  alignas(64) std::uint8_t order[256][8];
};
constexpr CompactionTable make_compaction_table() {
  CompactionTable table = {};
  for (int mask = 0; mask < 256; ++mask) {
    int at = 0;
    for (int lane = 0; lane < 8; ++lane)
      if ((mask >> lane & 1) != 0) table.order[mask][at++] = static_cast<std::uint8_t>(lane);
  }
  return table;
}
inline constexpr CompactionTable kCompaction = make_compaction_table();

// One vector of a list: stores its survivors, then anything.
inline std::int32_t compact_vector(__m256 scores, __m256i keys, __m256 threshold, float* to_scores,
                                   std::int32_t* to_keys) {
  const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(scores, threshold, _CMP_GT_OQ)));
  const __m256i order =
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(kCompaction.order[mask])));
  _mm256_storeu_ps(to_scores, _mm256_permutevar8x32_ps(scores, order));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_keys), _mm256_permutevar8x32_epi32(keys, order));
  return __builtin_popcount(mask);
}

inline std::int32_t compact_list(float* scores, std::int32_t* keys, std::int32_t count, float threshold) {
  std::int32_t kept = 0;
  const __m256 bound = _mm256_set1_ps(threshold);
  std::int32_t i = 0;
  for (; i + 8 <= count; i += 8)
    kept += compact_vector(_mm256_loadu_ps(scores + i), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + i)),
                           bound, scores + kept, keys + kept);
  for (; i < count; ++i) {
    const float score = scores[i];
    scores[kept] = score;
    keys[kept] = keys[i];
    kept += score > threshold ? 1 : 0;
  }
  return kept;
}

// Rows 0..7 of [8][kWidth] turned into columns.
inline void transpose_pending(const float* from, __m256 (&rows)[8]) {
  __m256 a[8], b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) a[i] = _mm256_load_ps(from + i * kWidth);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
    a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
    a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
    a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
    rows[i + 4] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
  }
}

// Appends what is pending for vector g above its thresholds to its rows' lists.
inline void sort_in(const StreamScratch& scratch, EntmaxState& state, int g) {
  const __m256i keys = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(state.pending_keys[g]));
#pragma GCC unroll 2
  for (int part = 0; part < kWidth; part += 8) {
    __m256 rows[8];
    transpose_pending(state.pending[g] + part, rows);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const int lane = g * kWidth + part + i;
      const std::int64_t at = lane * scratch.list_stride + state.count[lane];
      state.count[lane] += compact_vector(rows[i], keys, _mm256_broadcast_ss(state.threshold + lane),
                                          scratch.list_scores + at, scratch.list_keys + at);
    }
  }
}
#else
inline std::int32_t compact_list(float* scores, std::int32_t* keys, std::int32_t count, float threshold) {
  std::int32_t kept = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const float score = scores[i];
    scores[kept] = score;
    keys[kept] = keys[i];
    kept += score > threshold ? 1 : 0;
  }
  return kept;
}

inline void sort_in(const StreamScratch& scratch, EntmaxState& state, int g) {
  const Vec<float> threshold = load<float>(state.threshold + g * kWidth);
  for (int m = 0; m < kPending; ++m) {
    const float* scores = state.pending[g] + m * kWidth;
    for (unsigned bits = greater_bits(load<float>(scores), threshold); bits != 0; bits &= bits - 1) {
      const int i = __builtin_ctz(bits), lane = g * kWidth + i;
      const std::int64_t at = lane * scratch.list_stride + state.count[lane]++;
      scratch.list_scores[at] = scores[i];
      scratch.list_keys[at] = state.pending_keys[g][m];
    }
  }
}
#endif

// Integers in the order of the scores, the same for both zeros.
inline std::int32_t ordered(float score) {
  const auto bits = __builtin_bit_cast(std::int32_t, score + 0.0F);
  return bits ^ (bits >> 31 & 0x7fffffff);
}

// The n-th largest of count >= n finite scores, by bisection of its bits.
inline float nth_largest(const float* scores, std::int32_t count, std::int32_t n) {
  std::int64_t low = -(std::int64_t{1} << 31), high = -low - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    const auto bound = static_cast<std::int32_t>(middle);
    std::int32_t reached = 0;
    for (std::int32_t i = 0; i < count; ++i) reached += ordered(scores[i]) >= bound ? 1 : 0;
    if (reached >= n)
      low = middle;
    else
      high = middle - 1;
  }
  const auto bits = static_cast<std::int32_t>(low);
  return __builtin_bit_cast(float, bits ^ (bits >> 31 & 0x7fffffff));
}

// Drops all but the K largest of row `lane`, of equal ones the last; later keys must exceed the least of what stays.
inline void keep_largest(int lane, const StreamScratch& scratch, EntmaxState& state) {
  float* scores = scratch.list_scores + lane * scratch.list_stride;
  std::int32_t* keys = scratch.list_keys + lane * scratch.list_stride;
  const std::int32_t count = state.count[lane];
  std::int32_t kept = count;
  if (count >= state.topk) {
    const float least = nth_largest(scores, count, state.topk);
    std::int32_t room = state.topk;
    for (std::int32_t i = 0; i < count; ++i) room -= scores[i] > least ? 1 : 0;
    kept = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      const float score = scores[i];
      if (score < least || (score == least && room-- <= 0)) continue;
      scores[kept] = score;
      keys[kept++] = keys[i];
    }
    state.threshold[lane] = least;
  }
  state.pushed += count - state.kept[lane];
  state.count[lane] = state.kept[lane] = kept;
  state.limit[lane] = kept + (kept > kFirstLimit ? kept : kFirstLimit);
}

// Solves row `lane` on what it has collected and drops the dead.
[[gnu::noinline]] inline void tighten(int lane, const Normalizer<float>& norm, const StreamScratch& scratch,
                                      EntmaxState& state) {
  if (state.topk > 0) return keep_largest(lane, scratch, state);
  float* scores = scratch.list_scores + lane * scratch.list_stride;
  const std::int32_t count = state.count[lane];
  pad_list(scores, count);
  const float top = max_of_list(scores, count);
  const double known =
      (static_cast<double>(state.threshold[lane]) - static_cast<double>(top)) * static_cast<double>(norm.scale);
  const float bound =
      safe_threshold(top, row_threshold<float>(scores, count, top, known > -1 ? known : -1, norm), norm);
  if (bound > state.threshold[lane]) state.threshold[lane] = bound;
  const std::int32_t kept =
      compact_list(scores, scratch.list_keys + lane * scratch.list_stride, count, state.threshold[lane]);
  state.pushed += count - state.kept[lane];
  state.count[lane] = state.kept[lane] = kept;
  state.limit[lane] = kept + (kept > kFirstLimit ? kept : kFirstLimit);
}

// Sorts the waiting keys of vector g in; those of places not filled are masked.
[[gnu::noinline]] inline void flush_pending(int g, const Normalizer<float>& norm, const StreamScratch& scratch,
                                            EntmaxState& state) {
  float* pending = state.pending[g];
  for (int m = state.waiting[g]; m < kPending; ++m) {
    store<float>(pending + m * kWidth, splat<float>(Simd<float>::kMasked));
    state.pending_keys[g][m] = 0;
  }
  state.waiting[g] = 0;
  sort_in(scratch, state, g);
  // The weaker half of the subset rule, good enough for peaked rows: tau >= top - 1 in units of (alpha - 1) * score.
  if (state.topk == 0) {
    Vec<float> top = load<float>(pending);
    for (int m = 1; m < kPending; ++m) top = larger(load<float>(pending + m * kWidth), top);
    const Vec<float> size = larger(top, -top), known = load<float>(state.threshold + g * kWidth);
    store<float>(state.threshold + g * kWidth, larger(top - norm.beta * 1.00001F - size * 1e-6F, known));
  }
  const int begin = g * kWidth, end = begin + kWidth;
  std::int32_t full = 0;
  for (int lane = begin; lane < end; ++lane) full |= state.count[lane] >= state.limit[lane] ? 1 : 0;
  if (full == 0) return;
  for (int lane = begin; lane < end; ++lane)
    if (state.count[lane] >= state.limit[lane]) tighten(lane, norm, scratch, state);
}

// Puts the scores of `key` for vector g among the waiting where a row wants it.
inline void offer(Vec<float> scores, int g, std::int64_t key, const Normalizer<float>& norm,
                  const StreamScratch& scratch, EntmaxState& state) {
  if (is_empty(lanes_above(scores, load<float>(state.threshold + g * kWidth)))) return;
  store<float>(state.pending[g] + state.waiting[g] * kWidth, scores);
  state.pending_keys[g][state.waiting[g]] = static_cast<std::int32_t>(key);
  if (++state.waiting[g] == kPending) flush_pending(g, norm, scratch, state);
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
