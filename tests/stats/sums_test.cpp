// Tests of stats/sums.h.
#include "stats/sums.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace lenbench {
namespace {

TEST(Sum, LosesNothingOverMillionsOfTerms) {
  const std::vector<float> terms(5'000'000, 0.0005f);
  const double mean = sum(terms) / static_cast<double>(terms.size());
  // 0.0005f is 5.0000002374872565e-4; the mean must be that number, and so within 1e-9 of 0.0005.
  EXPECT_NEAR(mean, 0.0005, 1e-9);
  EXPECT_NEAR(mean, static_cast<double>(0.0005f), 1e-19);
}

TEST(Sum, KeepsSmallTermsBesideLargeOnes) {
  EXPECT_EQ(sum(std::vector<double>{1, 1e100, 1, -1e100}), 2.0);
  EXPECT_EQ(sum(std::vector<double>{1e16, 1, 1, -1e16}), 2.0);
  EXPECT_EQ(sum(std::vector<double>{}), 0.0);
}

TEST(Sum, PassesNonFiniteTermsOn) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum(std::vector<double>{1, infinity, 2}), infinity);
  EXPECT_TRUE(std::isnan(sum(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN(), 2})));
}

}  // namespace
}  // namespace lenbench
