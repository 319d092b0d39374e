// The mixture over stakes, in logarithms.
#include "stats/betting.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lenbench {

namespace {

// The whole stake doubles with every loss in a clear cell and grows fastest where nothing flips; the small ones keep
// the process alive where losses and gains mix. Weights sum to 1.
constexpr std::array<double, 5> kFractions = {1.0, 0.5, 0.25, 0.125, 0.0625};
constexpr std::array<double, 5> kWeights = {0.6, 0.2, 0.1, 0.05, 0.05};

}  // namespace

BettingProcess::BettingProcess(double mean) : mean_(mean) {
  if (!(mean > -1 && mean < 1)) throw std::invalid_argument("BettingProcess: the mean lies outside (-1, 1)");
  for (std::size_t i = 0; i < kStakes; ++i) stakes_[i] = kFractions[i] / (1 + mean);
  log_products_.fill(0);
}

void BettingProcess::add(double outcome) {
  if (!(outcome >= -1 && outcome <= 1)) throw std::invalid_argument("BettingProcess: an outcome lies outside [-1, 1]");
  for (std::size_t i = 0; i < kStakes; ++i) {
    log_products_[i] += std::log(std::max(0.0, 1 + stakes_[i] * (outcome - mean_)));
  }
  max_log_wealth_ = std::max(max_log_wealth_, log_wealth());
}

double BettingProcess::log_wealth() const {
  const double largest = *std::max_element(log_products_.begin(), log_products_.end());
  if (!std::isfinite(largest)) return largest;
  double sum = 0;
  for (std::size_t i = 0; i < kStakes; ++i) sum += kWeights[i] * std::exp(log_products_[i] - largest);
  return largest + std::log(sum);
}

double BettingProcess::p_value() const { return std::exp(-max_log_wealth_); }

}  // namespace lenbench
