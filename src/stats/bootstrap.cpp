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

// Quantiles are the smallest count whose probability reaches the level.
using CountPolicy =
    boost::math::policies::policy<boost::math::policies::discrete_quantile<boost::math::policies::integer_round_up>>;
using Counts = boost::math::binomial_distribution<double, CountPolicy>;

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

}  // namespace

std::size_t Resampler::index(std::size_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(engine_()) * n >> 64);
}

double Resampler::uniform() {
  constexpr std::uint64_t kParts = std::uint64_t{1} << 52;
  return (static_cast<double>(engine_() >> 12) + 0.5) / static_cast<double>(kParts);
}

std::int64_t Resampler::count(double share, std::int64_t n) {
  // Few outcomes are drawn one by one; for many the inverse of the distribution is faster.
  constexpr std::int64_t kFew = 256;
  if (n > kFew) return std::llround(boost::math::quantile(Counts(static_cast<double>(n), share), uniform()));
  std::int64_t drawn = 0;
  for (std::int64_t i = 0; i < n; ++i) drawn += uniform() < share ? 1 : 0;
  return drawn;
}

Interval percentile_interval(std::vector<double> values, double confidence) {
  require(!values.empty(), "percentile_interval: no values");
  require(confidence > 0 && confidence < 1, "percentile_interval: confidence must lie between 0 and 1");
  std::sort(values.begin(), values.end());
  const auto size = static_cast<double>(values.size());
  constexpr double kRounding = 1e-9;  // of share * size
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::clamp(std::ceil(share * size - kRounding) - 1, 0.0, size - 1))];
  };
  const double tail = (1 - confidence) / 2;
  return {at(tail), at(1 - tail)};
}

Interval bootstrap_proportion(std::int64_t right, std::int64_t n, double confidence) {
  require(n > 0 && right >= 0 && right <= n, "bootstrap_proportion: needs 0 <= right <= n, n > 0");
  require(confidence > 0 && confidence < 1, "bootstrap_proportion: confidence must lie between 0 and 1");
  if (right == 0) return {0, 0};
  if (right == n) return {1, 1};
  const auto size = static_cast<double>(n);
  const Counts counts(size, static_cast<double>(right) / size);
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
