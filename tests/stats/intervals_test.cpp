// Tests of stats/intervals.h. Expected figures were worked out in Python from exact binomial sums, fractions and
// 40-digit decimals.
#include "stats/intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace lenbench {
namespace {

using Counts = std::vector<std::int64_t>;
using Reals = std::vector<double>;

TEST(Wilson, GivesTheReferenceIntervals) {
  const auto expect = [](double right, double n, double low, double high) {
    const Interval interval = wilson(right, n);
    EXPECT_NEAR(interval.low, low, 1e-11) << right << "/" << n;
    EXPECT_NEAR(interval.high, high, 1e-11) << right << "/" << n;
  };
  expect(0, 25, 0, 0.133192250939);
  expect(0, 1000, 0, 0.003826758486);
  expect(25, 25, 0.866807749061, 1);
  expect(9, 10, 0.595849973205, 0.982123786905);
  expect(950, 1000, 0.934686179756, 0.961869737607);
}

TEST(Wilson, IsExactAtTheEndsAndAlwaysHasAWidth) {
  for (const double n : {0.5, 1.0, 3.7, 25.0, 1e3, 1e6, 1e12}) {
    EXPECT_EQ(wilson(0, n).low, 0);
    EXPECT_GT(wilson(0, n).high, 0);
    EXPECT_EQ(wilson(n, n).high, 1);
    EXPECT_LT(wilson(n, n).low, 1);
    for (const double share : {0.1, 0.5, 0.999}) {
      const Interval interval = wilson(share * n, n);
      EXPECT_LT(interval.low, share);
      EXPECT_GT(interval.high, share);
    }
  }
  EXPECT_EQ(wilson(0, 0), (Interval{0, 1}));
}

TEST(Wilson, IsSymmetricAndWidensWithConfidence) {
  const Interval few = wilson(3, 10), many = wilson(7, 10);
  EXPECT_NEAR(few.low, 1 - many.high, 1e-15);
  EXPECT_NEAR(few.high, 1 - many.low, 1e-15);
  EXPECT_LT(wilson(3, 10, 0.99).low, few.low);
  EXPECT_GT(wilson(3, 10, 0.5).low, few.low);
}

TEST(Wilson, RefusesWhatIsNoProportion) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(wilson(2, 1), std::invalid_argument);
  EXPECT_THROW(wilson(-1, 1), std::invalid_argument);
  EXPECT_THROW(wilson(nan, 1), std::invalid_argument);
  EXPECT_THROW(wilson(0, nan), std::invalid_argument);
  EXPECT_THROW(wilson(1, 2, 1.0), std::invalid_argument);
  EXPECT_THROW(wilson(1, 2, 0.0), std::invalid_argument);
}

TEST(ClopperPearson, AgreesWithExactBinomialSums) {
  const auto expect = [](std::int64_t right, std::int64_t n, double low, double high) {
    const Interval interval = clopper_pearson(right, n);
    EXPECT_NEAR(interval.low, low, 1e-11) << right << "/" << n;
    EXPECT_NEAR(interval.high, high, 1e-11) << right << "/" << n;
  };
  expect(0, 25, 0, 0.137185171531);
  expect(3, 20, 0.032070937185, 0.378926826545);
  expect(9, 10, 0.554983882972, 0.997471421456);
  expect(25, 25, 0.862814828469, 1);
  EXPECT_NEAR(clopper_pearson(3, 20, 0.9).low, 0.04216940788577855, 1e-11);
  EXPECT_EQ(clopper_pearson(0, 0), (Interval{0, 1}));
  EXPECT_THROW(clopper_pearson(3, 2), std::invalid_argument);
}

TEST(DesignEffect, MeasuresHowMuchAnswersOfASampleAgree) {
  // Samples wholly right or wrong: the cluster size 8 times k/(k-1) = 4/3.
  EXPECT_NEAR(design_effect(Counts{8, 0, 8, 0}, Counts{8, 8, 8, 8}), 32.0 / 3, 1e-12);
  EXPECT_NEAR(design_effect(Counts{5, 2, 9, 0}, Counts{10, 4, 10, 6}), 893.0 / 210, 1e-12);
  // Even shares would give 0.
  EXPECT_EQ(design_effect(Counts{4, 4, 4, 4}, Counts{8, 8, 8, 8}), 1);
  // Empty clusters say nothing.
  EXPECT_NEAR(design_effect(Counts{8, 0, 0, 8, 0}, Counts{8, 8, 0, 8, 8}), 32.0 / 3, 1e-12);
}

TEST(DesignEffect, IsOneWhereNothingShowsIt) {
  EXPECT_EQ(design_effect(Counts{}, Counts{}), 1);
  EXPECT_EQ(design_effect(Counts{3}, Counts{8}), 1);
  EXPECT_EQ(design_effect(Counts{0, 0}, Counts{8, 8}), 1);
  EXPECT_EQ(design_effect(Counts{8, 8}, Counts{8, 8}), 1);
  EXPECT_THROW(design_effect(Counts{9}, Counts{8}), std::invalid_argument);
  EXPECT_THROW(design_effect(Counts{1, 1}, Counts{8}), std::invalid_argument);
}

TEST(MeanInterval, IsStudentsForEqualSizes) {
  // Values 1 and 3: mean 2, standard error 1, t(0.975, 1) = 12.706204736174698 (any table).
  const Interval interval = mean_interval(Reals{1, 3}, Reals{1, 1});
  EXPECT_NEAR(interval.low, 2 - 12.706204736174698, 1e-9);
  EXPECT_NEAR(interval.high, 2 + 12.706204736174698, 1e-9);
  // Only the ratio of total and size matters.
  const Interval scaled = mean_interval(Reals{10, 30}, Reals{10, 10});
  EXPECT_NEAR(scaled.low, interval.low, 1e-9);
}

TEST(MeanInterval, IsTheRatioEstimatorForUnequalSizes) {
  const Interval interval = mean_interval(Reals{10, 24, 33, 38}, Reals{4, 10, 12, 14});
  EXPECT_NEAR(interval.low, 2.347484721239068, 1e-9);
  EXPECT_NEAR(interval.high, 2.902515278760932, 1e-9);
}

TEST(MeanInterval, KnowsNothingFromOneSample) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(mean_interval(Reals{5}, Reals{2}), (Interval{-infinity, infinity}));
  EXPECT_EQ(mean_interval(Reals{5, 0}, Reals{2, 0}), (Interval{-infinity, infinity}));
}

TEST(MeanInterval, RefusesWhatHasNoMean) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(mean_interval(Reals{}, Reals{}), std::invalid_argument);
  EXPECT_THROW(mean_interval(Reals{1}, Reals{1, 2}), std::invalid_argument);
  EXPECT_THROW(mean_interval(Reals{1, 2}, Reals{0, 0}), std::invalid_argument);
  EXPECT_THROW(mean_interval(Reals{1, nan}, Reals{1, 1}), std::invalid_argument);
  EXPECT_THROW(mean_interval(Reals{1, 2}, Reals{1, -1}), std::invalid_argument);
}

}  // namespace
}  // namespace lenbench
