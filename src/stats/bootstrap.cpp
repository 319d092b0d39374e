// Percentile bootstrap.
#include "stats/bootstrap.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <stdexcept>

namespace lenbench {

namespace {

constexpr int kResamples = 2000;
constexpr std::uint64_t kSeed = 0x6c656e62656e6368;  // "lenbench"

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

}  // namespace

std::size_t Resampler::index(std::size_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(engine_()) * n >> 64);
}

std::int64_t Resampler::count(std::int64_t right, std::int64_t n) {
  std::int64_t drawn = 0;
  for (std::int64_t i = 0; i < n; ++i) drawn += static_cast<std::int64_t>(index(static_cast<std::size_t>(n))) < right;
  return drawn;
}

Interval percentile_interval(std::vector<double> values, double confidence) {
  require(!values.empty(), "percentile_interval: no values");
  require(confidence > 0 && confidence < 1, "percentile_interval: confidence must lie between 0 and 1");
  std::sort(values.begin(), values.end());
  const auto size = static_cast<double>(values.size());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::clamp(std::ceil(share * size) - 1, 0.0, size - 1))];
  };
  const double tail = (1 - confidence) / 2;
  return {at(tail), at(1 - tail)};
}

Interval bootstrap_proportion(std::int64_t right, std::int64_t n, double confidence) {
  require(n > 0 && right >= 0 && right <= n, "bootstrap_proportion: needs 0 <= right <= n, n > 0");
  require(confidence > 0 && confidence < 1, "bootstrap_proportion: confidence must lie between 0 and 1");
  if (right == 0) return {0, 0};
  if (right == n) return {1, 1};
  using boost::math::policies::discrete_quantile;
  using boost::math::policies::integer_round_up;
  using Policy = boost::math::policies::policy<discrete_quantile<integer_round_up>>;
  const auto size = static_cast<double>(n);
  const boost::math::binomial_distribution<double, Policy> counts(size, static_cast<double>(right) / size);
  const double tail = (1 - confidence) / 2;
  return {boost::math::quantile(counts, tail) / size, boost::math::quantile(counts, 1 - tail) / size};
}

Interval bootstrap_ratio(std::span<const double> totals, std::span<const double> sizes, double confidence) {
  require(totals.size() == sizes.size() && !sizes.empty(), "bootstrap_ratio: totals and sizes differ in size");
  Resampler resampler(kSeed);
  std::vector<double> ratios;
  for (int i = 0; i < kResamples; ++i) {
    double total = 0, size = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t drawn = resampler.index(sizes.size());
      total += totals[drawn];
      size += sizes[drawn];
    }
    if (size > 0) ratios.push_back(total / size);
  }
  require(!ratios.empty(), "bootstrap_ratio: the sizes sum to 0");
  return percentile_interval(std::move(ratios), confidence);
}

}  // namespace lenbench
