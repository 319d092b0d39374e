// Paired, unpaired and perplexity comparisons of two cells.
#include "verdict/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/drop_tests.h"
#include "stats/intervals.h"
#include "stats/sums.h"

namespace lenbench {

namespace {

constexpr double kPower = 0.8;
constexpr double kMostSamples = 1e12;  // a plan beyond this says no more than "very many"

struct Counts {
  std::int64_t n = 0, lost = 0, gained = 0, first_right = 0, second_right = 0;
};

Counts paired_counts(const GateCell& first, const GateCell& second) {
  Counts counts;
  counts.n = std::min(first.samples(), second.samples());
  for (std::size_t i = 0; i < static_cast<std::size_t>(counts.n); ++i) {
    const bool was = first.outcomes[i] == '1', is = second.outcomes[i] == '1';
    counts.first_right += was ? 1 : 0;
    counts.second_right += is ? 1 : 0;
    counts.lost += was && !is ? 1 : 0;
    counts.gained += is && !was ? 1 : 0;
  }
  return counts;
}

std::int64_t right_of(const GateCell& cell) {
  return static_cast<std::int64_t>(std::count(cell.outcomes.begin(), cell.outcomes.end(), '1'));
}

double rate(std::int64_t right, std::int64_t n) { return static_cast<double>(right) / static_cast<double>(n); }

// The fewest samples at which a z-test would decide for one of the verdicts, when the loss stays `loss` and the
// variance of one sample's difference `variance`.
std::int64_t samples_to_decide(double loss, double variance, double smallest, double same_within,
                               const TestLevels& levels, std::int64_t n, double at_least) {
  const double z_worse = normal_quantile(1 - levels.level), z_same = normal_quantile(1 - levels.same_level);
  double fewest = kMostSamples;
  const auto consider = [&](double z, double margin) {
    if (margin > 0) fewest = std::min(fewest, z * z * variance / (margin * margin));
  };
  consider(z_worse, loss - smallest);
  consider(z_worse, -loss - smallest);
  consider(z_same, same_within - loss);
  fewest = std::max(fewest, at_least);
  return std::max(n + 1, static_cast<std::int64_t>(std::ceil(fewest)));
}

// Samples without a single loss that exclude a loss of same_within: (1 - same_within)^n = level / 2.
double none_of_n(const Policy& policy, const TestLevels& levels) {
  return std::log(levels.same_level / 2) / std::log1p(-policy.same_within);
}

// "At most a loss of same_within": by the samples lost alone, which needs no nuisance rate and fewest samples where
// nothing flips, or by losses less gains; each at half the level.
double paired_not_same_p(const Counts& counts, double same_within, const TestLevels& levels) {
  const double by_losses = below_floor_p(counts.lost, counts.n, same_within);
  if (2 * by_losses <= levels.same_level) return 2 * by_losses;
  return std::min(
      1.0, 2 * std::min(by_losses, paired_drop_p(counts.gained, counts.lost, counts.n, -same_within, levels.gamma)));
}

void weigh_paired(const Counts& counts, const Policy& policy, const TestLevels& levels, Evidence& evidence) {
  evidence.n = counts.n;
  evidence.lost = counts.lost;
  evidence.gained = counts.gained;
  evidence.first_value = rate(counts.first_right, counts.n);
  evidence.second_value = rate(counts.second_right, counts.n);
  const Interval interval = paired_difference_interval(counts.lost, counts.gained, counts.n);
  evidence.change = rate(counts.gained, counts.n) - rate(counts.lost, counts.n);
  evidence.low = interval.low;
  evidence.high = interval.high;
  evidence.p_worse = paired_drop_p(counts.lost, counts.gained, counts.n, policy.smallest_effect, levels.gamma);
  evidence.p_better = paired_drop_p(counts.gained, counts.lost, counts.n, policy.smallest_effect, levels.gamma);
  evidence.p_not_same = paired_not_same_p(counts, policy.same_within, levels);
  const double gain_rate = rate(counts.gained, counts.n);
  evidence.detectable = detectable_paired_drop(counts.n, gain_rate, policy.smallest_effect, levels.level, kPower);
  evidence.deciding_n =
      samples_to_decide(-evidence.change, rate(counts.lost + counts.gained, counts.n), policy.smallest_effect,
                        policy.same_within, levels, counts.n, none_of_n(policy, levels));
}

void weigh_unpaired(const GateCell& first, const GateCell& second, const Policy& policy, const TestLevels& levels,
                    Evidence& evidence) {
  const std::int64_t n1 = first.samples(), n2 = second.samples();
  const std::int64_t right1 = right_of(first), right2 = right_of(second);
  evidence.n = std::min(n1, n2);
  evidence.first_value = rate(right1, n1);
  evidence.second_value = rate(right2, n2);
  evidence.change = evidence.second_value - evidence.first_value;
  const Interval interval = unpaired_difference_interval(right1, n1, right2, n2);
  evidence.low = interval.low;
  evidence.high = interval.high;
  evidence.p_worse = unpaired_drop_p(right1, n1, right2, n2, policy.smallest_effect, levels.gamma);
  evidence.p_better = unpaired_drop_p(right2, n2, right1, n1, policy.smallest_effect, levels.gamma);
  evidence.p_not_same = unpaired_drop_p(right2, n2, right1, n1, -policy.same_within, levels.gamma);
  const double variance1 = evidence.first_value * (1 - evidence.first_value);
  const double z = normal_quantile(1 - levels.level) + normal_quantile(kPower);
  // The variance grows with the loss itself; the fixed point is reached in a few steps.
  double loss = policy.smallest_effect;
  for (int i = 0; i < 64; ++i) {
    const double second_rate = std::clamp(evidence.first_value - loss, 0.0, 1.0);
    loss = policy.smallest_effect + z * std::sqrt(variance1 / static_cast<double>(n1) +
                                                  second_rate * (1 - second_rate) / static_cast<double>(n2));
  }
  evidence.detectable = std::min(1.0, loss);
  const double variance = variance1 + evidence.second_value * (1 - evidence.second_value);
  evidence.deciding_n = samples_to_decide(-evidence.change, variance, policy.smallest_effect, policy.same_within,
                                          levels, evidence.n, none_of_n(policy, levels));
}

struct Nats {
  std::vector<double> totals, sizes;
  double per_token() const { return sum(totals) / sum(sizes); }
};

Nats nats_of(const GateCell& cell, std::int64_t n) {
  return {{cell.nats.begin(), cell.nats.begin() + n}, {cell.tokens.begin(), cell.tokens.begin() + n}};
}

std::vector<double> less(const std::vector<double>& left, const std::vector<double>& right) {
  std::vector<double> difference(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) difference[i] = left[i] - right[i];
  return difference;
}

void weigh_perplexity(const GateCell& first, const GateCell& second, const Policy& policy, const TestLevels& levels,
                      Evidence& evidence) {
  const double smallest = std::log1p(policy.smallest_perplexity_rise);
  const double same_within = std::log1p(policy.perplexity_same_within);
  evidence.n = std::min(first.samples(), second.samples());
  const Nats was = nats_of(first, evidence.paired ? evidence.n : first.samples());
  const Nats is = nats_of(second, evidence.paired ? evidence.n : second.samples());
  evidence.first_value = std::exp(was.per_token());
  evidence.second_value = std::exp(is.per_token());
  const double rise = is.per_token() - was.per_token();
  Interval interval;
  if (evidence.paired) {
    const std::vector<double> rises = less(is.totals, was.totals), falls = less(was.totals, is.totals);
    interval = mean_interval(rises, is.sizes);
    evidence.p_worse = mean_excess_p(rises, is.sizes, smallest);
    evidence.p_better = mean_excess_p(falls, is.sizes, smallest);
    evidence.p_not_same = mean_excess_p(falls, is.sizes, -same_within);
  } else {
    interval = mean_difference_interval(was.totals, was.sizes, is.totals, is.sizes);
    evidence.p_worse = mean_difference_p(is.totals, is.sizes, was.totals, was.sizes, smallest);
    evidence.p_better = mean_difference_p(was.totals, was.sizes, is.totals, is.sizes, smallest);
    evidence.p_not_same = mean_difference_p(was.totals, was.sizes, is.totals, is.sizes, -same_within);
  }
  evidence.change = std::expm1(rise);
  evidence.low = std::expm1(interval.low);
  evidence.high = std::expm1(interval.high);
  if (evidence.n < 2) {
    evidence.deciding_n = 2;
    evidence.detectable = std::numeric_limits<double>::infinity();
    return;
  }
  // The interval's half width is a t quantile times the standard error; close enough to plan with.
  const double error = (interval.high - interval.low) / 2 / normal_quantile(0.975);
  evidence.detectable = std::expm1(smallest + (normal_quantile(1 - levels.level) + normal_quantile(kPower)) * error);
  evidence.deciding_n = samples_to_decide(rise, error * error * static_cast<double>(evidence.n), smallest, same_within,
                                          levels, evidence.n, 0);
}

}  // namespace

Evidence weigh(const CellPair& pair, const Policy& policy, const TestLevels& levels) {
  const GateCell &first = *pair.first, &second = *pair.second;
  Evidence evidence;
  evidence.is_perplexity = first.is_perplexity();
  evidence.paired = pair.pairing == Pairing::kPaired;
  if (evidence.is_perplexity) {
    weigh_perplexity(first, second, policy, levels, evidence);
  } else if (evidence.paired) {
    weigh_paired(paired_counts(first, second), policy, levels, evidence);
  } else {
    weigh_unpaired(first, second, policy, levels, evidence);
  }
  return evidence;
}

double loss_beyond_p(const CellPair& pair, double size, double gamma) {
  Policy policy;
  policy.smallest_effect = size;
  policy.smallest_perplexity_rise = size;
  return weigh(pair, policy, {.level = 0.05, .same_level = 0.05, .gamma = gamma}).p_worse;
}

}  // namespace lenbench
