// An anytime-valid test of a mean: look after every sample, stop whenever you like.
#pragma once

#include <array>
#include <cstddef>

namespace lenbench {

// Evidence against "every outcome's expectation, given those before it, is at most `mean`", for outcomes in {-1, 0, 1}.
// Wealth of a gambler who starts with 1 and bets on the outcomes (Waudby-Smith and Ramdas 2024, section 4): a mixture
// over fixed stakes s of the products of 1 + s (x - mean). With 0 <= s <= 1 / (1 + mean) no factor is negative, and
// under the claim each has an expectation of at most 1 given the past, so that the mixture is a non-negative
// supermartingale with start 1. Ville's inequality (1939): the probability that it ever reaches 1/a is at most a.
// Hence 1 / max_wealth() is a p-value at any stopping time.
class BettingProcess {
 public:
  // Requires -1 < mean < 1; throws std::invalid_argument.
  explicit BettingProcess(double mean);
  // Requires -1 <= outcome <= 1; throws std::invalid_argument.
  void add(double outcome);
  double log_wealth() const;
  double max_log_wealth() const { return max_log_wealth_; }
  double p_value() const;  // min(1, 1 / max wealth)

 private:
  static constexpr std::size_t kStakes = 5;
  double mean_;
  std::array<double, kStakes> stakes_, log_products_;  // log_products_ may be -infinity: that gambler is broke
  double max_log_wealth_ = 0;
};

}  // namespace lenbench
