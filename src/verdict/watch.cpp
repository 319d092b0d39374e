// Three betting processes per cell, and the order in which cells are measured.
#include "verdict/watch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "base/names.h"

namespace lenbench {

namespace {

constexpr double kWorseShare = 0.5;  // of the level, for looking after every sample
constexpr double kSameShare = 0.8;

double combined(double p_betting, double p_fixed, double share) {
  return std::min({1.0, p_betting / share, p_fixed / (1 - share)});
}

}  // namespace

CellWatch::CellWatch(const GateCell& baseline, const Policy& policy, std::int64_t family, bool may_stop)
    : baseline_(&baseline),
      may_stop_(may_stop && !baseline.is_perplexity()),
      worse_threshold_(-std::log(kWorseShare * test_levels(policy, family).level)),
      same_threshold_(-std::log(kSameShare * policy.alpha)),
      same_within_(policy.same_within),
      worse_(policy.smallest_effect),
      better_(policy.smallest_effect),
      same_(-policy.same_within) {}

void CellWatch::add(std::string_view outcomes) {
  if (baseline_->is_perplexity() || seen_ + static_cast<std::int64_t>(outcomes.size()) > samples()) {
    throw std::logic_error("CellWatch: more outcomes than the baseline has");
  }
  for (const char outcome : outcomes) {
    const int was = baseline_->outcomes[static_cast<std::size_t>(seen_++)] == '1' ? 1 : 0;
    const int loss = was - (outcome == '1' ? 1 : 0);
    worse_.add(loss);
    better_.add(-loss);
    same_.add(-loss);
  }
}

bool CellWatch::decided() const {
  if (!may_stop_) return false;
  if (worse_.max_log_wealth() >= worse_threshold_ || better_.max_log_wealth() >= worse_threshold_) return true;
  // A cell that is on its way to another verdict goes on.
  constexpr double kOnItsWay = 1;
  return same_.max_log_wealth() >= same_threshold_ && std::max(worse_.log_wealth(), better_.log_wealth()) < kOnItsWay;
}

double CellWatch::expected_samples_left() const {
  const auto left = static_cast<double>(samples() - seen_);
  if (!may_stop_) return left;
  if (seen_ == 0) return std::min(left, same_threshold_ / std::log1p(same_within_));
  double fewest = left;
  const auto consider = [&](const BettingProcess& process, double threshold) {
    const double growth = process.log_wealth() / static_cast<double>(seen_);
    if (growth > 0) fewest = std::min(fewest, std::max(0.0, threshold - process.log_wealth()) / growth);
  };
  consider(worse_, worse_threshold_);
  consider(better_, worse_threshold_);
  consider(same_, same_threshold_);
  return fewest;
}

WatchedCell CellWatch::result(const Evidence& fixed, bool complete) const {
  WatchedCell result;
  if (baseline_->is_perplexity()) {
    // Never stopped by its own evidence: the fixed-sample test is the only look.
    result = {fixed.p_worse, fixed.p_better, fixed.p_not_same, ""};
  } else {
    const auto p_fixed = [&](double p) { return complete ? p : 1.0; };
    result.p_worse = combined(worse_.p_value(), p_fixed(fixed.p_worse), kWorseShare);
    result.p_better = combined(better_.p_value(), p_fixed(fixed.p_better), kWorseShare);
    result.p_not_same = combined(same_.p_value(), p_fixed(fixed.p_not_same), kSameShare);
  }
  if (!complete) {
    result.note = (decided() ? "certain after " : "cut short after ") + std::to_string(seen_) + " of " +
                  std::to_string(samples()) + " samples";
  }
  return result;
}

std::size_t next_cell(const std::vector<QueuedCell>& queue) {
  std::size_t best = queue.size();
  const auto rank = [&](std::size_t i) {
    return std::tuple(!queue[i].can_lose, queue[i].expected_samples_left * queue[i].seconds_per_sample, i);
  };
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (queue[i].open && (best == queue.size() || rank(i) < rank(best))) best = i;
  }
  return best;
}

}  // namespace lenbench
