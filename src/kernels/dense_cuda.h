// The dense row kernel on a CUDA device. No CUDA header is needed to call it.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/attention_kernels.h"

namespace lenbench::kernels {

// Empty when this process can use a CUDA device, else why not.
std::string cuda_unavailable();

// Bytes of device scratch that attend_dense_cuda wants: a row of scores for each warp that runs at once, fewer warps
// for longer rows, but at least one row.
std::int64_t dense_cuda_scratch_bytes(const Problem<float>& problem);

// As attend_streaming (softmax and alpha-entmax, ALiBi slopes, grouped heads, statistics), with every pointer of
// `problem`, `out` and `stats` in device memory; `threads` is not read, and the caller answers for alphas, slopes and
// visible counts, which are not checked. Returns before the work is done: it runs on `stream` (a cudaStream_t; null:
// the default stream). Throws std::invalid_argument when `scratch_bytes` is below one row of scores, std::runtime_error
// with CUDA's words when the launch is refused.
void attend_dense_cuda(const Problem<float>& problem, View<float> out, const RowStats& stats, void* scratch,
                       std::int64_t scratch_bytes, void* stream);

}  // namespace lenbench::kernels
