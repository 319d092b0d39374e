// The 32 lanes of a real warp (warp.h). For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/cuda/warp.h"

namespace lenbench::kernels {

struct DeviceWarp {
  template <typename T>
  struct Lanes {
    T value = {};
    __device__ T& operator[](int) { return value; }
    __device__ const T& operator[](int) const { return value; }
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
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(__shfl_sync(~0U, reinterpret_cast<unsigned long long>(lanes.value), lane));
    } else {
      return __shfl_sync(~0U, lanes.value, lane);
    }
  }
  __device__ static std::uint32_t ballot(const Lanes<bool>& lanes) { return __ballot_sync(~0U, lanes.value); }
  __device__ static std::uint32_t any_bits(const Lanes<std::uint32_t>& lanes) {
    return __reduce_or_sync(~0U, lanes.value);
  }
  __device__ static int count_bits(std::uint32_t bits) { return __popc(bits); }
  __device__ static int lowest_bit(std::uint32_t bits) { return __ffs(static_cast<int>(bits)) - 1; }
  // Aligned to 16 bytes.
  __device__ static FourWords load_four(const std::uint32_t* from) {
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    return {{words.x, words.y, words.z, words.w}};
  }
  // Called by one lane.
  __device__ static void raise(std::int32_t* value, std::int32_t to) { atomicMax(value, to); }
  __device__ static void lower(std::int32_t* value, std::int32_t to) { atomicMin(value, to); }
  // Called by all lanes.
  __device__ static void count(unsigned long long* counter, unsigned long long by) {
    if (counter && threadIdx.x % kWarpLanes == 0) atomicAdd(counter, by);
  }
  __device__ static void multiply(Lanes<ProductC>& c, const Lanes<ProductA>& a, const Lanes<ProductB>& b) {
    float* sum = c.value.values;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.value.words[0]), "r"(a.value.words[1]), "r"(a.value.words[2]), "r"(a.value.words[3]),
          "r"(b.value.words[0]), "r"(b.value.words[1]));
  }
};

}  // namespace lenbench::kernels
