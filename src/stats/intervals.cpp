// Quantiles by Boost.Math; the formulas are in the header's sources.
#include "stats/intervals.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "stats/sums.h"

namespace lenbench {

namespace {

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

void require_confidence(double confidence) {
  require(confidence > 0 && confidence < 1, "confidence must lie between 0 and 1");
}

}  // namespace

Interval wilson(double right, double n, double confidence) {
  require_confidence(confidence);
  require(std::isfinite(n) && right >= 0 && right <= n, "wilson: needs 0 <= right <= n");
  if (n == 0) return {0, 1};
  const double z = boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
  const double share = right / n;
  const double denominator = 1 + z * z / n;
  const double center = (share + z * z / (2 * n)) / denominator;
  const double half = z / denominator * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  // At the ends the algebra gives exactly 0 and 1, the rounding does not.
  return {right == 0 ? 0 : std::clamp(center - half, 0.0, share),
          right == n ? 1 : std::clamp(center + half, share, 1.0)};
}

Interval clopper_pearson(std::int64_t right, std::int64_t n, double confidence) {
  require_confidence(confidence);
  require(right >= 0 && right <= n, "clopper_pearson: needs 0 <= right <= n");
  if (n == 0) return {0, 1};
  const double tail = (1 - confidence) / 2;
  const auto k = static_cast<double>(right), rest = static_cast<double>(n - right);
  return {right == 0 ? 0 : boost::math::quantile(boost::math::beta_distribution<>(k, rest + 1), tail),
          right == n
              ? 1
              : boost::math::quantile(boost::math::complement(boost::math::beta_distribution<>(k + 1, rest), tail))};
}

double design_effect(std::span<const std::int64_t> right, std::span<const std::int64_t> n) {
  require(right.size() == n.size(), "design_effect: right and n differ in size");
  double clusters = 0, total_right = 0, total = 0;
  for (std::size_t i = 0; i < n.size(); ++i) {
    require(right[i] >= 0 && right[i] <= n[i], "design_effect: needs 0 <= right <= n");
    clusters += n[i] > 0 ? 1 : 0;
    total_right += static_cast<double>(right[i]);
    total += static_cast<double>(n[i]);
  }
  if (clusters < 2 || total_right == 0 || total_right == total) return 1;
  const double share = total_right / total;
  CompensatedSum squares;
  for (std::size_t i = 0; i < n.size(); ++i) {
    const double residual = static_cast<double>(right[i]) - share * static_cast<double>(n[i]);
    squares.add(residual * residual);
  }
  const double clustered = clusters / (clusters - 1) * squares.value() / (total * total);
  const double independent = share * (1 - share) / total;
  return std::max(1.0, clustered / independent);
}

Interval mean_interval(std::span<const double> totals, std::span<const double> sizes, double confidence) {
  require_confidence(confidence);
  require(totals.size() == sizes.size(), "mean_interval: totals and sizes differ in size");
  double samples = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require(std::isfinite(totals[i]) && std::isfinite(sizes[i]) && sizes[i] >= 0,
            "mean_interval: needs finite totals and sizes of 0 or more");
    samples += sizes[i] > 0 ? 1 : 0;
  }
  const double size = sum(sizes);
  require(size > 0, "mean_interval: the sizes sum to 0");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (samples < 2) return {-kInfinity, kInfinity};
  const double mean = sum(totals) / size;
  CompensatedSum squares;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double residual = totals[i] - mean * sizes[i];
    squares.add(residual * residual);
  }
  const double error = std::sqrt(samples / (samples - 1) * squares.value()) / size;
  const double t = boost::math::quantile(boost::math::students_t(samples - 1), 0.5 + confidence / 2);
  return {mean - t * error, mean + t * error};
}

}  // namespace lenbench
