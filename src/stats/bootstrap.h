// Intervals by resampling samples with replacement (Efron and Tibshirani 1993): percentiles, the same for the same
// data.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "stats/intervals.h"

namespace lenbench {

// The percentile bootstrap of a proportion, without simulation: a resample's count is binomial(n, right / n), whose
// quantiles are known. No width at right = 0 and right = n, where resampling shows no spread. Requires n > 0 and
// 0 <= right <= n; throws std::invalid_argument.
Interval bootstrap_proportion(std::int64_t right, std::int64_t n, double confidence = 0.95);

// The percentile bootstrap of sum(totals) / sum(sizes) over samples; the arguments as in mean_interval.
Interval bootstrap_ratio(std::span<const double> totals, std::span<const double> sizes, double confidence = 0.95);

// Draws for a bootstrap: the same sequence on every machine.
class Resampler {
 public:
  explicit Resampler(std::uint64_t seed) : engine_(seed) {}
  // Uniform in [0, n). Requires n > 0.
  std::size_t index(std::size_t n);
  // Uniform in (0, 1).
  double uniform();
  // How many of n resampled outcomes are right when a share of them is: binomial(n, share). Requires 0 < share < 1.
  std::int64_t count(double share, std::int64_t n);

 private:
  std::mt19937_64 engine_;  // its sequence is fixed by the C++ standard
};

// The smallest and largest of the middle `confidence` share of `values`, by nearest rank. Requires values; throws
// std::invalid_argument.
Interval percentile_interval(std::vector<double> values, double confidence = 0.95);

}  // namespace lenbench
