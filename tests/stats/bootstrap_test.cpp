// Resampling against binomial quantiles and the normal limit.
#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace lenbench {
namespace {

TEST(Bootstrap, ProportionsHaveBinomialQuantiles) {
  // Binomial(4, 1/2): P(X <= 0) = 1/16 > 0.025, P(X <= 3) = 15/16 < 0.975.
  EXPECT_EQ(bootstrap_proportion(2, 4), (Interval{0, 1}));
  // Binomial(100, 1/2): P(X <= 39) = 0.0176, P(X <= 40) = 0.0284; symmetric above.
  EXPECT_EQ(bootstrap_proportion(50, 100), (Interval{0.40, 0.60}));
  EXPECT_EQ(bootstrap_proportion(0, 9), (Interval{0, 0}));
  EXPECT_EQ(bootstrap_proportion(9, 9), (Interval{1, 1}));
  EXPECT_THROW(bootstrap_proportion(3, 2), std::invalid_argument);
}

TEST(Bootstrap, RatiosOfManySamplesAreAlmostNormal) {
  std::vector<double> totals, sizes(400, 1);
  for (int i = 0; i < 400; ++i) totals.push_back(i % 2 == 0 ? 1 : 3);  // mean 2, standard deviation 1
  const Interval interval = bootstrap_ratio(totals, sizes);
  EXPECT_NEAR(interval.low, 2 - 1.96 / 20, 0.01);
  EXPECT_NEAR(interval.high, 2 + 1.96 / 20, 0.01);
  EXPECT_EQ(bootstrap_ratio(totals, sizes), interval);
}

TEST(Bootstrap, ResamplesStayInRangeAndKeepTheMean) {
  Resampler resampler(3);
  std::int64_t few = 0, many = 0;
  for (int i = 0; i < 2000; ++i) {
    EXPECT_LT(resampler.index(7), 7U);
    few += resampler.count(0.3, 100);
    many += resampler.count(0.3, 10'000);
  }
  // Means 30 and 3000, standard errors sqrt(21 / 2000) = 0.10 and sqrt(2100 / 2000) = 1.02.
  EXPECT_NEAR(static_cast<double>(few) / 2000, 30, 0.4);
  EXPECT_NEAR(static_cast<double>(many) / 2000, 3000, 4);
}

TEST(Bootstrap, PercentilesByNearestRank) {
  std::vector<double> values;
  for (int i = 1000; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile_interval(values), (Interval{25, 975}));
  EXPECT_EQ(percentile_interval({5}), (Interval{5, 5}));
  EXPECT_THROW(percentile_interval({}), std::invalid_argument);
}

}  // namespace
}  // namespace lenbench
