// The streaming path on a CUDA device: entmax and biased softmax heads through our kernels, other softmax heads through
// LibTorch's fused attention with our statistics kernel beside it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "attention/attend.h"
#include "attention/kernel_inputs.h"

namespace lenbench {

// Empty if the CUDA kernels cover a request on a CUDA device that has passed the checks of uncovered_by_streaming
// common to all devices, else the reason: no kernels in this build, adaptive temperature, top-k, another type than
// float32.
std::string uncovered_by_cuda(const AttendRequest& request);

// The request's shapes were checked and uncovered_by_streaming is empty. Adds to request.stats.
at::Tensor attend_cuda(const AttendRequest& request);

// Softmax outputs, on any device: heads without bias by at::scaled_dot_product_attention where row r of `inputs` sees
// exactly the keys 0 .. r of as many, all others by `rest`, which gets a call with those heads alone.
at::Tensor softmax_by_parts(const KernelInputs& inputs, std::span<const double> slopes,
                            const std::function<at::Tensor(const KernelInputs&)>& rest);

// The weight of each row's source key (-1: none, weight 0) from the row's largest score and weight, on any device: both
// transforms are monotone, with p = e^(s - s_top) p_top for softmax and p^(alpha-1) = p_top^(alpha-1) + (alpha-1)(s -
// s_top) for entmax. [B, H, Q], double.
at::Tensor source_mass(const KernelInputs& inputs, const at::Tensor& top_BHQ, const at::Tensor& top_score_BHQ,
                       const at::Tensor& source_keys_BQ);

}  // namespace lenbench
