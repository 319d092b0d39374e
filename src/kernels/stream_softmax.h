// Streaming softmax: online maximum, sum and entropy accumulators, blocks of keys from the newest to the oldest.
#pragma once

#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// Running state of a tile: Z = sum e^(s-M) and W = sum e^(s-M)(s-M), both free of cancellation (kernels.md 2.6).
struct SoftmaxState {
  Vec<float> top[2];
  double z[kRows] = {}, w[kRows] = {};
  Vec<float> first_score[2];  // of key 0
};

// Raises the running maxima to cover `scores` and rescales what has been summed.
inline void raise_maximum(const float* scores, std::int64_t keys, std::int64_t head_size, float* outputs,
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
      float* at = outputs + c * kRows + g * kWidth;
      store<float>(at, load<float>(at) * factor);
    }
    state.top[g] = next[g];
  }
}

inline void softmax_block(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t keys,
                          const StreamScratch& scratch, SoftmaxState& state) {
  float* scores = scratch.scores;
  multiply<float>(keys, kRows, head.head_size, {head.k + begin * head.k_stride, head.k_stride, 1}, scratch.queries,
                  kRows, scores, kRows, false);
  bias_and_mask(tile, begin, 1, keys, head.slope, scores);
  if (begin == 0)
    for (int g = 0; g < 2; ++g) state.first_score[g] = load<float>(scores + g * kWidth);
  raise_maximum(scores, keys, head.head_size, scratch.outputs, state);
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
  multiply<float>(head.head_size, kRows, keys, {head.v + begin * head.v_stride, 1, head.v_stride}, scores, kRows,
                  scratch.outputs, kRows, true);
}

inline void softmax_tile(const StreamHead& head, const QueryTile& tile, const StreamScratch& scratch,
                         StreamingCounters& counters) {
  const std::int64_t begin = window_begin(head, tile, 104);
  SoftmaxState state;
  for (int g = 0; g < 2; ++g) state.top[g] = state.first_score[g] = splat<float>(Simd<float>::kMasked);
  for (std::int64_t i = 0; i < head.head_size * kRows; ++i) scratch.outputs[i] = 0;
  for (std::int64_t block = (tile.most - 1) / kKeyBlock; block >= begin / kKeyBlock; --block) {
    const std::int64_t first = block * kKeyBlock;
    const std::int64_t keys = tile.most - first < kKeyBlock ? tile.most - first : kKeyBlock;
    softmax_block(head, tile, first, keys, scratch, state);
    counters.scored_pairs += keys * tile.used;
  }
  Vec<float> sink[2];
  for (int g = 0; g < 2; ++g) sink[g] = exp<float>(state.first_score[g] - state.top[g]);
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) {
      write_empty_row(head, tile, i);
      continue;
    }
    write_lane(head, tile, i, scratch.outputs, state.z[i]);
    write_stats(head, tile.first + i,
                {entropy_of(state.z[i], state.w[i]), static_cast<double>(sink[i / kWidth][i % kWidth]) / state.z[i],
                 1 / state.z[i], static_cast<double>(state.top[i / kWidth][i % kWidth]), tile.visible[i]});
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
