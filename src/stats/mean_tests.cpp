// Student's and Welch's t for ratios of sums, with samples as the independent units.
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "stats/drop_tests.h"
#include "stats/sums.h"

namespace lenbench {

namespace {

struct Ratio {
  double value = 0, variance = 0;
  std::int64_t samples = 0;  // of positive size
};

Ratio ratio_of(std::span<const double> totals, std::span<const double> sizes) {
  if (totals.size() != sizes.size()) throw std::invalid_argument("ratio: totals and sizes differ in length");
  CompensatedSum total, size;
  Ratio ratio;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (!std::isfinite(totals[i]) || !(sizes[i] >= 0))
      throw std::invalid_argument("ratio: a total or size is unusable");
    total.add(totals[i]);
    size.add(sizes[i]);
    ratio.samples += sizes[i] > 0 ? 1 : 0;
  }
  if (ratio.samples < 2) return ratio;
  ratio.value = total.value() / size.value();
  CompensatedSum squares;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const double residual = totals[i] - ratio.value * sizes[i];
    squares.add(residual * residual);
  }
  const auto k = static_cast<double>(ratio.samples);
  ratio.variance = k / (k - 1) * squares.value() / (size.value() * size.value());
  return ratio;
}

// P(T >= excess / error).
double upper_tail(double excess, double variance, double degrees) {
  if (!(variance > 0)) return excess > 0 ? 0 : 1;
  return boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), excess / std::sqrt(variance)));
}

// Welch and Satterthwaite's degrees of freedom.
double welch_degrees(const Ratio& first, const Ratio& second) {
  const double sum = first.variance + second.variance;
  const double below = first.variance * first.variance / static_cast<double>(first.samples - 1) +
                       second.variance * second.variance / static_cast<double>(second.samples - 1);
  return below > 0 ? sum * sum / below : 1;
}

}  // namespace

double mean_excess_p(std::span<const double> totals, std::span<const double> sizes, double limit) {
  const Ratio ratio = ratio_of(totals, sizes);
  if (ratio.samples < 2) return 1;
  return upper_tail(ratio.value - limit, ratio.variance, static_cast<double>(ratio.samples - 1));
}

double mean_difference_p(std::span<const double> totals1, std::span<const double> sizes1,
                         std::span<const double> totals2, std::span<const double> sizes2, double limit) {
  const Ratio first = ratio_of(totals1, sizes1), second = ratio_of(totals2, sizes2);
  if (first.samples < 2 || second.samples < 2) return 1;
  return upper_tail(first.value - second.value - limit, first.variance + second.variance, welch_degrees(first, second));
}

Interval mean_difference_interval(std::span<const double> totals1, std::span<const double> sizes1,
                                  std::span<const double> totals2, std::span<const double> sizes2, double confidence) {
  const Ratio first = ratio_of(totals1, sizes1), second = ratio_of(totals2, sizes2);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (first.samples < 2 || second.samples < 2) return {-kInfinity, kInfinity};
  const double difference = second.value - first.value;
  const double t = boost::math::quantile(boost::math::students_t(welch_degrees(first, second)), 0.5 + confidence / 2);
  const double half = t * std::sqrt(first.variance + second.variance);
  return {difference - half, difference + half};
}

}  // namespace lenbench
