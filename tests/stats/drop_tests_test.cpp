// Tests of stats/drop_tests.h, against sums over the whole sample space and published numbers.
#include "stats/drop_tests.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace lenbench {
namespace {

double log_choose(int n, int k) { return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0); }

// P(first alone = b, second alone = c) of n samples.
double trinomial(int b, int c, int n, double p10, double p01) {
  const auto power = [](double base, int exponent) { return exponent == 0 ? 1.0 : std::pow(base, exponent); };
  return std::exp(log_choose(n, b) + log_choose(n - b, c)) * power(p10, b) * power(p01, c) *
         power(1 - p10 - p01, n - b - c);
}

// The definition in the header by brute force: every table at least as extreme, over a fine grid of the nuisance rate.
double paired_by_enumeration(int b, int c, int n, double drop, double gamma) {
  const auto statistic = [&](int first, int second) {
    return (first - second - n * drop) / std::sqrt(std::max<double>(first + second, n * std::abs(drop)) + 1);
  };
  const Interval rate = clopper_pearson(b + c, n, 1 - gamma);
  const double low = std::max(rate.low, std::abs(drop)), high = std::max(rate.high, std::abs(drop));
  double largest = 0;
  for (int step = 0; step <= 400; ++step) {
    const double discordant = low + (high - low) * step / 400;
    double p = 0;
    for (int first = 0; first <= n; ++first) {
      for (int second = 0; first + second <= n; ++second) {
        if (statistic(first, second) < statistic(b, c) - 1e-9) continue;
        p += trinomial(first, second, n, (discordant + drop) / 2, (discordant - drop) / 2);
      }
    }
    largest = std::max(largest, p);
  }
  return largest + gamma;
}

TEST(PairedDrop, AgreesWithEnumeration) {
  struct Case {
    int b, c, n;
    double drop;
  };
  for (const Case& one : {Case{6, 1, 30, 0.02}, Case{5, 0, 40, 0.01}, Case{9, 3, 40, 0.05}, Case{0, 0, 40, -0.1},
                          Case{3, 2, 40, -0.15}, Case{12, 12, 40, -0.3}, Case{1, 0, 1, 0.002}, Case{25, 2, 30, 0.2}}) {
    const double expected = paired_by_enumeration(one.b, one.c, one.n, one.drop, 0.001);
    const double found = paired_drop_p(one.b, one.c, one.n, one.drop, 0.001);
    EXPECT_NEAR(found, expected, 0.01 * expected) << one.b << " " << one.c << " " << one.n << " " << one.drop;
  }
}

TEST(PairedDrop, IsMcNemarsTestWithoutASmallestDrop) {
  EXPECT_NEAR(paired_drop_p(10, 2, 1000, 0, 0.001), 79.0 / 4096, 1e-13);
  EXPECT_EQ(paired_drop_p(0, 0, 10, 0, 0.001), 1);
  EXPECT_EQ(paired_drop_p(0, 5, 10, 0, 0.001), 1);
}

TEST(PairedDrop, KeepsItsLevelOnTheWholeNull) {
  // Exact size for n = 25: the probability of all tables with p <= a, at rates on the edge of the null.
  constexpr int kN = 25;
  constexpr double kDrop = 0.04, kGamma = 0.002;
  std::vector<std::vector<double>> p(kN + 1);
  for (int b = 0; b <= kN; ++b) {
    for (int c = 0; b + c <= kN; ++c) p[static_cast<std::size_t>(b)].push_back(paired_drop_p(b, c, kN, kDrop, kGamma));
  }
  for (const double level : {0.01, 0.05}) {
    double largest = 0;
    for (double gained = 0; gained < 0.48; gained += 0.005) {
      double rejected = 0;
      for (int b = 0; b <= kN; ++b) {
        for (int c = 0; b + c <= kN; ++c) {
          if (p[static_cast<std::size_t>(b)][static_cast<std::size_t>(c)] <= level)
            rejected += trinomial(b, c, kN, gained + kDrop, gained);
        }
      }
      EXPECT_LE(rejected, level) << "gain rate " << gained;
      largest = std::max(largest, rejected);
    }
    EXPECT_GT(largest, level / 4) << "a test that never rejects would pass";
  }
}

