// How work is spread over warps. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/cuda/warp.h"

namespace lenbench::kernels {

inline constexpr int kWarpsPerBlock = 4;

// Items 0 .. count - 1 for `warps` warps, which take them in turn.
struct Items {
  std::int64_t count, warps;
};

inline unsigned blocks_of(std::int64_t warps) {
  return static_cast<unsigned>((warps + kWarpsPerBlock - 1) / kWarpsPerBlock);
}

// Calls body(item, warp) for this warp's items. Warps beyond the wanted number do nothing.
template <typename Body>
__device__ void for_items(Items items, const Body& body) {
  const std::int64_t warp = static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kWarpLanes;
  if (warp >= items.warps) return;
  for (std::int64_t item = warp; item < items.count; item += items.warps) body(item, warp);
}

// Throws when a launch since the last call was refused.
inline void require_launched(const char* who) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw std::runtime_error(std::string(who) + ": " + cudaGetErrorString(error));
}

}  // namespace lenbench::kernels
