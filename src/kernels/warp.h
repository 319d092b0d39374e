// What a row kernel needs from the 32 lanes that run it, so that one source serves a GPU's warp and a simulation on the
// host. Code is written as loops over lanes; values that differ between lanes live in Lanes<T>.
#pragma once

#ifdef __CUDACC__
#define LENBENCH_LANE_CODE __device__ inline
#else
#define LENBENCH_LANE_CODE inline
#endif

namespace lenbench::kernels {

inline constexpr int kWarpLanes = 32;

// Lanes in a loop, sums and maxima in the order of the GPU's butterfly exchange: the same bits up to the arithmetic
// functions of the two machines.
struct HostWarp {
  template <typename T>
  struct Lanes {
    T value[kWarpLanes] = {};
    T& operator[](int lane) { return value[lane]; }
  };
  template <typename Body>
  static void each(const Body& body) {
    for (int lane = 0; lane < kWarpLanes; ++lane) body(lane);
  }
  template <typename T>
  static T sum(Lanes<T> lanes) {
    return combine(lanes, [](T a, T b) { return a + b; });
  }
  template <typename T>
  static T max(Lanes<T> lanes) {
    return combine(lanes, [](T a, T b) { return a > b ? a : b; });
  }
  template <typename T>
  static T broadcast(const Lanes<T>& lanes, int lane) {
    return lanes.value[lane];
  }

 private:
  template <typename T, typename Operation>
  static T combine(Lanes<T>& lanes, const Operation& operation) {
    for (int offset = kWarpLanes / 2; offset > 0; offset /= 2) {
      const Lanes<T> before = lanes;
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        lanes.value[lane] = operation(before.value[lane], before.value[lane ^ offset]);
      }
    }
    return lanes.value[0];
  }
};

}  // namespace lenbench::kernels
