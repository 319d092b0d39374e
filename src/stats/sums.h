// Sums that lose nothing over millions of terms.
#pragma once

#include <cmath>
#include <span>

namespace lenbench {

// Neumaier's compensated sum (1974): error of the order of one rounding, whatever the number of terms.
class CompensatedSum {
 public:
  void add(double term) {
    const double next = sum_ + term;
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  // Infinity and NaN pass through.
  double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

double sum(std::span<const double> terms);
double sum(std::span<const float> terms);

}  // namespace lenbench
