// The one matrix product of the kernels: register blocks of C[m][lanes] (+)= sum_k A[m][k] * B[k][lanes].
#pragma once

#include "kernels/simd.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// A[m][k] at a[m * a_row + k * a_step]. Every element is one chain of additions in the order of k, so a value does not
// depend on the block it was computed in.
template <typename T>
struct Left {
  const T* data;
  std::int64_t row, step;
};

template <typename T, int kRows, int kVectors>
inline void multiply_block(std::int64_t depth, const Left<T>& a, const T* b, std::int64_t b_stride,
                           Vec<T> (&sums)[kRows][kVectors]) {
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec<T> right[kVectors];
#pragma GCC unroll 4
    for (int n = 0; n < kVectors; ++n) right[n] = load<T>(b + k * b_stride + n * kLanes<T>);
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) {
      const Vec<T> left = splat<T>(a.data[m * a.row + k * a.step]);
#pragma GCC unroll 4
      for (int n = 0; n < kVectors; ++n) sums[m][n] += left * right[n];
    }
  }
}

template <typename T, int kRows, int kVectors>
inline void multiply_store(std::int64_t depth, const Left<T>& a, const T* b, std::int64_t b_stride, T* c,
                           std::int64_t c_stride, bool accumulate) {
  Vec<T> sums[kRows][kVectors] = {};
  multiply_block<T, kRows, kVectors>(depth, a, b, b_stride, sums);
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < kVectors; ++n) {
      T* to = c + m * c_stride + n * kLanes<T>;
      store<T>(to, accumulate ? load<T>(to) + sums[m][n] : sums[m][n]);
    }
  }
}

// Not inlined: it is called from many places and is long.
template <typename T, int kVectors>
[[gnu::noinline]] void multiply_panel(std::int64_t rows, std::int64_t depth, Left<T> a, const T* b,
                                      std::int64_t b_stride, T* c, std::int64_t c_stride, bool accumulate) {
  const auto step = [&](std::int64_t done) {
    a.data += done * a.row;
    c += done * c_stride;
    rows -= done;
  };
  // A block of two rows would wait for its own sums, so 32 is taken as 4 * 6 + 2 * 4.
  for (; rows >= kBlock && !(kBlock == 6 && rows == 8); step(kBlock))
    multiply_store<T, kBlock, kVectors>(depth, a, b, b_stride, c, c_stride, accumulate);
  if constexpr (kBlock > 8) {
    if (rows >= 8) multiply_store<T, 8, kVectors>(depth, a, b, b_stride, c, c_stride, accumulate), step(8);
  }
  while (rows >= 4) multiply_store<T, 4, kVectors>(depth, a, b, b_stride, c, c_stride, accumulate), step(4);
  if (rows >= 2) multiply_store<T, 2, kVectors>(depth, a, b, b_stride, c, c_stride, accumulate), step(2);
  if (rows >= 1) multiply_store<T, 1, kVectors>(depth, a, b, b_stride, c, c_stride, accumulate);
}

// C[rows][columns] (+)= A * B with `columns` a multiple of one vector.
template <typename T>
inline void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, const Left<T>& a, const T* b,
                     std::int64_t b_stride, T* c, std::int64_t c_stride, bool accumulate) {
  std::int64_t n = 0;
  for (; n + 2 * kLanes<T> <= columns; n += 2 * kLanes<T>)
    multiply_panel<T, 2>(rows, depth, a, b + n, b_stride, c + n, c_stride, accumulate);
  if (n < columns) multiply_panel<T, 1>(rows, depth, a, b + n, b_stride, c + n, c_stride, accumulate);
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
