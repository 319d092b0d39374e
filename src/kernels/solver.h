// The alpha-entmax threshold of one row by Newton's method on the beta-norm.
#pragma once

#include <cstdint>

namespace lenbench::kernels {

// p_j = max((alpha-1) (s_j - top) - shifted, 0)^(1/(alpha-1)) sums to 1.
struct Threshold {
  double top = 0;      // largest score
  double shifted = 0;  // in [-1, 0]; tau of the unshifted definition is shifted + (alpha-1) * top
  int rounds = 0;      // evaluations of the sum
};

// For 1 < alpha <= 2 and count >= 1 finite scores. The beta-norm of the positive part is convex and decreasing with a
// slope of at most -1, so Newton's steps from -1 rise monotonically and never overshoot: no bracket, no sort, and one
// step when all scores tie (docs/kernels.md). `Sum` is what sums are kept in: float loses digits beyond 1e5 keys.
template <typename Data, typename Sum>
Threshold entmax_threshold(const Data* scores, std::int64_t count, double alpha);

extern template Threshold entmax_threshold<float, float>(const float*, std::int64_t, double);
extern template Threshold entmax_threshold<float, double>(const float*, std::int64_t, double);
extern template Threshold entmax_threshold<double, double>(const double*, std::int64_t, double);

}  // namespace lenbench::kernels
