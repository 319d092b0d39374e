// Launches the backward kernels: rows first, then keys and the sums of heads.
#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/device_warp.h"
#include "kernels/cuda/gradient_items.h"
#include "kernels/cuda/launch.h"

namespace lenbench::kernels {
namespace {

__global__ void query_gradients(GradientCall call, Items items) {
  for_items(items, [&](std::int64_t item, std::int64_t) { query_gradient_item<DeviceWarp>(call, item); });
}

__global__ void key_gradients(GradientCall call, Items items) {
  for_items(items, [&](std::int64_t item, std::int64_t) { key_gradient_item<DeviceWarp>(call, item); });
}

__global__ void head_sums(GradientCall call, Items items) {
  for_items(items, [&](std::int64_t item, std::int64_t) { share_item<DeviceWarp>(call, item); });
}

std::int64_t num_rows(const Problem<float>& problem) { return problem.batches * problem.heads * problem.rows; }

template <typename Kernel>
void launch(Kernel kernel, const GradientCall& call, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  const std::int64_t warps = std::min<std::int64_t>(count, 1 << 16);
  kernel<<<blocks_of(warps), kWarpsPerBlock * kWarpLanes, 0, stream>>>(call, Items{count, warps});
}

}  // namespace

std::int64_t attend_cuda_backward_scratch_bytes(const Problem<float>& problem) {
  return std::max<std::int64_t>(1, 3 * num_rows(problem)) * static_cast<std::int64_t>(sizeof(double));
}

void attend_cuda_backward(const Problem<float>& problem, View<const float> dout, const double* states,
                          const Gradients<float>& gradients, void* scratch, std::int64_t scratch_bytes, void* stream) {
  if (scratch_bytes < attend_cuda_backward_scratch_bytes(problem)) {
    throw std::invalid_argument("attend_cuda_backward: the scratch has " + std::to_string(scratch_bytes) + " of " +
                                std::to_string(attend_cuda_backward_scratch_bytes(problem)) + " bytes");
  }
  GradientCall call;
  call.problem = problem;
  call.dout = dout;
  call.states = states;
  call.to = gradients;
  call.deltas = static_cast<double*>(scratch);
  if (gradients.dslopes) call.slope_shares = call.deltas + num_rows(problem);
  if (gradients.dalphas) call.alpha_shares = call.deltas + 2 * num_rows(problem);
  auto* const on = static_cast<cudaStream_t>(stream);
  launch(query_gradients, call, num_rows(problem), on);
  launch(key_gradients, call, problem.batches * problem.kv_heads * problem.keys, on);
  launch(head_sums, call, problem.heads, on);
  require_launched("attend_cuda_backward");
}

}  // namespace lenbench::kernels