TEST(PairedDrop, GrowsWithLossesAndRefusesNonsense) {
  double last = 1.1;
  for (int lost = 0; lost <= 40; lost += 4) {
    const double p = paired_drop_p(lost, 5, 1000, 0.002, 1e-4);
    EXPECT_LE(p, last);
    last = p;
  }
  EXPECT_LE(last, 2e-4);
  EXPECT_GE(last, 1e-4) << "never below gamma";
  EXPECT_THROW(paired_drop_p(-1, 0, 10, 0, 0.01), std::invalid_argument);
  EXPECT_THROW(paired_drop_p(6, 5, 10, 0, 0.01), std::invalid_argument);
  EXPECT_THROW(paired_drop_p(1, 0, 10, 1, 0.01), std::invalid_argument);
}

TEST(UnpairedDrop, AgreesWithEnumeration) {
  const auto enumerate = [](int x1, int n1, int x2, int n2, double drop, double gamma) {
    const auto statistic = [&](int first, int second) {
      const double pooled = (first + second + 1.0) / (n1 + n2 + 2.0);
      return (1.0 * first / n1 - 1.0 * second / n2 - drop) / std::sqrt(pooled * (1 - pooled) * (1.0 / n1 + 1.0 / n2));
    };
    const Interval rate = clopper_pearson(x2, n2, 1 - gamma);
    double largest = 0;
    for (int step = 0; step <= 400; ++step) {
      const double p2 = std::min(1 - drop, rate.low + (rate.high - rate.low) * step / 400), p1 = p2 + drop;
      double p = 0;
      for (int first = 0; first <= n1; ++first) {
        for (int second = 0; second <= n2; ++second) {
          if (statistic(first, second) < statistic(x1, x2) - 1e-9) continue;
          p += std::exp(log_choose(n1, first) + log_choose(n2, second)) * std::pow(p1, first) *
               std::pow(1 - p1, n1 - first) * std::pow(p2, second) * std::pow(1 - p2, n2 - second);
        }
      }
      largest = std::max(largest, p);
    }
    return largest + gamma;
  };
  EXPECT_NEAR(unpaired_drop_p(28, 30, 20, 32, 0.05, 0.001) / enumerate(28, 30, 20, 32, 0.05, 0.001), 1, 0.01);
  EXPECT_NEAR(unpaired_drop_p(20, 40, 8, 30, 0, 0.001) / enumerate(20, 40, 8, 30, 0, 0.001), 1, 0.01);
  EXPECT_EQ(unpaired_drop_p(10, 10, 10, 10, 0.002, 0.001), 1);
  EXPECT_LT(unpaired_drop_p(1000, 1000, 0, 20, 0.002, 1e-4), 2e-4);
  EXPECT_THROW(unpaired_drop_p(11, 10, 0, 20, 0, 0.01), std::invalid_argument);
}

TEST(Floor, IsTheBinomialTail) {
  EXPECT_NEAR(below_floor_p(2, 12, 0.5), 79.0 / 4096, 1e-13);
  EXPECT_NEAR(below_floor_p(0, 100, 0.02), std::pow(0.98, 100), 1e-12);
  EXPECT_EQ(below_floor_p(10, 10, 0.5), 1);
  EXPECT_EQ(below_floor_p(10, 10, 1), 1);
  EXPECT_EQ(below_floor_p(9, 10, 1), 0);
}

