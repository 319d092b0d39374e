// Binomial tails by Boost.Math, and Holm's step-down procedure.
#include "stats/tests.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <numeric>
#include <stdexcept>

namespace lenbench {

namespace {

// P(X <= k) for X binomial(n, 1/2).
double half_binomial(std::int64_t k, std::int64_t n) {
  if (k >= n) return 1;
  return boost::math::cdf(boost::math::binomial(static_cast<double>(n), 0.5), static_cast<double>(k));
}

void require_counts(std::int64_t only_first, std::int64_t only_second) {
  if (only_first < 0 || only_second < 0) throw std::invalid_argument("mcnemar: a count is negative");
}

}  // namespace

double mcnemar_exact(std::int64_t only_first, std::int64_t only_second) {
  require_counts(only_first, only_second);
  return std::min(1.0, 2 * half_binomial(std::min(only_first, only_second), only_first + only_second));
}

double mcnemar_exact_worse(std::int64_t only_first, std::int64_t only_second) {
  require_counts(only_first, only_second);
  return half_binomial(only_second, only_first + only_second);
}

std::vector<double> holm_adjust(std::span<const double> p_values) {
  for (const double p : p_values) {
    if (!(p >= 0 && p <= 1)) throw std::invalid_argument("holm_adjust: a p-value lies outside [0, 1]");
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t left, std::size_t right) { return p_values[left] < p_values[right]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto remaining = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, remaining * p_values[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace lenbench
