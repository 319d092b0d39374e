// A request as the kernels room takes it. Letters: B rows of a batch, H query heads, G key/value heads, Q queries, D
// head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <type_traits>

#include "attention/attend.h"
#include "kernels/attention_kernels.h"

namespace lenbench {

// Keeps alive what a kernels::Problem points to; all on the device of the request's tensors.
struct KernelInputs {
  at::Tensor q_BHQD;  // times the score scale
  at::Tensor k_BGKD, v_BGKD;
  at::Tensor visible_BQ;  // int64 [B, Q] or [1, Q]
  at::Tensor slopes_H, alphas_H;
  std::int64_t topk = 0;
};

KernelInputs kernel_inputs(const AttendRequest& request);

at::Tensor unit_channel_stride(const at::Tensor& x);

template <typename T>
kernels::View<T> kernel_view(const at::Tensor& x_BHTD) {
  using Element = std::remove_const_t<T>;
  return {x_BHTD.data_ptr<Element>(), x_BHTD.stride(0), x_BHTD.stride(1), x_BHTD.stride(2)};
}

// T is the type of the inputs.
template <typename T>
kernels::Problem<T> kernel_problem(const KernelInputs& inputs);

// Room for the statistics of every row, and where kernels write them; `top_score` for those who ask for source mass.
struct KernelStatistics {
  RowStatistics rows;
  at::Tensor top_score;
  kernels::RowStats pointers() const;
};
KernelStatistics kernel_statistics(const KernelInputs& inputs, bool with_top_score);

}  // namespace lenbench
