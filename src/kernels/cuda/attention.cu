// Launches the attention kernels: keys are prepared, entmax rows screened, and what is left goes to the dense kernel.
#include "kernels/cuda/attention.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/attention_items.h"
#include "kernels/cuda/device_warp.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/softmax_statistics.h"

namespace lenbench::kernels {
namespace {

constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
constexpr std::int64_t kMostWarps = 4096;                      // enough to fill a large device
constexpr std::int64_t kScratchLimit = std::int64_t{1} << 29;  // bytes of lists or scores at once, if one fits

static_assert(sizeof(ScreenCounters) == sizeof(CudaCounters), "CudaCounters shows ScreenCounters to callers");

__global__ void start_summaries(KeySummary* summaries, std::int64_t groups, std::int32_t keys) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < groups) summaries[i] = {0, keys};
}

__global__ void prepare_keys(AttentionCall call, Items items) {
  for_items(items, [&](std::int64_t item, std::int64_t) { key_item<DeviceWarp>(call, item); });
}

template <int kSteps>
__global__ void __launch_bounds__(kWarpsPerBlock* kWarpLanes)
    screen_rows(AttentionCall call, Items items, std::int32_t* list_keys, float* list_scores) {
  const std::int64_t stride = static_cast<std::int64_t>(kScreenRows + 1) * call.capacity;
  for_items(items, [&](std::int64_t item, std::int64_t warp) {
    screened_item<DeviceWarp, kSteps>(call, item, list_keys + warp * stride, list_scores + warp * stride);
  });
}

__global__ void dense_rows(AttentionCall call, Items items, float* scores) {
  const std::int64_t stride = call.problem.keys;
  for_items(items,
            [&](std::int64_t item, std::int64_t warp) { dense_item<DeviceWarp>(call, item, scores + warp * stride); });
}

__global__ void softmax_statistics(AttentionCall call, Items items) {
  for_items(items, [&](std::int64_t item, std::int64_t) { statistics_item<DeviceWarp>(call, item); });
}

// Pieces of the scratch, each aligned to 256 bytes.
struct Layout {
  std::int64_t summaries = 0, columns = 0, flags = 0, lists = 0, total = 0;  // lists: also the dense rows' scores
  std::int64_t screen_warps = 0, dense_warps = 0;
  int steps = 0;
};

std::int64_t list_bytes(const CudaOptions& options) {
  return static_cast<std::int64_t>(kScreenRows + 1) * options.capacity * 8;
}

Layout layout_of(const Problem<float>& problem, const CudaOptions& options) {
  Layout layout;
  layout.steps = options.screen ? screen_steps(problem.head_size) : 0;
  const std::int64_t groups = problem.batches * problem.kv_heads, rows = problem.batches * problem.heads * problem.rows;
  const auto aligned = [](std::int64_t bytes) { return (bytes + 255) / 256 * 256; };
  layout.columns = aligned(groups * static_cast<std::int64_t>(sizeof(KeySummary)));
  layout.flags = layout.columns + aligned(groups * problem.keys * layout.steps * 32);
  layout.lists = layout.flags + aligned(rows);
  const auto warps = [](std::int64_t items, std::int64_t bytes) {
    return std::max<std::int64_t>(1, std::min({items, kMostWarps, kScratchLimit / bytes}));
  };
  const std::int64_t score_bytes = std::max<std::int64_t>(1, problem.keys) * 4;
  layout.dense_warps = warps(rows, score_bytes);
  std::int64_t work = layout.dense_warps * score_bytes;
  if (layout.steps > 0) {
    layout.screen_warps = warps(problem.batches * problem.heads * screen_tiles_of(problem.rows), list_bytes(options));
    work = std::max(work, layout.screen_warps * list_bytes(options));
  }
  layout.total = layout.lists + work;
  return layout;
}

template <typename... Arguments>
void launch_screen(int steps, std::int64_t warps, cudaStream_t stream, Arguments... arguments) {
  const unsigned blocks = blocks_of(warps);
  switch (steps) {
    case 2:
      return screen_rows<2><<<blocks, kThreads, 0, stream>>>(arguments...);
    case 3:
      return screen_rows<3><<<blocks, kThreads, 0, stream>>>(arguments...);
    case 5:
      return screen_rows<5><<<blocks, kThreads, 0, stream>>>(arguments...);
    case 9:
      return screen_rows<9><<<blocks, kThreads, 0, stream>>>(arguments...);
    default:
      throw std::logic_error("attend_cuda: no screen of " + std::to_string(steps) + " steps");
  }
}

