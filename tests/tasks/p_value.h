// Tests of a sampling law: Pearson's chi-square against expected shares, and the binomial, with the level stated once.
#pragma once

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lenbench::testing_tasks {

// A law is refuted when data as odd as these have a chance below this. Streams are fixed, so a pass stays a pass.
inline constexpr double kLevel = 1e-3;

// Chance of a statistic at least as large as that of `counts` under `shares` (any positive scale). Neighbouring cells
// that expect fewer than five counts are joined.
inline double p_value(const std::vector<std::int64_t>& counts, const std::vector<double>& shares) {
  const double n = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  const double scale = n / std::accumulate(shares.begin(), shares.end(), 0.0);
  double statistic = 0, expected = 0, seen = 0;
  int cells = 0;
  const auto close = [&] {
    statistic += (seen - expected) * (seen - expected) / expected;
    ++cells;
    expected = seen = 0;
  };
  double rest = n;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    expected += shares[i] * scale;
    seen += static_cast<double>(counts[i]);
    rest -= shares[i] * scale;
    if (expected >= 5 && (rest >= 5 || i + 1 == counts.size())) close();
  }
  if (expected > 0) close();
  return cdf(complement(boost::math::chi_squared(cells - 1), statistic));
}

inline double p_value(const std::vector<std::int64_t>& counts) {
  return p_value(counts, std::vector<double>(counts.size(), 1.0));
}

// Twice the smaller tail of the binomial.
inline double binomial_p(std::int64_t right, std::int64_t n, double probability) {
  const boost::math::binomial law(static_cast<double>(n), probability);
  const double low = boost::math::cdf(law, static_cast<double>(right));
  const double high = right == 0 ? 1 : boost::math::cdf(boost::math::complement(law, static_cast<double>(right - 1)));
  return 2 * (low < high ? low : high);
}

}  // namespace lenbench::testing_tasks
