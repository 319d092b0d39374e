// Attention on a CUDA device. No CUDA header is needed to call it.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/attention_kernels.h"

namespace lenbench::kernels {

// Empty when this process can use a CUDA device, else why not.
std::string cuda_unavailable();

struct CudaOptions {
  bool screen = true;  // false: every row takes the dense kernel
  int capacity =
      1024;  // candidates that a screened row may have at once, else the dense kernel takes it: 128, 256 ... 4096
  double* states = nullptr;  // device memory [batches, heads, rows, 3]: what attend_cuda_backward reads; null: not kept
};

// What a call did, written to device memory that the caller cleared.
struct CudaCounters {
  unsigned long long bounded_pairs = 0;  // (row, key) score bounds computed on tensor cores, in whole tiles
  unsigned long long kept_keys = 0;      // keys whose bound was above their row's running threshold
  unsigned long long solves = 0;         // running thresholds solved
  unsigned long long dense_rows = 0;     // rows that the dense kernel took
};

// Bytes of device scratch that attend_cuda wants: a bfloat16 copy of the keys, and lists and rows of scores for as many
// warps as run at once, fewer for longer rows.
std::int64_t attend_cuda_scratch_bytes(const Problem<float>& problem, const CudaOptions& options = {});

// As attend_streaming (softmax and alpha-entmax, ALiBi slopes, grouped heads, statistics), with every pointer of
// `problem`, `out`, `stats`, `options` and `counters` in device memory; `threads` is not read, and the caller answers
// for alphas, slopes and visible counts, which are not checked. Entmax rows of head sizes up to 141 are screened
// (screened_rows.h), all others are dense; the same inputs give the same bits whatever the scratch. Runs on the current
// device and returns before the work is done, on `stream` (a cudaStream_t; null: the default stream). Throws
// std::invalid_argument for options out of range, 2^24 keys and more, or `scratch_bytes` below
// attend_cuda_scratch_bytes, std::runtime_error with CUDA's words when a launch is refused.
void attend_cuda(const Problem<float>& problem, View<float> out, const RowStats& stats, const CudaOptions& options,
                 CudaCounters* counters, void* scratch, std::int64_t scratch_bytes, void* stream);

// Statistics of softmax rows alone: for outputs that come from elsewhere. alphas are not read. Pointers, stream and
// errors as attend_cuda's.
std::int64_t softmax_statistics_cuda_scratch_bytes(const Problem<float>& problem);
void softmax_statistics_cuda(const Problem<float>& problem, const RowStats& stats, void* scratch,
                             std::int64_t scratch_bytes, void* stream);

// Bytes of device scratch that attend_cuda_backward needs.
std::int64_t attend_cuda_backward_scratch_bytes(const Problem<float>& problem);

// Gradients as attend_backward's, from the states that attend_cuda kept of the same problem; dout [batches, heads,
// rows, head_size]. Weights are computed again, in O(rows * keys * head_size) time and O(rows) memory; the same inputs
// give the same bits. Pointers, stream and errors as attend_cuda's.
void attend_cuda_backward(const Problem<float>& problem, View<const float> dout, const double* states,
                          const Gradients<float>& gradients, void* scratch, std::int64_t scratch_bytes, void* stream);

}  // namespace lenbench::kernels
