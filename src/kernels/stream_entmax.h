// Streaming entmax and top-k: one sweep of the keys against a running threshold, exact by the subset rule
// (docs/kernels.md).
#pragma once

#include "kernels/stream_dense.h"
#include "kernels/stream_sweep.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

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

// The softmax of the K largest scores, in key order; nothing else is left in the list.
inline void finish_topk_row(const StreamHead& head, const QueryTile& tile, int lane, const StreamScratch& scratch,
                            const EntmaxState& state) {
  float* scores = scratch.list_scores + lane * scratch.list_stride;
  const std::int32_t* keys = scratch.list_keys + lane * scratch.list_stride;
  const std::int64_t count = state.count[lane];
  pad_list(scores, count);
  const double top = static_cast<double>(max_of_list(scores, count));
  double* weights = scratch.exact;
  double sum = 0, log_sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double below = static_cast<double>(scores[i]) - top;
    weights[i] = __builtin_exp(below);
    sum += weights[i];
    log_sum += weights[i] * below;
  }
  gather_values(head, weights, keys, count, scratch.gathered);
  const std::int64_t row = tile.row[lane];
  float* out = head.out + row * head.out_stride;
  for (std::int64_t c = 0; c < head.head_size; ++c) out[c] = static_cast<float>(scratch.gathered[c] / sum);
  write_stats(head, row, {entropy_of(sum, log_sum), keys[0] == 0 ? weights[0] / sum : 0.0, 1 / sum, top, count});
  if (!head.stats.source) return;
  head.stats.source[row] = 0;
  for (std::int64_t i = 0; i < count; ++i)
    if (keys[i] == head.stats.source_keys[row]) head.stats.source[row] = static_cast<float>(weights[i] / sum);
}

// Visits chunks of keys in an order drawn from the seed.
inline void sweep_shuffled(const StreamHead& head, const QueryTile& tile, std::int64_t begin,
                           const Normalizer<float>& norm, const StreamScratch& scratch, EntmaxState& state,
                           ScreenState& screen, StreamingCounters& counters) {
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
    sweep_range(head, tile, first, end, norm, scratch, state, screen, {}, counters);
  }
}

// One tile of a group that goes through the keys together.
struct SparseTile {
  QueryTile tile;
  StreamScratch scratch;  // the tile's own
  EntmaxState state;
  ScreenState screen;
  std::int64_t begin = 0;  // first key it looks at
};

inline void start_sparse(const StreamHead& head, const RowSample* samples, const Normalizer<float>& norm,
                         SparseTile& at, StreamingCounters& counters) {
  const QueryTile& tile = at.tile;
  for (int i = 0; i < kRows; ++i) {
    at.state.threshold[i] = i >= tile.used || tile.visible[i] == 0 ? __builtin_inff()
                            : samples                              ? samples[i].threshold
                                                                   : Simd<float>::kMasked;
    at.state.limit[i] = kFirstLimit + static_cast<std::int32_t>(head.topk);
  }
  at.state.topk = static_cast<std::int32_t>(head.topk);
  if (tile.most == 0) return;
  at.begin = head.topk > 0 ? window_begin(head, tile, 0, head.topk) : window_begin(head, tile, 1 / (head.alpha - 1));
  if (!samples && head.topk == 0) seed_thresholds(head, tile, at.begin, norm, at.scratch, at.state, counters);
  at.screen.on = kHasScreen && head.codes && head.options.visit_seed == 0 && tile.least - at.begin >= kFewestScreened;
  if (at.screen.on) encode_queries(head, tile, at.scratch, at.screen.query);
}

inline void finish_sparse(const StreamHead& head, const Normalizer<float>& norm, SparseTile& at,
                          StreamingCounters& counters) {
  const auto& [tile, scratch, state, screen, begin] = at;
  score_waiting(head, norm, scratch, at.state, at.screen);
  for (int g = 0; g < 2; ++g)
    if (state.waiting[g] > 0) flush_pending(g, norm, scratch, at.state);
  for (int i = 0; i < tile.used && head.topk > 0; ++i) keep_largest(i, scratch, at.state);
  if (tile.most > 0 && head.options.certify)
    certify_keys(head, tile, 0, kRows, 0, begin, nullptr, 0, scratch, state, counters);
  const Normalizer<double> exact = make_normalizer<double>(head.alpha);
  for (int i = 0; i < tile.used; ++i) {
    at.state.pushed += state.count[i] - state.kept[i];
    if (tile.visible[i] == 0)
      write_empty_row(head, tile, i);
    else if (head.topk > 0)
      finish_topk_row(head, tile, i, scratch, state);
    else
      finish_row(head, tile, i, exact, scratch, state);
  }
  counters.pushed_scores += state.pushed;
}

