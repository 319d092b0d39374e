// Tests of stats/tests.h. Expected p-values are sums of binomial coefficients over powers of two.
#include "stats/tests.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace lenbench {
namespace {

TEST(McNemar, AgreesWithBinomialSums) {
  // (C(12,0) + C(12,1) + C(12,2)) / 2^12 = 79/4096.
  EXPECT_NEAR(mcnemar_exact(10, 2), 2 * 79.0 / 4096, 1e-14);
  EXPECT_NEAR(mcnemar_exact(2, 10), 2 * 79.0 / 4096, 1e-14);
  EXPECT_NEAR(mcnemar_exact_worse(10, 2), 79.0 / 4096, 1e-14);
  EXPECT_NEAR(mcnemar_exact_worse(2, 10), 1 - 13.0 / 4096, 1e-14);
  EXPECT_NEAR(mcnemar_exact(5, 0), 2.0 / 32, 1e-15);
  EXPECT_NEAR(mcnemar_exact_worse(1000, 0) / std::pow(2.0, -1000), 1, 1e-9);
}

TEST(McNemar, IsOneWithoutEvidence) {
  EXPECT_EQ(mcnemar_exact(0, 0), 1);
  EXPECT_EQ(mcnemar_exact_worse(0, 0), 1);
  EXPECT_EQ(mcnemar_exact(4, 4), 1);
  EXPECT_EQ(mcnemar_exact_worse(0, 3), 1);
  EXPECT_THROW(mcnemar_exact(-1, 3), std::invalid_argument);
  EXPECT_THROW(mcnemar_exact_worse(1, -3), std::invalid_argument);
}

TEST(SignFlip, IsMcNemarForDifferencesOfOne) {
  for (const auto& [first, second] : {std::pair<int, int>{10, 2}, {5, 0}, {4, 4}, {0, 7}, {40, 25}}) {
    std::vector<std::int64_t> differences(static_cast<std::size_t>(first), 1);
    differences.resize(static_cast<std::size_t>(first + second), -1);
    differences.resize(differences.size() + 3, 0);
    EXPECT_NEAR(sign_flip_test(differences), mcnemar_exact(first, second), 1e-12) << first << " " << second;
  }
}

TEST(SignFlip, CountsTheSignsThatReachTheSum) {
  EXPECT_EQ(sign_flip_test({}), 1);
  EXPECT_EQ(sign_flip_test(std::vector<std::int64_t>{0, 0}), 1);
  // Of 8 sums of +-3, +-2, +-1, 6 and -6 alone reach 6; 4, 4 (3 + 2 - 1) and below do not.
  EXPECT_NEAR(sign_flip_test(std::vector<std::int64_t>{3, 2, 1}), 2.0 / 8, 1e-15);
  // 3 + 2 - 1 = 4 is reached by 6 and 4, and by their opposites.
  EXPECT_NEAR(sign_flip_test(std::vector<std::int64_t>{3, 2, -1}), 4.0 / 8, 1e-15);
}

TEST(SignFlip, TheNormalDistributionGivesTheSameWhereTheWorkIsLarge) {
  // 3,000 differences of 50: the exact test of the same signs in units of 1 is McNemar's.
  std::vector<std::int64_t> differences(1550, 50);
  differences.resize(3000, -50);
  EXPECT_NEAR(sign_flip_test(differences), mcnemar_exact(1550, 1450), 0.004);
}

TEST(Holm, MultipliesStepDown) {
  // Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, made monotone: 0.02, 0.03, 0.06, 0.06.
  const std::vector<double> adjusted = holm_adjust(std::vector<double>{0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  ASSERT_EQ(adjusted.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15) << i;
}

TEST(Holm, StaysWithinOneAndRefusesTheRest) {
  EXPECT_TRUE(holm_adjust(std::vector<double>{}).empty());
  EXPECT_EQ(holm_adjust(std::vector<double>{0.6, 0.9}), (std::vector<double>{1, 1}));
  EXPECT_EQ(holm_adjust(std::vector<double>{0.2}), (std::vector<double>{0.2}));
  EXPECT_THROW(holm_adjust(std::vector<double>{1.1}), std::invalid_argument);
  EXPECT_THROW(holm_adjust(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}), std::invalid_argument);
}

// With two degrees of freedom, P(|T| > t) = 1 - t / sqrt(2 + t^2).
TEST(StudentT, PairedAndWelchAgainstClosedForms) {
  const std::vector<double> differences = {1, 2, 3};  // t = 2 sqrt(3)
  EXPECT_NEAR(paired_t_test(differences), 1 - std::sqrt(12.0 / 14), 1e-12);
  EXPECT_EQ(paired_t_test(std::vector<double>{2, 2}), 0);
  EXPECT_EQ(paired_t_test(std::vector<double>{0, 0}), 1);
  const std::vector<double> first = {0, 2}, second = {4, 6};  // t = 4 / sqrt(2), two degrees
  EXPECT_NEAR(welch_t_test(first, second), 1 - std::sqrt(8.0 / 10), 1e-12);
  EXPECT_THROW(paired_t_test(std::vector<double>{1}), std::invalid_argument);
}

TEST(TwoProportions, IsTheScoreTest) {
  // Pooled 1/2: z = 0.2 / sqrt(0.25 * 2 / 100) = sqrt(8), and P(|Z| > sqrt(8)) = erfc(2).
  EXPECT_NEAR(two_proportions_test(0.6, 100, 0.4, 100), std::erfc(2.0), 1e-12);
  EXPECT_EQ(two_proportions_test(1, 10, 1, 20), 1);
  EXPECT_EQ(two_proportions_test(0.3, 10, 0.3, 20), 1);
  EXPECT_THROW(two_proportions_test(0.5, 0, 0.5, 10), std::invalid_argument);
}

}  // namespace
}  // namespace lenbench