void check_keys(const Problem<float>& problem) {
  if (problem.keys < std::int64_t{1} << 24) return;
  throw std::invalid_argument("attention on CUDA: at most 2^24 - 1 keys: positions are exact in fp32 up to there");
}

void check_scratch(std::int64_t given, std::int64_t needed) {
  if (given >= needed) return;
  throw std::invalid_argument("attention on CUDA: the scratch has " + std::to_string(given) + " of " +
                              std::to_string(needed) + " bytes");
}

// Fills call.summaries and call.columns.
void summarise_keys(const AttentionCall& call, cudaStream_t stream) {
  const Problem<float>& problem = call.problem;
  const std::int64_t groups = problem.batches * problem.kv_heads, items = groups * problem.keys;
  const auto blocks = static_cast<unsigned>((groups + kThreads - 1) / kThreads);
  start_summaries<<<blocks, kThreads, 0, stream>>>(call.summaries, groups, static_cast<std::int32_t>(problem.keys));
  if (items == 0) return;
  const std::int64_t warps = std::min(items, 4 * kMostWarps);
  prepare_keys<<<blocks_of(warps), kThreads, 0, stream>>>(call, Items{items, warps});
}

}  // namespace

std::string cuda_unavailable() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count > 0 ? "" : "there is no CUDA device";
}

std::int64_t attend_cuda_scratch_bytes(const Problem<float>& problem, const CudaOptions& options) {
  return layout_of(problem, options).total;
}

void attend_cuda(const Problem<float>& problem, View<float> out, const RowStats& stats, const CudaOptions& options,
                 CudaCounters* counters, void* scratch, std::int64_t scratch_bytes, void* stream) {
  if (options.capacity < 2 * kScreenKeys || options.capacity > 4096 ||
      (options.capacity & (options.capacity - 1)) != 0) {
    throw std::invalid_argument("attend_cuda: the capacity must be a power of two in [128, 4096]");
  }
  check_keys(problem);
  if (problem.batches == 0 || problem.rows == 0) return;
  const Layout layout = layout_of(problem, options);
  check_scratch(scratch_bytes, layout.total);
  auto* bytes = static_cast<char*>(scratch);
  AttentionCall call;
  call.problem = problem;
  call.out = out;
  call.stats = stats;
  call.states = options.states;
  call.summaries = reinterpret_cast<KeySummary*>(bytes);
  call.columns = reinterpret_cast<std::uint32_t*>(bytes + layout.columns);
  call.steps = layout.steps;
  call.dense_rows = reinterpret_cast<std::uint8_t*>(bytes + layout.flags);
  call.counters = reinterpret_cast<ScreenCounters*>(counters);
  call.capacity = options.capacity;
  char* lists = bytes + layout.lists;
  auto* const on = static_cast<cudaStream_t>(stream);
  const std::int64_t heads = problem.batches * problem.heads;
  summarise_keys(call, on);
  if (layout.steps > 0) {
    const std::int64_t items = heads * screen_tiles_of(problem.rows);
    auto* scores = reinterpret_cast<float*>(lists + layout.screen_warps * list_bytes(options) / 2);
    launch_screen(layout.steps, layout.screen_warps, on, call, Items{items, layout.screen_warps},
                  reinterpret_cast<std::int32_t*>(lists), scores);
  }
  dense_rows<<<blocks_of(layout.dense_warps), kThreads, 0, on>>>(call, Items{heads * problem.rows, layout.dense_warps},
                                                                 reinterpret_cast<float*>(lists));
  require_launched("attend_cuda");
}

std::int64_t softmax_statistics_cuda_scratch_bytes(const Problem<float>& problem) {
  const std::int64_t groups = std::max<std::int64_t>(1, problem.batches * problem.kv_heads);
  return groups * static_cast<std::int64_t>(sizeof(KeySummary));
}

void softmax_statistics_cuda(const Problem<float>& problem, const RowStats& stats, void* scratch,
                             std::int64_t scratch_bytes, void* stream) {
  check_keys(problem);
  if (problem.batches == 0 || problem.rows == 0) return;
  check_scratch(scratch_bytes, softmax_statistics_cuda_scratch_bytes(problem));
  AttentionCall call;
  call.problem = problem;
  call.stats = stats;
  call.summaries = static_cast<KeySummary*>(scratch);
  auto* const on = static_cast<cudaStream_t>(stream);
  summarise_keys(call, on);
  const std::int64_t items = problem.batches * problem.heads * statistics_tiles_of(problem.rows);
  const std::int64_t warps = std::min(items, 4 * kMostWarps);
  softmax_statistics<<<blocks_of(warps), kThreads, 0, on>>>(call, Items{items, warps});
  require_launched("softmax_statistics_cuda");
}

}  // namespace lenbench::kernels
