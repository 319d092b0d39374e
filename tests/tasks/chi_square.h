// Tests of counts against a law: Pearson's chi-square and the binomial, as p-values of Boost.Math.
#pragma once

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <cstdint>
#include <vector>

namespace lenbench::testing_tasks {

// Each comparison of a law with 10,000 samples is made at this level: a p-value below it fails the test. Samples are
// fixed by their addresses, so a test that has passed always passes.
inline constexpr double kLevel = 0.001;

// Probability of counts as far from `shares` as these, or farther. Shares need not sum to 1; cells with an expected
// count below 5 make the approximation poor and are the caller's to merge.
inline double chi_square_p(const std::vector<std::int64_t>& counts, const std::vector<double>& shares) {
  double total = 0, weight = 0, statistic = 0;
  for (const std::int64_t count : counts) total += static_cast<double>(count);
  for (const double share : shares) weight += share;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * shares.at(i) / weight;
    const double difference = static_cast<double>(counts[i]) - expected;
    statistic += difference * difference / expected;
  }
  const boost::math::chi_squared law(static_cast<double>(counts.size() - 1));
  return boost::math::cdf(boost::math::complement(law, statistic));
}

inline double uniform_p(const std::vector<std::int64_t>& counts) {
  return chi_square_p(counts, std::vector<double>(counts.size(), 1.0));
}

// Twice the smaller tail of the binomial.
inline double binomial_p(std::int64_t right, std::int64_t n, double probability) {
  const boost::math::binomial law(static_cast<double>(n), probability);
  const double low = boost::math::cdf(law, static_cast<double>(right));
  const double high = right == 0 ? 1 : boost::math::cdf(boost::math::complement(law, static_cast<double>(right - 1)));
  return 2 * (low < high ? low : high);
}

}  // namespace lenbench::testing_tasks