TEST(Means, AreStudentsT) {
  // Differences 1, 2, 3, 4 of unit size: mean 2.5, standard error sqrt(5/3/4); t = 2.5 / 0.6455 = 3.873, 3 degrees of
  // freedom: P(T >= 3.873) = 0.01523 (tables of t: 3.182 is 0.025, 4.541 is 0.01).
  const std::vector<double> totals = {1, 2, 3, 4}, sizes = {1, 1, 1, 1};
  const double p = mean_excess_p(totals, sizes, 0);
  EXPECT_NEAR(p, 0.0152, 0.0002);
  EXPECT_NEAR(mean_excess_p(totals, sizes, 2.5), 0.5, 1e-12);
  EXPECT_EQ(mean_excess_p(std::vector<double>{5}, std::vector<double>{1}, 0), 1) << "one sample knows no spread";
  EXPECT_EQ(mean_excess_p(std::vector<double>{2, 2}, std::vector<double>{1, 1}, 1), 0);
  EXPECT_EQ(mean_excess_p(std::vector<double>{0, 0}, std::vector<double>{1, 1}, 0), 1);
  const std::vector<double> bad = {1, std::nan("")}, two = {1, 1};
  EXPECT_THROW(mean_excess_p(bad, two, 0), std::invalid_argument);
}

TEST(Means, AreWelchsTWithoutPairs) {
  // Means 2.5 and 0.5, variances of the mean 5/12 and 1/12; t = 2/sqrt(1/2) = 2.828 with
  // (1/2)^2 / ((5/12)^2/3 + (1/12)^2/3) = 4.154 degrees of freedom: between P(T4) = 0.0237 and P(T5) = 0.0184.
  const std::vector<double> first = {1, 2, 3, 4}, second = {0, 1, 0, 1}, sizes = {1, 1, 1, 1};
  const double p = mean_difference_p(first, sizes, second, sizes, 0);
  EXPECT_LT(p, 0.0237);
  EXPECT_GT(p, 0.0184);
  const Interval interval = mean_difference_interval(first, sizes, second, sizes);
  EXPECT_NEAR((interval.low + interval.high) / 2, -2, 1e-12);
  EXPECT_LT(interval.high, 0);
}

TEST(Differences, HavePublishedIntervals) {
  // Newcombe 1998, table II (a) method 10: 56/70 - 48/80 is [0.0524, 0.3339].
  const Interval unpaired = unpaired_difference_interval(48, 80, 56, 70);
  EXPECT_NEAR(unpaired.low, 0.0524, 1e-4);
  EXPECT_NEAR(unpaired.high, 0.3339, 1e-4);
  // 10/10 - 0/20 (h): [0.6791, 1.0000].
  const Interval whole = unpaired_difference_interval(0, 20, 10, 10);
  EXPECT_NEAR(whole.low, 0.6791, 1e-4);
  EXPECT_NEAR(whole.high, 1, 1e-12);
  const Interval none = paired_difference_interval(0, 0, 100);
  EXPECT_LT(none.low, 0);
  EXPECT_GT(none.high, 0);
  EXPECT_NEAR(none.low + none.high, 0, 1e-12);
}

TEST(Detectable, IsFoundAtItsPower) {
  // A simulation knows nothing of the normal approximation inside.
  std::mt19937_64 random(7);
  constexpr int kN = 1000, kRuns = 2000;
  constexpr double kLevel = 0.05 / 8, kGain = 0.004, kSmallest = 0.002;
  const double drop = detectable_paired_drop(kN, kGain, kSmallest, kLevel, 0.8);
  int found = 0;
  for (int run = 0; run < kRuns; ++run) {
    const int lost = std::binomial_distribution<int>(kN, kGain + drop)(random);
    const int gained = std::binomial_distribution<int>(kN - lost, kGain / (1 - kGain - drop))(random);
    found += paired_drop_p(lost, gained, kN, kSmallest, kLevel / 20) <= kLevel ? 1 : 0;
  }
  EXPECT_NEAR(1.0 * found / kRuns, 0.8, 0.07) << "drop " << drop;
  EXPECT_EQ(detectable_paired_drop(1, 0, 0.002, 0.001, 0.8), 1);
}

}  // namespace
}  // namespace lenbench
