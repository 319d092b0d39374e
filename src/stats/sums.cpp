// Compensated sums over spans.
#include "stats/sums.h"

namespace lenbench {

namespace {

template <class Number>
double compensated(std::span<const Number> terms) {
  CompensatedSum total;
  for (const Number term : terms) total.add(term);
  return total.value();
}

}  // namespace

double sum(std::span<const double> terms) { return compensated(terms); }
double sum(std::span<const float> terms) { return compensated(terms); }

}  // namespace lenbench
