// Tests of stats/betting.h.
#include "stats/betting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace lenbench {
namespace {

TEST(Betting, WealthIsTheWeightedMixture) {
  BettingProcess process(0);
  process.add(1);
  // Stakes 1, 1/2, 1/4, 1/8, 1/16 with weights 0.6, 0.2, 0.1, 0.05, 0.05.
  const double one = 0.6 * 2 + 0.2 * 1.5 + 0.1 * 1.25 + 0.05 * 1.125 + 0.05 * 1.0625;
  EXPECT_NEAR(std::exp(process.log_wealth()), one, 1e-12);
  process.add(-1);
  const double two = 0.2 * 0.75 + 0.1 * 0.9375 + 0.05 * 0.984375 + 0.05 * 0.99609375;
  EXPECT_NEAR(std::exp(process.log_wealth()), two, 1e-12);
  EXPECT_NEAR(process.p_value(), 1 / one, 1e-12) << "the largest wealth counts";
}

TEST(Betting, RefusesNonsense) {
  EXPECT_THROW(BettingProcess(1), std::invalid_argument);
  EXPECT_THROW(BettingProcess(std::nan("")), std::invalid_argument);
  BettingProcess process(0.5);
  EXPECT_THROW(process.add(1.5), std::invalid_argument);
  EXPECT_THROW(process.add(std::nan("")), std::invalid_argument);
}

TEST(Betting, CrossesItsBoundNoOftenerThanStated) {
  // On the edge of the claim, looked at after every one of 1,000 samples, for rare and frequent flips.
  std::mt19937_64 random(11);
  for (const double flips : {0.004, 0.05, 0.5}) {
    constexpr double kMean = 0.002, kLevel = 0.05;
    constexpr int kRuns = 4000;
    std::discrete_distribution<int> outcome({(flips - kMean) / 2, 1 - flips, (flips + kMean) / 2});
    int crossed = 0;
    for (int run = 0; run < kRuns; ++run) {
      BettingProcess process(kMean);
      for (int i = 0; i < 1000; ++i) process.add(outcome(random) - 1);
      crossed += process.p_value() <= kLevel ? 1 : 0;
    }
    const double error = std::sqrt(kLevel * (1 - kLevel) / kRuns);
    EXPECT_LE(1.0 * crossed / kRuns, kLevel + 3 * error) << flips;
  }
}

TEST(Betting, ClearLossesNeedAHandfulOfSamples) {
  BettingProcess process(0.002);
  int samples = 0;
  while (process.p_value() > 0.05 / 80) {
    process.add(1);
    ++samples;
  }
  EXPECT_LE(samples, 12);
}

}  // namespace
}  // namespace lenbench
