// Tests of a loss against a stated size, for right/wrong outcomes and for means over samples; and intervals of
// differences.
#pragma once

#include <cstdint>
#include <span>

#include "stats/intervals.h"

namespace lenbench {

// p-value of "the first is right more often than the second by at most `drop`" on `n` samples that both answered:
// `only_first` right for the first alone, `only_second` for the second alone. At `drop` 0 McNemar's exact conditional
// test. Otherwise the exact unconditional test of a shifted null (Sidik 2003; Lloyd and Moldovan 2008): with
// p10 - p01 = drop the probability of a score statistic at least as large as the observed one, at its maximum over the
// rate of discordant pairs p10 + p01 within that rate's Clopper-Pearson interval of confidence 1 - gamma, plus gamma
// (Berger and Boos 1994). So P(p <= a) <= a for every a >= gamma, whatever the rates. `drop` may be negative: swap the
// two subjects to test "at least drop". Where the evidence is weak (p above about 0.3) 1 is returned.
// Requires counts >= 0, only_first + only_second <= n, n >= 1, |drop| < 1, 0 < gamma < 1; throws std::invalid_argument.
double paired_drop_p(std::int64_t only_first, std::int64_t only_second, std::int64_t n, double drop, double gamma);

// The same claim for two sets of samples that share none: right1 of n1 against right2 of n2 (Barnard's test with a
// shifted null, Chan 1998; maximum over the second's rate within its interval). Requires 0 <= right <= n, n >= 1.
double unpaired_drop_p(std::int64_t right1, std::int64_t n1, std::int64_t right2, std::int64_t n2, double drop,
                       double gamma);

// p-value of "the rate is at least `floor`" from `right` of `n`: P(X <= right), X binomial(n, floor).
double below_floor_p(std::int64_t right, std::int64_t n, double floor);

// p-value of "sum(totals)/sum(sizes) is at most `limit`", samples as independent units (variance as in mean_interval,
// Student's t with k - 1 degrees of freedom). Below two samples 1. Without any spread 0 or 1. Requires equal lengths,
// finite totals, sizes >= 0; throws std::invalid_argument.
double mean_excess_p(std::span<const double> totals, std::span<const double> sizes, double limit);

// p-value of "the first ratio exceeds the second by at most `limit`" for samples that share none (Welch's t). Below two
// samples on a side 1.
double mean_difference_p(std::span<const double> totals1, std::span<const double> sizes1,
                         std::span<const double> totals2, std::span<const double> sizes2, double limit);

// Interval of p01 - p10, the second's rate minus the first's, on paired samples: Wald after adding 1/2 to each of the
// four counts (Agresti and Min 2005). Never of zero width.
Interval paired_difference_interval(std::int64_t only_first, std::int64_t only_second, std::int64_t n,
                                    double confidence = 0.95);
// Interval of the second's rate minus the first's, unpaired: Newcombe's hybrid score interval (1998, method 10).
Interval unpaired_difference_interval(std::int64_t right1, std::int64_t n1, std::int64_t right2, std::int64_t n2,
                                      double confidence = 0.95);
// Interval of the second ratio minus the first, unpaired (Welch). [-inf, inf] below two samples on a side.
Interval mean_difference_interval(std::span<const double> totals1, std::span<const double> sizes1,
                                  std::span<const double> totals2, std::span<const double> sizes2,
                                  double confidence = 0.95);

// The smallest drop that paired_drop_p with `smallest_drop` calls significant at `level` with probability `power`, on
// `n` paired samples where the second alone is right at the rate `gain_rate` (normal approximation; at most 1).
double detectable_paired_drop(std::int64_t n, double gain_rate, double smallest_drop, double level, double power);

// Normal quantile: the z with P(Z <= z) = probability.
double normal_quantile(double probability);

}  // namespace lenbench
