// What a kernel needs from the 32 lanes of a warp, so that one source serves a GPU and a simulation on the host. Code
// is written as loops over lanes; values that differ between lanes live in Lanes<T>, all others are the same in every
// lane.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define LENBENCH_LANE_CODE __device__ inline
#define LENBENCH_BIT_CODE __host__ __device__ inline
// A real call: for long code in several places, which would cost registers where it is rare.
#define LENBENCH_LANE_CALL __device__ __noinline__ inline
#define LENBENCH_UNROLL _Pragma("unroll")
#else
#define LENBENCH_LANE_CODE inline
#define LENBENCH_LANE_CALL inline
#define LENBENCH_UNROLL
#define LENBENCH_BIT_CODE inline
#endif

namespace lenbench::kernels {

inline constexpr int kWarpLanes = 32;

// Operands of one product of tensor cores, [16 x 16] times [16 x 8] of bfloat16 added to fp32 (PTX mma.m16n8k16), as a
// lane holds them: with g = lane / 4 and t = lane % 4
//   a[0], a[2]  row g     of A, columns 2t, 2t+1 and 2t+8, 2t+9, the lower column in the lower half of the word
//   a[1], a[3]  row g + 8 of A, likewise
//   b[0], b[1]  column g of B, rows 2t, 2t+1 and 2t+8, 2t+9
//   c[0..1]     row g of C, columns 2t, 2t+1;  c[2..3]  row g + 8
struct ProductA {
  std::uint32_t words[4];
};
struct ProductB {
  std::uint32_t words[2];
};
struct ProductC {
  float values[4];
};
struct FourWords {
  std::uint32_t words[4];
};

// bfloat16 is the upper half of a float's bits.
LENBENCH_BIT_CODE std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
LENBENCH_BIT_CODE float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}
LENBENCH_BIT_CODE float float_of_bfloat16(std::uint32_t half) { return float_of(half << 16); }

// Lanes in a loop, sums and maxima in the order of the GPU's butterfly exchange: the same bits up to the arithmetic
// functions of the two machines.
struct HostWarp {
  template <typename T>
  struct Lanes {
    T value[kWarpLanes] = {};
    T& operator[](int lane) { return value[lane]; }
    const T& operator[](int lane) const { return value[lane]; }
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
  // Bit l is set where lane l holds true.
  static std::uint32_t ballot(const Lanes<bool>& lanes) {
    std::uint32_t mask = 0;
    for (int lane = 0; lane < kWarpLanes; ++lane) mask |= static_cast<std::uint32_t>(lanes.value[lane]) << lane;
    return mask;
  }
  static std::uint32_t any_bits(const Lanes<std::uint32_t>& lanes) {
    std::uint32_t all = 0;
    for (const std::uint32_t bits : lanes.value) all |= bits;
    return all;
  }
  static int count_bits(std::uint32_t bits) { return __builtin_popcount(bits); }
  static int lowest_bit(std::uint32_t bits) { return __builtin_ctz(bits); }
  static FourWords load_four(const std::uint32_t* from) {
    FourWords words;
    std::memcpy(&words, from, sizeof(words));
    return words;
  }
  static void raise(std::int32_t* value, std::int32_t to) { *value = *value > to ? *value : to; }
  static void lower(std::int32_t* value, std::int32_t to) { *value = *value < to ? *value : to; }
  static void count(unsigned long long* counter, unsigned long long by) {
    if (counter) *counter += by;
  }

  // How far from the exact sum a product may end: this many times 2^-23 of the sum of the terms' magnitudes, in the
  // direction of the sign. screen.h allows a device 17; tests set both ends.
  static inline double product_error = 0;
  static void multiply(Lanes<ProductC>& c, const Lanes<ProductA>& a, const Lanes<ProductB>& b) {
    const auto half = [](std::uint32_t word, int which) {
      return static_cast<double>(float_of_bfloat16(which ? word >> 16 : word & 0xffff));
    };
    double left[16][16], right[16][8];
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int word = 0; word < 4; ++word) {
        for (int e = 0; e < 2; ++e) {
          left[g + 8 * (word % 2)][2 * t + e + 8 * (word / 2)] = half(a.value[lane].words[word], e);
          if (word < 2) right[2 * t + e + 8 * word][g] = half(b.value[lane].words[word], e);
        }
      }
    }
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
        auto sum = static_cast<double>(c.value[lane].values[i]);
        double magnitude = std::abs(sum);
        for (int n = 0; n < 16; ++n) {
          const double term = left[row][n] * right[n][column];
          sum += term;
          magnitude += std::abs(term);
        }
        c.value[lane].values[i] = static_cast<float>(sum + product_error * 0x1p-23 * magnitude);
      }
    }
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
