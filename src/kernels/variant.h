// The seam between the portable driver and the code compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_kernels.h"

namespace lenbench::kernels {

// One (batch, head) of a streaming call.
struct StreamHead {
  const float *q, *k, *v;
  float* out;
  std::int64_t q_stride, k_stride, v_stride, out_stride;  // between tokens
  std::int64_t rows, keys, head_size;
  const std::int64_t* visible;  // [rows]
  double alpha;
  std::int64_t topk;  // 0: every key counts
  float slope;
  double key_norm;         // at least every finite key's Euclidean norm
  std::int64_t first_bad;  // first key whose k or v is not finite; `keys` when there is none
  RowStats stats;          // of this head's row 0
  StreamingOptions options;
  const std::int32_t* key_ids;    // [keys] index of each key's distinct row, in order of first use; null: plain
  const std::int64_t* first_use;  // [distinct] first key with that row
  std::int64_t distinct;          // k and v then hold the distinct rows
  // Byte codes of the whole panels of keys (key_codes.h), or null.
  const std::uint8_t* codes;
  std::int64_t code_stride;
  const float *code_scale, *code_norm, *code_error;
  float code_half_norm;
};

// One (batch, head) of a training call.
template <typename T>
struct TrainHead {
  const T *q, *k, *v;
  std::int64_t q_stride, k_stride, v_stride;
  std::int64_t rows, keys, head_size;
  const std::int64_t* visible;
  double alpha;
  T slope;
  double key_norm;
  std::int64_t first_bad;
  T* saved;  // tiles of weights, tile i at [most keys its rows see][kTileRows]
  T* out;
  std::int64_t out_stride;
};

template <typename T>
struct TrainGradient {
  const T* dout;
  std::int64_t dout_stride;
  T* dq;  // null: not wanted
  std::int64_t dq_stride;
  T *dk, *dv;               // [keys][padded head size] sums of this KV head, added to; null: not wanted
  double *dslope, *dalpha;  // added to; null: not wanted
};

// What one instruction set offers. Scratch is 64-byte aligned and belongs to one thread.
struct Variant {
  const char* name;
  int tile_rows, tile_rows_double;  // query rows handled together
  int lanes, lanes_double;
  bool screens;  // whether it reads StreamHead::codes
  std::size_t (*stream_scratch)(std::int64_t keys, std::int64_t head_size, std::int64_t distinct);
  void (*stream_rows)(const StreamHead& head, std::int64_t row_begin, std::int64_t row_end, void* scratch,
                      StreamingCounters& counters);
  std::size_t (*train_scratch)(std::int64_t keys, std::int64_t head_size);
  std::size_t (*train_scratch_double)(std::int64_t keys, std::int64_t head_size);
  void (*forward)(const TrainHead<float>& head, void* scratch);
  void (*forward_double)(const TrainHead<double>& head, void* scratch);
  void (*backward)(const TrainHead<float>& head, const TrainGradient<float>& gradient, void* scratch);
  void (*backward_double)(const TrainHead<double>& head, const TrainGradient<double>& gradient, void* scratch);
};

namespace baseline {
const Variant& variant();
}
#ifdef LENBENCH_KERNELS_X86
namespace avx2 {
const Variant& variant();
}
namespace avx512 {
const Variant& variant();
}
#endif

// The variant in use, chosen once per process.
const Variant& active_variant();

}  // namespace lenbench::kernels
