// Streaming softmax: online maximum, sum and entropy accumulators, blocks of keys from the newest to the oldest.
#pragma once

#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// Running state of a tile: Z = sum e^(s-M) and W = sum e^(s-M)(s-M), both free of cancellation.
struct SoftmaxState {
  Vec<float> top[2];
  double z[kRows] = {}, w[kRows] = {};
  Vec<float> first_score[2];  // of key 0
};

// Raises the running maxima to cover `scores` and rescales what has been summed.
inline void raise_maximum(const float* scores, std::int64_t keys, std::int64_t head_size, const StreamScratch& scratch,
                          SoftmaxState& state) {
  Vec<float> next[2] = {state.top[0], state.top[1]};
  for (std::int64_t j = 0; j < keys; ++j)
    for (int g = 0; g < 2; ++g) next[g] = larger(load<float>(scores + j * kRows + g * kWidth), next[g]);
  if (!any_greater<float>(next[0], state.top[0]) && !any_greater<float>(next[1], state.top[1])) return;
  const Vec<float> none = splat<float>(Simd<float>::kMasked);
  for (int g = 0; g < 2; ++g) {
    const Vec<float> factor = exp<float>(state.top[g] - next[g]);
    const Vec<float> growth = select(state.top[g] > none, next[g] - state.top[g], Vec<float>{});
    for (int i = 0; i < kWidth; ++i) {
      double& z = state.z[g * kWidth + i];
      double& w = state.w[g * kWidth + i];
      w = static_cast<double>(factor[i]) * (w - static_cast<double>(growth[i]) * z);
      z *= static_cast<double>(factor[i]);
    }
    for (std::int64_t c = 0; c < head_size; ++c) {
      const std::int64_t at = c * kRows + g * kWidth;
      store<float>(scratch.outputs + at, load<float>(scratch.outputs + at) * factor);
      for (int i = 0; i < kWidth; ++i) scratch.totals[at + i] *= static_cast<double>(factor[i]);
    }
    state.top[g] = next[g];
  }
}

inline void softmax_block(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t keys,
                          const StreamScratch& scratch, RowsAhead<> keys_ahead, RowsAhead<> values_ahead,
                          SoftmaxState& state) {
  float* scores = scratch.scores;
  multiply_asking(keys, head.head_size, {head.k + begin * head.k_stride, head.k_stride, 1}, scratch.queries, scores,
                  false, keys_ahead);
  bias_and_mask(tile, begin, 1, keys, head.slope, scores);
  if (begin == 0)
    for (int g = 0; g < 2; ++g) state.first_score[g] = load<float>(scores + g * kWidth);
  raise_maximum(scores, keys, head.head_size, scratch, state);
  LaneSum<float> z, w;
  for_keys<float>(
      keys,
      [&](std::int64_t j, int g) {
        float* at = scores + j * kRows + g * kWidth;
        // The product below must stay finite where the weight is 0.
        const Vec<float> shifted = larger(load<float>(at) - state.top[g], splat<float>(-1e30f));
        const Vec<float> weight = exp<float>(shifted);
        store<float>(at, weight);
        z.part[g] += weight;
        w.part[g] += weight * shifted;
      },
      z, w);
  for (int i = 0; i < kRows; ++i) {
    state.z[i] += z.total[i];
    state.w[i] += w.total[i];
  }
  multiply_asking(head.head_size, keys, {head.v + begin * head.v_stride, 1, head.v_stride}, scores, scratch.outputs,
                  true, values_ahead);
}

struct SoftmaxTile {
  QueryTile tile;
  StreamScratch scratch;  // the tile's own queries, outputs and totals
  SoftmaxState state;
  std::int64_t begin = 0;  // first key it looks at
};

inline void finish_softmax(const StreamHead& head, const SoftmaxTile& at) {
  const auto& [tile, scratch, state, begin] = at;
  flush_outputs(head.head_size, scratch);
  for (std::int64_t i = 0; i < head.head_size * kRows; ++i) scratch.outputs[i] = static_cast<float>(scratch.totals[i]);
  Vec<float> sink[2];
  for (int g = 0; g < 2; ++g) sink[g] = exp<float>(state.first_score[g] - state.top[g]);
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) {
      write_empty_row(head, tile, i);
      continue;
    }
    write_lane(head, tile, i, scratch.outputs, state.z[i]);
    write_stats(head, tile.row[i],
                {entropy_of(state.z[i], state.w[i]), static_cast<double>(sink[i / kWidth][i % kWidth]) / state.z[i],
                 1 / state.z[i], static_cast<double>(state.top[i / kWidth][i % kWidth]), tile.visible[i]});
  }
}

// The tiles of rows row_begin .. row_end - 1 (at most kTileGroup tiles), block by block together, so that a block of
// keys and values is fetched once for all.
inline void softmax_tiles(const StreamHead& head, std::int64_t row_begin, std::int64_t row_end,
                          const StreamScratch& scratch, StreamingCounters& counters) {
  constexpr std::int64_t kFlushBlocks = 8;
  SoftmaxTile tiles[kTileGroup];
  int used = 0;
  std::int64_t most = 0;
  for (std::int64_t first = row_begin; first < row_end; first += kRows, ++used) {
    SoftmaxTile& at = tiles[used];
    at.scratch = scratch.of_tile(used, head.head_size);
    at.tile = pack_queries(head, first, row_end, at.scratch.queries);
    at.begin = window_begin(head, at.tile, 104);
    for (int g = 0; g < 2; ++g) at.state.top[g] = at.state.first_score[g] = splat<float>(Simd<float>::kMasked);
    for (std::int64_t i = 0; i < head.head_size * kRows; ++i) at.scratch.outputs[i] = 0, at.scratch.totals[i] = 0;
    if (at.tile.most > most) most = at.tile.most;
  }
  for (std::int64_t block = (most - 1) / kKeyBlock; block >= 0; --block) {
    const std::int64_t first = block * kKeyBlock;
    bool any = false;
    const std::int64_t next_first = first - kAhead * kKeyBlock;  // from the newest key to the oldest
    const RowRange next = {next_first < 0 ? 0 : next_first, next_first < 0 ? 0 : next_first + kKeyBlock};
    for (int t = 0; t < used; ++t) {
      SoftmaxTile& at = tiles[t];
      any |= block >= at.begin / kKeyBlock;
      if (first >= at.tile.most || block < at.begin / kKeyBlock) continue;
      const std::int64_t keys = at.tile.most - first < kKeyBlock ? at.tile.most - first : kKeyBlock;
      softmax_block(head, at.tile, first, keys, at.scratch,
                    rows_ahead(head.k, head.k_stride, head.head_size, next, t, used),
                    rows_ahead(head.v, head.v_stride, head.head_size, next, t, used), at.state);
      counters.scored_pairs += keys * at.tile.used;
      if (block % kFlushBlocks == 0) flush_outputs(head.head_size, at.scratch);
    }
    if (!any) break;
  }
  for (int t = 0; t < used; ++t) finish_softmax(head, tiles[t]);
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
