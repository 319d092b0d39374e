// The streaming forward against the double-precision reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "expect_reference.h"

namespace lenbench::kernels {
namespace {

void expect_matches_reference(TestProblem<float>& test, const StreamingOptions& options = {}, double tolerance = 1e-5) {
  test.stream(options);
  expect_equals_reference(test, tolerance);
}

class StreamingAlpha : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(All, StreamingAlpha, testing::Values(1.0, 1.02, 1.3, 1.5, 1.9, 2.0));

TEST_P(StreamingAlpha, EveryHeadSize) {
  for (const std::int64_t size : {1, 3, 8, 16, 20, 32, 64, 128}) {
    TestProblem<float> test(150, size, GetParam(), 7 + static_cast<std::uint64_t>(size), 2);
    expect_matches_reference(test);
  }
}

TEST_P(StreamingAlpha, LongRowsPeakedAndFlat) {
  for (const double scale : {0.02, 1.0, 4.0}) {
    TestProblem<float> test(700, 16, GetParam(), 3, scale);
    expect_matches_reference(test);
  }
}

TEST_P(StreamingAlpha, GroupedHeadsBatchesAndSlopes) {
  TestProblem<float> test(90, 16, GetParam(), 4, 1.5, 4, 2, 2);
  test.slopes = {1, 0.5f, 0, 0.03f};
  expect_matches_reference(test);
}

TEST_P(StreamingAlpha, AnyVisibleCounts) {
  TestProblem<float> test(300, 20, GetParam(), 5, 2, 2, 1);
  test.slopes = {0.2f, 0};
  std::mt19937_64 bits(9);
  for (std::int64_t& visible : test.visible) visible = static_cast<std::int64_t>(bits() % 301);
  test.visible[3] = 0;
  expect_matches_reference(test);
  for (std::int64_t c = 0; c < 20; ++c) EXPECT_EQ(test.out_row(0, 0, 3)[c], 0);
  EXPECT_EQ(test.support[test.row_index(0, 1, 3)], 0);
  std::fill(test.visible.begin(), test.visible.end(), 0);
  expect_matches_reference(test);
}

TEST_P(StreamingAlpha, FewRowsOfManyKeys) {
  TestProblem<float> test(2000, 16, GetParam(), 6, 3);
  TestProblem<float> last = test;
  last.rows = 3;
  last.q.assign(test.q.end() - 3 * 16, test.q.end());
  last.visible = {1998, 1999, 2000};
  test.stream();
  last.stream();
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 16; ++c) EXPECT_EQ(last.out_row(0, 0, r)[c], test.out_row(0, 0, 1997 + r)[c]);
}

// Scores are q * k with one channel: any row of scores can be written down.
TestProblem<float> scores_problem(const std::vector<float>& scores, double alpha) {
  TestProblem<float> test(1, 1, alpha);
  test.keys = static_cast<std::int64_t>(scores.size());
  test.q = {1};
  test.k = scores;
  const std::vector<double> values = normals(scores.size(), 77);
  test.v.assign(values.begin(), values.end());
  test.visible = {test.keys};
  return test;
}

// Scores in a few narrow heaps, one of them where the threshold comes to lie: a step that reckons with an even spread
// is wrong there.
TEST_P(StreamingAlpha, HeapsOfKeysNearTheThreshold) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    TestProblem<float> test(2048, 8, GetParam(), seed);
    test.rows = 48;
    test.q.assign(static_cast<std::size_t>(test.rows * test.head_size), 0);
    const std::vector<double> jitter = normals(2048, seed, 1e-3), chance = normals(2048, seed + 100);
    for (std::int64_t r = 0; r < test.rows; ++r) {
      test.q[static_cast<std::size_t>(r * test.head_size)] = 1;
      test.visible[static_cast<std::size_t>(r)] = 2048 - 31 * r;
    }
    // Heaps at 0, 0.3 and where a heap of 0.3 ends: the rarer, the higher.
    for (std::size_t j = 0; j < 2048; ++j) {
      const double heap = chance[j] > 1.5 ? 0.3 : chance[j] > 0 ? 0.14 + 0.01 * static_cast<double>(seed) : 0.0;
      test.k[j * 8] = static_cast<float>(heap + jitter[j]);
    }
    test.stream();
    expect_equals_reference(test);
  }
}

