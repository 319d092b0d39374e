// Fused training attention of one (batch, head): forward saves the weights, backward turns them into gradients.
#pragma once

#include "kernels/tile.h"
#include "kernels/variant.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

template <typename T>
inline std::int64_t padded_channels(std::int64_t head_size) {
  return (head_size + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

// Scratch of one thread. Names say the layout: "lanes" is [head_size][rows of the tile], "rows" is its transpose padded
// to whole vectors.
template <typename T>
struct TrainScratch {
  T *q_lanes, *dout_lanes, *result_lanes;  // [head_size][kTileRows]
  T *q_rows, *dout_rows;                   // [kTileRows][padded head_size]
  T* gradients;                            // [keys][kTileRows]: gradients of weights, then of scores
  std::size_t bytes;

  TrainScratch(void* memory, std::int64_t keys, std::int64_t head_size) {
    Carver carver(memory);
    const std::int64_t tile = kTileRows<T>;
    q_lanes = carver.take<T>(head_size * tile);
    dout_lanes = carver.take<T>(head_size * tile);
    result_lanes = carver.take<T>(head_size * tile);
    q_rows = carver.take<T>(padded_channels<T>(head_size) * tile);
    dout_rows = carver.take<T>(padded_channels<T>(head_size) * tile);
    gradients = carver.take<T>(keys * tile);
    bytes = carver.bytes();
  }
};

template <typename T>
struct TrainTile {
  std::int64_t first, most;
  int used;
  std::int64_t visible[kTileRows<T>];
  Vec<T> seen[2];
};

template <typename T>
inline TrainTile<T> train_tile(const TrainHead<T>& head, std::int64_t first) {
  TrainTile<T> tile = {};
  tile.first = first;
  tile.used = static_cast<int>(head.rows - first < kTileRows<T> ? head.rows - first : kTileRows<T>);
  for (int i = 0; i < tile.used; ++i) {
    tile.visible[i] = head.visible[first + i];
    tile.seen[i / kLanes<T>][i % kLanes<T>] = static_cast<T>(tile.visible[i]);
    if (tile.visible[i] > tile.most) tile.most = tile.visible[i];
  }
  return tile;
}

// [rows][head_size] with a stride -> [head_size][kTileRows]; lanes past `used` become 0.
template <typename T>
inline void to_lanes(const T* from, std::int64_t stride, int used, std::int64_t head_size, T* to) {
  for (int i = 0; i < used; ++i)
    for (std::int64_t c = 0; c < head_size; ++c) to[c * kTileRows<T> + i] = from[i * stride + c];
  for (int i = used; i < kTileRows<T>; ++i)
    for (std::int64_t c = 0; c < head_size; ++c) to[c * kTileRows<T> + i] = 0;
}

template <typename T>
inline void to_padded_rows(const T* from, std::int64_t stride, int used, std::int64_t head_size, T* to) {
  const std::int64_t padded = padded_channels<T>(head_size);
  for (int i = 0; i < kTileRows<T>; ++i)
    for (std::int64_t c = 0; c < padded; ++c) to[i * padded + c] = i < used && c < head_size ? from[i * stride + c] : 0;
}

template <typename T>
inline void from_lanes(const T* from, int used, std::int64_t head_size, T* to, std::int64_t stride) {
  for (int i = 0; i < used; ++i)
    for (std::int64_t c = 0; c < head_size; ++c) to[i * stride + c] = from[c * kTileRows<T> + i];
}

// 1 for rows to normalise, 0 for rows that see nothing, NaN for rows whose inputs are not finite or whose scores may
// leave T's range (a query norm whose square overflows counts as such).
template <typename T>
inline void row_factors(const TrainHead<T>& head, const TrainTile<T>& tile, const T* q_lanes,
                        T (&factors)[kTileRows<T>]) {
  Vec<T> square[2] = {};
  for_keys<T>(head.head_size, [&](std::int64_t c, int g) {
    const Vec<T> value = load<T>(q_lanes + c * kTileRows<T> + g * kLanes<T>);
    square[g] += value * value;
  });
  T norms[kTileRows<T>];
  for (int g = 0; g < 2; ++g) store<T>(norms + g * kLanes<T>, root(square[g]));
  for (int i = 0; i < kTileRows<T>; ++i) {
    const double bound = static_cast<double>(norms[i]) * head.key_norm +
                         static_cast<double>(head.slope) * static_cast<double>(tile.visible[i]);
    const bool bad = tile.visible[i] > head.first_bad || !(bound < (sizeof(T) == 4 ? 1e38 : 1e150));
    factors[i] = tile.visible[i] == 0 ? T(0) : bad ? static_cast<T>(__builtin_nan("")) : T(1);
  }
}

template <typename T>
inline void train_scores(const TrainHead<T>& head, const TrainTile<T>& tile, const T* q_lanes, T* scores) {
  multiply<T>(tile.most, kTileRows<T>, head.head_size, {head.k, head.k_stride, 1}, q_lanes, kTileRows<T>, scores,
              kTileRows<T>, false);
  for_keys<T>(tile.most, [&](std::int64_t j, int g) {
    T* at = scores + j * kTileRows<T> + g * kLanes<T>;
    const Vec<T> score = load<T>(at) - (tile.seen[g] - static_cast<T>(j + 1)) * head.slope;
    store<T>(at, select(tile.seen[g] > splat<T>(static_cast<T>(j)), score, splat<T>(Simd<T>::kMasked)));
  });
}

template <typename T>
inline void forward_head(const TrainHead<T>& head, void* memory) {
  const TrainScratch<T> scratch(memory, 0, head.head_size);
  const Normalizer<T> norm = make_normalizer<T>(head.alpha);
  T* weights = head.saved;
  for (std::int64_t first = 0; first < head.rows; first += kTileRows<T>) {
    const TrainTile<T> tile = train_tile<T>(head, first);
    to_lanes<T>(head.q + first * head.q_stride, head.q_stride, tile.used, head.head_size, scratch.q_lanes);
    train_scores<T>(head, tile, scratch.q_lanes, weights);
    TileResult<T> result;
    normalize_tile<T>(weights, nullptr, tile.most, norm, false, result);
    T factors[kTileRows<T>];
    row_factors<T>(head, tile, scratch.q_lanes, factors);
    for (int i = 0; i < kTileRows<T>; ++i) factors[i] *= static_cast<T>(result.sum[i] > 0 ? 1 / result.sum[i] : 1.0);
    const Vec<T> inverse[2] = {load<T>(factors), load<T>(factors + kLanes<T>)};
    for_keys<T>(tile.most, [&](std::int64_t j, int g) {
      T* at = weights + j * kTileRows<T> + g * kLanes<T>;
      store<T>(at, load<T>(at) * inverse[g]);
    });
    multiply<T>(head.head_size, kTileRows<T>, tile.most, {head.v, 1, head.v_stride}, weights, kTileRows<T>,
                scratch.result_lanes, kTileRows<T>, false);
    from_lanes<T>(scratch.result_lanes, tile.used, head.head_size, head.out + first * head.out_stride, head.out_stride);
    weights += tile.most * kTileRows<T>;
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
