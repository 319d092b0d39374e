// Fits of curves that are known, and how often intervals cover the truth.
#include "stats/curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace lenbench {
namespace {

std::vector<LengthCounts> exact_counts(const LogisticCurve& curve, double n) {
  std::vector<LengthCounts> points;
  for (std::int64_t length = 64; length <= 65536; length *= 2) {
    points.push_back({length, n * curve.at(static_cast<double>(length)), n});
  }
  return points;
}

TEST(Degradation, FindsTheCurveBehindNoiselessCounts) {
  for (const double slope : {0.5, 2.0, 8.0}) {
    const LogisticCurve truth{1.0 / 64, 0.98, 11.3, slope};
    const DegradationCurve found = fit_degradation(exact_counts(truth, 1e6), truth.floor, 1);
    EXPECT_NEAR(found.curve.middle, truth.middle, 0.01) << slope;
    EXPECT_NEAR(found.curve.slope, slope, 0.02 * slope);
    EXPECT_NEAR(found.curve.ceiling, truth.ceiling, 0.001);
    // Where the curve is 1/2: middle + ln((ceiling - 1/2) / (1/2 - floor)) / slope.
    EXPECT_NEAR(found.l50.value, truth.middle + std::log((0.98 - 0.5) / (0.5 - 1.0 / 64)) / slope, 0.02);
  }
}

TEST(Degradation, LandmarksOutsideTheMeasuredLengthsAreInfinite) {
  const DegradationCurve stays = fit_degradation(exact_counts({0, 1, 40, 1}, 100), 0, 50);
  EXPECT_EQ(stays.l50.value, INFINITY);
  EXPECT_NEAR(stays.area.value, 1, 1e-6);
  EXPECT_LT(stays.area.low, stays.area.high);
  const DegradationCurve never = fit_degradation(exact_counts({0, 0.3, 40, 1}, 100), 0, 50);
  EXPECT_EQ(never.l50.value, -INFINITY);
}

TEST(Degradation, AreaIsThatOfTheMeasuredShares) {
  // Off the grid: octaves of width 1 and 2 with means 0.9 and 0.5.
  const std::vector<LengthCounts> points = {{64, 100, 100}, {128, 80, 100}, {512, 20, 100}};
  EXPECT_NEAR(fit_degradation(points, 0, 10).area.value, (1 * 0.9 + 2 * 0.5) / 3, 1e-12);
}

TEST(Degradation, IntervalsCoverTheTruth) {
  const LogisticCurve truth{0, 1, 11.0, 1.2};
  std::mt19937_64 engine(7);
  constexpr int kRounds = 60;
  int covered_l50 = 0, covered_l85 = 0, covered_area = 0;
  double area = 0;
  const std::vector<LengthCounts> ideal = exact_counts(truth, 1);
  for (std::size_t i = 1; i < ideal.size(); ++i) area += (ideal[i].right + ideal[i - 1].right) / 2;
  area /= static_cast<double>(ideal.size() - 1);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<LengthCounts> points = exact_counts(truth, 100);
    for (LengthCounts& point : points) {
      std::binomial_distribution<int> draw(100, truth.at(static_cast<double>(point.length)));
      point.right = draw(engine);
    }
    const DegradationCurve found = fit_degradation(points, 0, 200);
    covered_l50 += found.l50.low <= 11.0 && 11.0 <= found.l50.high;
    const double l85 = 11.0 + std::log(1 / 0.85 - 1) / 1.2;
    covered_l85 += found.l85.low <= l85 && l85 <= found.l85.high;
    covered_area += found.area.low <= area && area <= found.area.high;
  }
  // Binomial(60, 0.95): below 51 with probability 0.002.
  EXPECT_GE(covered_l50, 51);
  EXPECT_GE(covered_l85, 51);
  EXPECT_GE(covered_area, 51);
}

TEST(Degradation, ChecksItsInput) {
  const std::vector<LengthCounts> two = {{64, 1, 2}, {128, 1, 2}}, unsorted = {{64, 1, 2}, {64, 1, 2}, {128, 1, 2}};
  EXPECT_THROW(fit_degradation(two, 0), std::invalid_argument);
  EXPECT_THROW(fit_degradation(unsorted, 0), std::invalid_argument);
  const std::vector<LengthCounts> good = {{64, 1, 2}, {65, 1, 2}, {128, 1, 2}};
  EXPECT_THROW(fit_degradation(good, 1), std::invalid_argument);
}

TEST(Holes, OnlyALengthWorseThanBothSides) {
  const std::vector<LengthCounts> hole = {
      {64, 100, 100}, {128, 99, 100}, {256, 70, 100}, {512, 98, 100}, {1024, 40, 100}};
  const std::vector<Hole> found = find_holes(hole);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].length, 256);
  EXPECT_EQ(found[0].shorter, 64);
  EXPECT_EQ(found[0].longer, 512);
  EXPECT_LT(found[0].p_value, 1e-5);
  const std::vector<LengthCounts> falls = {{64, 100, 100}, {128, 80, 100}, {256, 50, 100}, {512, 20, 100}};
  EXPECT_TRUE(find_holes(falls).empty());
}

TEST(Holes, AreRareWhereAccuracyIsFlat) {
  std::mt19937_64 engine(11);
  std::binomial_distribution<int> draw(100, 0.8);
  int rounds_with_holes = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<LengthCounts> points;
    for (std::int64_t length = 64; length <= 16384; length *= 2) {
      points.push_back({length, static_cast<double>(draw(engine)), 100});
    }
    rounds_with_holes += !find_holes(points).empty();
  }
  EXPECT_LE(rounds_with_holes, 18);  // 5 % of 200 and two and a half standard deviations
}

}  // namespace
}  // namespace lenbench
