// Binomial tails by Boost.Math, and Holm's step-down procedure.
#include "stats/tests.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
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

struct Moments {
  double mean = 0, variance_of_mean = 0;
};

Moments moments_of(std::span<const double> values) {
  if (values.size() < 2) throw std::invalid_argument("a t test needs two values or more");
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, squares / (n - 1) / n};
}

double two_sided_t(double t, double degrees) {
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), std::abs(t)));
}

}  // namespace

double paired_t_test(std::span<const double> differences) {
  const Moments moments = moments_of(differences);
  if (moments.variance_of_mean == 0) return moments.mean == 0 ? 1 : 0;
  return two_sided_t(moments.mean / std::sqrt(moments.variance_of_mean), static_cast<double>(differences.size()) - 1);
}

double sign_flip_test(std::span<const std::int64_t> differences) {
  constexpr double kMostSteps = 2e7;
  std::vector<std::size_t> sizes;
  std::int64_t observed = 0, total = 0;
  double squares = 0;
  for (const std::int64_t difference : differences) {
    if (difference == 0) continue;
    const std::int64_t size = std::abs(difference);
    sizes.push_back(static_cast<std::size_t>(size));
    observed += difference;
    total += size;
    squares += static_cast<double>(size) * static_cast<double>(size);
  }
  if (observed == 0) return 1;
  observed = std::abs(observed);
  if (static_cast<double>(total) * static_cast<double>(sizes.size()) > kMostSteps) {
    return std::erfc(static_cast<double>(observed) / std::sqrt(2 * squares));
  }
  // probability[k]: the positive differences sum to k, so that the sum of all is 2 k - total.
  std::vector<double> probability(static_cast<std::size_t>(total) + 1, 0.0);
  probability[0] = 1;
  std::size_t reached = 0;
  for (const std::size_t size : sizes) {
    reached += size;
    for (std::size_t k = reached + 1; k-- > 0;) {
      probability[k] = (probability[k] + (k >= size ? probability[k - size] : 0.0)) / 2;
    }
  }
  double tail = 0;
  for (std::size_t k = 0; k < probability.size(); ++k) {
    const std::int64_t sum = 2 * static_cast<std::int64_t>(k) - total;
    if (std::abs(sum) >= observed) tail += probability[k];
  }
  return std::min(1.0, tail);
}

double welch_t_test(std::span<const double> first, std::span<const double> second) {
  const Moments a = moments_of(first), b = moments_of(second);
  const double variance = a.variance_of_mean + b.variance_of_mean;
  if (variance == 0) return a.mean == b.mean ? 1 : 0;
  const double degrees = variance * variance /
                         (a.variance_of_mean * a.variance_of_mean / (static_cast<double>(first.size()) - 1) +
                          b.variance_of_mean * b.variance_of_mean / (static_cast<double>(second.size()) - 1));
  return two_sided_t((a.mean - b.mean) / std::sqrt(variance), degrees);
}

double two_proportions_test(double first, double first_count, double second, double second_count) {
  if (!(first >= 0 && first <= 1 && second >= 0 && second <= 1 && first_count > 0 && second_count > 0)) {
    throw std::invalid_argument("two_proportions_test: needs shares of [0, 1] and positive counts");
  }
  const double pooled = (first * first_count + second * second_count) / (first_count + second_count);
  const double variance = pooled * (1 - pooled) * (1 / first_count + 1 / second_count);
  if (variance <= 0) return 1;
  const double z = std::abs(first - second) / std::sqrt(variance);
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

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
