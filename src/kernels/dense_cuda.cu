// Launches the dense row kernel: one warp a row, longest rows first.
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/dense_cuda.h"
#include "kernels/dense_row.h"

namespace lenbench::kernels {
namespace {

constexpr int kWarpsPerBlock = 4;
constexpr std::int64_t kMostWarps = 4096;                      // enough to fill a large device several times
constexpr std::int64_t kScratchLimit = std::int64_t{1} << 29;  // bytes of scores held at once, if rows are not longer

struct CudaWarp {
  template <typename T>
  struct Lanes {
    T value = {};
    __device__ T& operator[](int) { return value; }
  };
  template <typename Body>
  __device__ static void each(const Body& body) {
    body(static_cast<int>(threadIdx.x % kWarpLanes));
    __syncwarp();
  }
  template <typename T>
  __device__ static T sum(Lanes<T> lanes) {
    for (int offset = kWarpLanes / 2; offset > 0; offset /= 2) {
      lanes.value += __shfl_xor_sync(~0U, lanes.value, offset);
    }
    return lanes.value;
  }
  template <typename T>
  __device__ static T max(Lanes<T> lanes) {
    for (int offset = kWarpLanes / 2; offset > 0; offset /= 2) {
      const T other = __shfl_xor_sync(~0U, lanes.value, offset);
      lanes.value = lanes.value > other ? lanes.value : other;
    }
    return lanes.value;
  }
  template <typename T>
  __device__ static T broadcast(const Lanes<T>& lanes, int lane) {
    return __shfl_sync(~0U, lanes.value, lane);
  }
};

__global__ void dense_rows(Problem<float> problem, View<float> out, RowStats stats, float* scratch,
                           std::int64_t scratch_stride, std::int64_t num_warps) {
  const std::int64_t warp = static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kWarpLanes;
  if (warp >= num_warps) return;
  const std::int64_t heads = problem.batches * problem.heads, items = heads * problem.rows;
  for (std::int64_t item = warp; item < items; item += num_warps) {
    const std::int64_t r = problem.rows - 1 - item / heads, b = item % heads / problem.heads;
    const std::int64_t h = item % problem.heads, kv_head = h / (problem.heads / problem.kv_heads);
    const std::int64_t at = (b * problem.heads + h) * problem.rows + r;
    DenseRow row;
    row.q = problem.q.data + b * problem.q.batch_stride + h * problem.q.head_stride + r * problem.q.token_stride;
    row.k = problem.k.data + b * problem.k.batch_stride + kv_head * problem.k.head_stride;
    row.v = problem.v.data + b * problem.v.batch_stride + kv_head * problem.v.head_stride;
    row.k_stride = problem.k.token_stride;
    row.v_stride = problem.v.token_stride;
    row.visible = problem.visible[b * problem.visible_batch_stride + r];
    row.head_size = problem.head_size;
    row.alpha = static_cast<double>(problem.alphas[h]);
    row.slope = problem.slopes ? static_cast<double>(problem.slopes[h]) : 0;
    row.scores = scratch + warp * scratch_stride;
    row.out = out.data + b * out.batch_stride + h * out.head_stride + r * out.token_stride;
    row.entropy = stats.entropy ? stats.entropy + at : nullptr;
    row.sink = stats.sink ? stats.sink + at : nullptr;
    row.top = stats.top ? stats.top + at : nullptr;
    row.top_score = stats.top_score ? stats.top_score + at : nullptr;
    row.support = stats.support ? stats.support + at : nullptr;
    dense_row<CudaWarp>(row);
  }
}

std::int64_t row_bytes(const Problem<float>& problem) {
  return std::max<std::int64_t>(1, problem.keys) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

std::string cuda_unavailable() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count > 0 ? "" : "there is no CUDA device";
}

std::int64_t dense_cuda_scratch_bytes(const Problem<float>& problem) {
  const std::int64_t items = std::max<std::int64_t>(1, problem.batches * problem.heads * problem.rows);
  const std::int64_t fitting = std::max<std::int64_t>(1, kScratchLimit / row_bytes(problem));
  return std::min({items, fitting, kMostWarps}) * row_bytes(problem);
}

void attend_dense_cuda(const Problem<float>& problem, View<float> out, const RowStats& stats, void* scratch,
                       std::int64_t scratch_bytes, void* stream) {
  if (problem.batches == 0 || problem.rows == 0) return;
  const std::int64_t warps = std::min(scratch_bytes / row_bytes(problem), kMostWarps);
  if (warps < 1) throw std::invalid_argument("attend_dense_cuda: the scratch holds less than one row of scores");
  const auto blocks = static_cast<unsigned>((warps + kWarpsPerBlock - 1) / kWarpsPerBlock);
  dense_rows<<<blocks, kWarpsPerBlock * kWarpLanes, 0, static_cast<cudaStream_t>(stream)>>>(
      problem, out, stats, static_cast<float*>(scratch), std::max<std::int64_t>(1, problem.keys), warps);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw std::runtime_error(std::string("attend_dense_cuda: ") + cudaGetErrorString(error));
}

}  // namespace lenbench::kernels
