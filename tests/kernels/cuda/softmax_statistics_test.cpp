// The softmax statistics kernel with its 32 lanes simulated on the host: the same source that runs on a GPU.
#include "kernels/cuda/softmax_statistics.h"

#include <gtest/gtest.h>

#include <limits>

#include "../expect_reference.h"

namespace lenbench::kernels {
namespace {

void run_statistics(TestProblem<float>& test) {
  AttentionCall call;
  call.problem = test.problem();
  call.stats = test.stats();
  std::vector<KeySummary> summaries(static_cast<std::size_t>(test.batches * test.kv_heads),
                                    KeySummary{0, static_cast<std::int32_t>(test.keys)});
  call.summaries = summaries.data();
  const std::int64_t keys = test.batches * test.kv_heads * test.keys;
  for (std::int64_t item = 0; item < keys; ++item) key_item<HostWarp>(call, item);
  for (std::int64_t item = 0; item < test.batches * test.heads * statistics_tiles_of(test.rows); ++item)
    statistics_item<HostWarp>(call, item);
}

// The outputs, which the kernel leaves alone, come from the CPU's own.
void expect_statistics(TestProblem<float>& test) {
  test.stream();
  test.entropy.assign(test.entropy.size(), -7);
  test.sink = test.top = test.top_score = test.entropy;
  test.support.assign(test.support.size(), -7);
  run_statistics(test);
  expect_equals_reference(test);
}

TEST(SoftmaxStatistics, AgreeWithTheReference) {
  for (const std::int64_t size : {1, 20, 64, 160}) {
    for (const double scale : {0.0, 0.02, 2.0, 20.0}) {
      TestProblem<float> test(130, size, 1, 7, scale);
      expect_statistics(test);
    }
  }
}

TEST(SoftmaxStatistics, BiasesGroupsBatchesAndRowsOfAnyLength) {
  TestProblem<float> test(61, 16, 1, 4, 1.5, 4, 2, 2);
  test.slopes = {1, 0.5F, 0, 0.03F};
  test.visible[3] = 0;
  test.visible[10] = 61;
  expect_statistics(test);
}

TEST(SoftmaxStatistics, HoldAtLargeOffsets) {
  for (const float offset : {1e4F, -1e4F}) {
    TestProblem<float> test(200, 8, 1, 12, 2);
    for (std::int64_t j = 0; j < 200; ++j) test.k[static_cast<std::size_t>(j * 8)] = 1;
    for (std::int64_t r = 0; r < 200; ++r) test.q[static_cast<std::size_t>(r * 8)] = offset;
    TestProblem<float> near = test;
    for (std::int64_t r = 0; r < 200; ++r) near.q[static_cast<std::size_t>(r * 8)] = 0;
    run_statistics(test);
    run_statistics(near);
    // Scores near 10,000 are 2^-10 apart.
    for (std::size_t r = 0; r < 200; ++r) EXPECT_NEAR(test.entropy[r], near.entropy[r], 5e-3) << r;
  }
}

TEST(SoftmaxStatistics, NonFiniteInputsReachTheirRowsOnly) {
  for (const int where : {0, 1, 2}) {
    TestProblem<float> test(40, 8, 1, 9);
    (where == 0 ? test.q : where == 1 ? test.k : test.v)[25 * 8 + 3] = std::numeric_limits<float>::quiet_NaN();
    run_statistics(test);
    for (std::size_t r = 0; r < 40; ++r) {
      const bool bad = where == 0 ? r == 25 : r >= 25;
      EXPECT_EQ(std::isnan(test.entropy[r]), bad) << where << " " << r;
      EXPECT_EQ(test.support[r] == -1, bad) << where << " " << r;
    }
  }
}

}  // namespace
}  // namespace lenbench::kernels
