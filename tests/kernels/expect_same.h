// Compares what two calls wrote, bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "heads.h"

namespace lenbench::kernels {

template <typename T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0);
}

inline void expect_same_results(const TestProblem<float>& a, const TestProblem<float>& b) {
  expect_same_bits(a.out, b.out);
  expect_same_bits(a.entropy, b.entropy);
  expect_same_bits(a.support, b.support);
  expect_same_bits(a.sink, b.sink);
  expect_same_bits(a.top, b.top);
}

}  // namespace lenbench::kernels
