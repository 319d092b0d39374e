// Exact test for paired outcomes, and correction for many tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lenbench {

// McNemar's exact test on samples that two subjects answered: `only_first` right for the first alone, `only_second` for
// the second alone; the other samples say nothing. Two-sided: min(1, 2 P(X <= min)), X binomial(sum, 1/2). 1 when both
// are 0. Throws std::invalid_argument on a negative count.
double mcnemar_exact(std::int64_t only_first, std::int64_t only_second);
// One-sided: the probability of at most `only_second` right for the second alone when neither is better. Small when the
// second is worse.
double mcnemar_exact_worse(std::int64_t only_first, std::int64_t only_second);

// Student's t test that the mean of paired differences is 0, two-sided. Differences that are all equal are certain:
// 1 when they are 0, else 0. Requires at least two; throws std::invalid_argument.
double paired_t_test(std::span<const double> differences);

// Two-sided p-value of a sum of paired differences under the hypothesis that each may as well have the other sign
// (Fisher's randomization test; with differences of -1, 0 and 1 it is McNemar's exact test). Exact where the work
// allows it; from the normal distribution with the same variance where the differences are so many and so large that
// both give the same.
double sign_flip_test(std::span<const std::int64_t> differences);
// Welch's t test (1947) that two means are equal, two-sided, for unequal variances. Requires at least two values each.
double welch_t_test(std::span<const double> first, std::span<const double> second);
// The score test that two independent proportions are equal (Pearson's chi-squared), two-sided. Counts may be effective
// ones. 1 when both are 0 or both are 1. Requires shares of [0, 1] and positive counts; throws std::invalid_argument.
double two_proportions_test(double first, double first_count, double second, double second_count);

// Holm's step-down adjustment (1979): p-values to compare with the family's level, in the order given. Never below the
// raw value, never above 1. Throws std::invalid_argument on a value outside [0, 1].
std::vector<double> holm_adjust(std::span<const double> p_values);

}  // namespace lenbench
