// Newton on the beta-norm for one row, one loop per kind of alpha.
#include "kernels/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lenbench::kernels {
namespace {

// `terms(x, weight, slope)` gives x^beta and x^(beta-1) for x > 0; `companion(F)` is F^(1 - 1/beta).
template <typename Data, typename Sum, typename Terms, typename Companion>
Threshold solve(const Data* scores, std::int64_t count, Sum scale, const Terms& terms, const Companion& companion) {
  Threshold found;
  const Data top = *std::max_element(scores, scores + count);
  found.top = static_cast<double>(top);
  Sum t = -1;
  const Sum enough = 1 + 8 * std::numeric_limits<Sum>::epsilon();
  for (found.rounds = 1; found.rounds <= 100; ++found.rounds) {
    Sum f = 0, g = 0;
    for (std::int64_t begin = 0; begin < count; begin += 64) {
      Sum part_f = 0, part_g = 0;
      for (std::int64_t j = begin; j < std::min(begin + 64, count); ++j) {
        const Sum x = scale * (static_cast<Sum>(scores[j]) - static_cast<Sum>(top)) - t;
        if (x > 0) terms(x, part_f, part_g);
      }
      f += part_f;
      g += part_g;
    }
    const Sum next = t + (f - companion(f)) / g;
    if (!(next > t) || next >= 0) break;
    t = next;
    if (f <= enough) break;
  }
  found.shifted = static_cast<double>(t);
  return found;
}

}  // namespace

template <typename Data, typename Sum>
Threshold entmax_threshold(const Data* scores, std::int64_t count, double alpha) {
  const Sum scale = static_cast<Sum>(alpha - 1);
  if (alpha == 1.5)
    return solve<Data, Sum>(
        scores, count, scale, [](Sum x, Sum& f, Sum& g) { f += x * x, g += x; }, [](Sum f) { return std::sqrt(f); });
  if (alpha == 2)
    return solve<Data, Sum>(
        scores, count, scale, [](Sum x, Sum& f, Sum& g) { f += x, g += 1; }, [](Sum) { return Sum(1); });
  const Sum beta = static_cast<Sum>(1 / (alpha - 1));
  return solve<Data, Sum>(
      scores, count, scale,
      [beta](Sum x, Sum& f, Sum& g) {
        const Sum slope = std::pow(x, beta - 1);
        f += slope * x, g += slope;
      },
      [beta](Sum f) { return std::pow(f, 1 - 1 / beta); });
}

template Threshold entmax_threshold<float, float>(const float*, std::int64_t, double);
template Threshold entmax_threshold<float, double>(const float*, std::int64_t, double);
template Threshold entmax_threshold<double, double>(const double*, std::int64_t, double);

}  // namespace lenbench::kernels
