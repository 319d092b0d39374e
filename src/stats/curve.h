// How accuracy falls with length: a monotone logistic curve, its landmarks with intervals, and holes in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lenbench {

// What was right at one length.
struct LengthCounts {
  std::int64_t length = 0;  // tokens
  double right = 0, n = 0;  // samples; effective counts where answers share a sample
};

// accuracy(length) = floor + (ceiling - floor) / (1 + exp(slope (log2 length - log2 middle))), slope >= 0.
struct LogisticCurve {
  double floor = 0, ceiling = 1;  // shares; floor is given (chance), the rest is fitted
  double middle = 0;              // log2 of the length where half of ceiling - floor is left
  double slope = 0;               // per octave
  double at(double length) const;
};

// A number with its 95 % interval. Infinite: beyond the longest length measured; minus infinity: below the shortest.
struct Landmark {
  double value = 0, low = 0, high = 0;
};

struct DegradationCurve {
  LogisticCurve curve;
  Landmark l50, l85;  // log2 of the length where the curve falls below 0.5 and 0.85
  Landmark area;      // of the measured shares: trapezoids over log2 length, divided by its range; 1 is always right
};

// Maximum likelihood (binomial) for ceiling in [floor, 1], slope in [0, 64] and middle. Intervals are percentiles over
// refitted resamples: samples are drawn with replacement within each length, which for right and wrong is a binomial
// count; where all samples agree, and resampling would show no spread, the share is drawn from its Jeffreys posterior
// Beta(right + 1/2, n - right + 1/2) instead. Lengths may stand on no grid. Requires three lengths or more, ascending,
// 0 <= right <= n, n > 0, 0 <= floor < 1; throws std::invalid_argument.
DegradationCurve fit_degradation(std::span<const LengthCounts> points, double floor, int resamples = 400);

// A length at which accuracy is below that of a shorter and of a longer one.
struct Hole {
  std::int64_t length = 0, shorter = 0, longer = 0;  // the two that show it most
  double p_value = 1;                                // adjusted
};

// Holes at the 5 % level, ascending. An interior length is compared with every shorter and every longer one by the
// score test of two proportions, one-sided; on each side the smallest p-value counts, times the number of lengths there
// (Bonferroni); a hole must be shown on both sides, so its p-value is the larger of the two (intersection-union); over
// the interior lengths Holm's adjustment. Same requirements as fit_degradation.
std::vector<Hole> find_holes(std::span<const LengthCounts> points);

}  // namespace lenbench