TEST_P(StreamingAlpha, HardRows) {
  std::vector<std::vector<float>> rows = {{2}, {1, 1, 1, -9, -9, -9}, {0, -2}, {0, 0, 0, 0, -1, -2, -3}};
  std::vector<float> ladder, spike(3000, 0.0f), two_levels(900, 0.5f), narrow(2000);
  for (int j = 0; j < 60; ++j) ladder.push_back(-std::pow(1.3f, static_cast<float>(j)) * 1e-3f);
  spike[1700] = 5;
  for (std::size_t j = 0; j < 450; ++j) two_levels[2 * j] = 0.501f;
  for (std::size_t j = 0; j < narrow.size(); ++j) narrow[j] = 0.01f * std::sin(static_cast<float>(j));
  rows.insert(rows.end(), {ladder, spike, two_levels, narrow});
  for (const std::vector<float>& row : rows) {
    TestProblem<float> test = scores_problem(row, GetParam());
    expect_matches_reference(test);
  }
}

TEST_P(StreamingAlpha, OffsetsOfTenThousand) {
  for (const float offset : {-1e4f, 1e4f}) {
    std::vector<float> row;
    for (const double s : normals(1500, 12)) row.push_back(static_cast<float>(s) + offset);
    TestProblem<float> test = scores_problem(row, GetParam());
    expect_matches_reference(test);
    EXPECT_TRUE(std::isfinite(test.out[0]));
  }
}

TEST_P(StreamingAlpha, AllEqualUpTo65536) {
  for (const std::int64_t n : {1, 64, 4096, 65536}) {
    for (const bool duplicates : {false, true}) {
      TestProblem<float> test = scores_problem(std::vector<float>(static_cast<std::size_t>(n), 0.3f), GetParam());
      test.v.assign(test.k.size(), 2.5f);
      StreamingOptions options;
      options.duplicates = duplicates;
      test.stream(options);
      EXPECT_NEAR(test.entropy[0], std::log(static_cast<double>(n)),
                  1e-5 * std::max(1.0, std::log(static_cast<double>(n))));
      EXPECT_EQ(test.support[0], n);
      EXPECT_NEAR(test.out[0], 2.5, 2.5e-5);
      EXPECT_NEAR(test.sink[0] * static_cast<double>(n), 1, 1e-5);
    }
  }
}

TEST_P(StreamingAlpha, NonFiniteInputsAreNotSilent) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (int which = 0; which < 3; ++which) {
      TestProblem<float> test(100, 16, GetParam());
      std::vector<float>& tensor = which == 0 ? test.q : which == 1 ? test.k : test.v;
      tensor[40 * 16 + 5] = bad;
      test.stream();
      for (std::int64_t r = 0; r < 100; ++r) {
        const bool hit = which == 0 ? r == 40 : r >= 40;
        EXPECT_EQ(std::isnan(test.out_row(0, 0, r)[0]), hit) << r;
        EXPECT_EQ(std::isnan(test.entropy[static_cast<std::size_t>(r)]), hit) << r;
      }
    }
  }
}

TEST(Streaming, RefusesWhatTheContractForbids) {
  TestProblem<float> test(10, 16, 1.5);
  const auto refuses = [](TestProblem<float> changed) { EXPECT_THROW(changed.stream(), std::invalid_argument); };
  TestProblem<float> changed = test;
  changed.alphas = {2.5f};
  refuses(changed);
  changed = test;
  changed.visible[4] = 11;
  refuses(changed);
  changed = test;
  changed.slopes = {-1};
  refuses(changed);
  changed = test;
  changed.threads = 0;
  refuses(changed);
}

}  // namespace
}  // namespace lenbench::kernels