// Rows by collecting what may be in their supports, tile by tile: those of heads with a window, which tiles do not
// share.
inline void sparse_tile(const StreamHead& head, const QueryTile& tile, const Normalizer<float>& norm,
                        const StreamScratch& scratch, StreamingCounters& counters) {
  SparseTile at = {tile, scratch, {}, {}, 0};
  start_sparse(head, nullptr, norm, at, counters);
  if (head.options.visit_seed != 0 && tile.most > 0)
    sweep_shuffled(head, tile, at.begin, norm, scratch, at.state, at.screen, counters);
  else
    sweep_range(head, tile, at.begin, tile.most, norm, scratch, at.state, at.screen, {}, counters);
  finish_sparse(head, norm, at, counters);
}

// The same for rows[0 .. count - 1], at most kTileGroup tiles, of a head without positional bias: the tiles take each
// chunk of keys one after the other, while it is in the caches. `samples` are the rows' own, or null.
inline void sparse_rows(const StreamHead& head, const std::int64_t* rows, const RowSample* samples, int count,
                        const Normalizer<float>& norm, const StreamScratch& scratch, StreamingCounters& counters) {
  constexpr std::int64_t kChunk = 2 * kPanelKeys;
  SparseTile tiles[kTileGroup];
  int used = 0;
  std::int64_t most = 0;
  for (int first = 0; first < count; first += kRows, ++used) {
    SparseTile& at = tiles[used];
    at.scratch = scratch.of_tile(used, head.head_size);
    at.tile = pack_queries(head, rows + first, count - first < kRows ? count - first : kRows, at.scratch.queries);
    start_sparse(head, samples ? samples + first : nullptr, norm, at, counters);
    if (at.tile.most > most) most = at.tile.most;
    if (head.options.visit_seed != 0 && at.tile.most > 0)
      sweep_shuffled(head, at.tile, 0, norm, at.scratch, at.state, at.screen, counters);
  }
  if (head.options.visit_seed != 0) most = 0;
  for (std::int64_t first = 0; first < most; first += kChunk) {
    const RowRange next = chunk_ahead(first, kChunk, most);
    for (int t = 0; t < used; ++t) {
      SparseTile& at = tiles[t];
      const std::int64_t end = first + kChunk < at.tile.most ? first + kChunk : at.tile.most;
      if (end > first)
        sweep_range(head, at.tile, first, end, norm, at.scratch, at.state, at.screen,
                    rows_ahead(head.k, head.k_stride, head.head_size, next, t, used), counters);
    }
  }
  for (int t = 0; t < used; ++t) finish_sparse(head, norm, tiles[t], counters);
}

// Rows row_begin .. row_end - 1 of a top-k head.
inline void topk_rows(const StreamHead& head, std::int64_t row_begin, std::int64_t row_end,
                      const StreamScratch& scratch, StreamingCounters& counters) {
  const Normalizer<float> norm = make_normalizer<float>(head.alpha);
  std::int64_t rows[kTileGroup * kRows];
  const std::int64_t most = head.slope == 0 ? kTileGroup * kRows : kRows;
  for (std::int64_t first = row_begin; first < row_end; first += most) {
    const std::int64_t count = row_end - first < most ? row_end - first : most;
    for (std::int64_t i = 0; i < count; ++i) rows[i] = first + i;
    if (head.slope == 0)
      sparse_rows(head, rows, nullptr, static_cast<int>(count), norm, scratch, counters);
    else
      sparse_tile(head, pack_queries(head, first, row_end, scratch.queries), norm, scratch, counters);
  }
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
  WaitingRows<kTileGroup * kRows> few;
  WaitingRows<kDenseGroup * kRows> many;
  const auto collect_few = [&] {
    if (few.count > 0) sparse_rows(head, few.row, few.sample, few.count, norm, scratch, counters);
    few.count = 0;
  };
  const auto weigh_many = [&] {
    if (many.count > 0) dense_rows(head, many.row, many.sample, many.count, norm, scratch, counters);
    many.count = 0;
  };
  for (std::int64_t first = row_begin; first < row_end; first += kRows) {
    const QueryTile tile = pack_queries(head, first, row_end, scratch.queries);
    if (!choose) {
      sparse_tile(head, tile, norm, scratch, counters);
      continue;
    }
    RowSample samples[kRows];
    sample_rows(head, tile, norm, scratch, samples, counters);
    for (int i = 0; i < tile.used; ++i) {
      if (samples[i].diffuse) {
        many.add(tile.row[i], samples[i]);
        if (many.count == kDenseGroup * kRows) weigh_many();
      } else {
        few.add(tile.row[i], samples[i]);
        if (few.count == kTileGroup * kRows) collect_few();
      }
    }
  }
  collect_few();
  weigh_many();
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
