// Intervals for proportions and for means over samples.
#pragma once

#include <cstdint>
#include <span>

namespace lenbench {

struct Interval {
  double low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};

// Wilson's score interval for `right` of `n` (Wilson 1927; Brown, Cai and DasGupta 2001, eq. 4). Real counts serve
// effective sizes: with a design effect d pass right/d and n/d. Exactly 0 at right = 0, exactly 1 at right = n, never
// of zero width; n = 0 gives [0, 1]. Requires 0 <= right <= n, 0 < confidence < 1; throws std::invalid_argument.
Interval wilson(double right, double n, double confidence = 0.95);

// Clopper and Pearson's exact interval (1934), wider than Wilson's: covers at least `confidence`. Same requirements.
Interval clopper_pearson(std::int64_t right, std::int64_t n, double confidence = 0.95);

// How much larger the variance of sum(right)/sum(n) is than for independent answers, from the spread between clusters
// (ratio estimator, Cochran 1977, section 11.7; the design effect of Kish 1965). At least 1. Exactly 1 below two
// non-empty clusters and when all answers are right or all wrong, where nothing shows the correlation.
// Requires equal sizes and 0 <= right[i] <= n[i]; throws std::invalid_argument.
double design_effect(std::span<const std::int64_t> right, std::span<const std::int64_t> n);

// Interval of the ratio R = sum(totals)/sum(sizes), with one total and one size per sample (nats and scored tokens of
// a document; all sizes 1 for a plain mean). Samples are the independent units: variance by linearization,
// k/(k-1) sum((total - R size)^2) / sum(sizes)^2, Student's t with k-1 degrees of freedom, k samples of positive size.
// Perplexity's interval is exp of this one. Below two samples [-inf, inf].
// Requires equal lengths, finite totals, sizes >= 0 with a positive sum; throws std::invalid_argument.
Interval mean_interval(std::span<const double> totals, std::span<const double> sizes, double confidence = 0.95);

}  // namespace lenbench
