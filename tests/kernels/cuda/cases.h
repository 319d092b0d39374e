// Problems that the CUDA kernels must solve, on a device and simulated.
#pragma once

#include <limits>

#include "../expect_reference.h"

namespace lenbench::kernels {

// `run` writes outputs and statistics of a problem.
template <class Run>
void check_cases(const Run& run) {
  for (const double alpha : {1.0, 1.02, 1.3, 1.5, 1.9, 2.0}) {
    SCOPED_TRACE(alpha);
    for (const std::int64_t size : {1, 20, 32, 64, 130, 160}) {
      TestProblem<float> test(70, size, alpha, 7 + static_cast<std::uint64_t>(size), 2);
      run(test);
      expect_equals_reference(test);
    }
    for (const double scale : {0.0, 0.02, 4.0}) {
      TestProblem<float> test(300, 16, alpha, 3, scale);
      run(test);
      expect_equals_reference(test);
    }
    TestProblem<float> grouped(60, 16, alpha, 4, 1.5, 4, 2, 2);
    grouped.slopes = {1, 0.5F, 0, 0.03F};
    grouped.visible[3] = 0;
    grouped.visible[10] = 60;
    run(grouped);
    expect_equals_reference(grouped);
  }
}

// A row that sees a non-finite key or value is NaN, earlier rows are not.
template <class Run>
void check_nonfinite(const Run& run) {
  for (const bool in_value : {false, true}) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      TestProblem<float> test(40, 8, 1.5, 9);
      (in_value ? test.v : test.k)[25 * 8 + 3] = bad;
      run(test);
      for (std::int64_t r = 0; r < 40; ++r) {
        const std::size_t at = test.row_index(0, 0, r);
        EXPECT_EQ(std::isnan(test.out_row(0, 0, r)[0]), r >= 25) << r;
        EXPECT_EQ(std::isnan(test.entropy[at]), r >= 25) << r;
        EXPECT_EQ(test.support[at] == -1, r >= 25) << r;
      }
    }
  }
}

}  // namespace lenbench::kernels
