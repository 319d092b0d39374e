// Tests against the best of a column.
#include "report/best.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "report/reading.h"
#include "stats/intervals.h"
#include "stats/tests.h"

namespace lenbench {

namespace {

constexpr double kLevel = 0.05;

bool one_checkpoint(const Repeats& repeats) {
  return std::all_of(repeats.begin(), repeats.end(),
                     [&](const Kept* kept) { return kept->repeat.checkpoint == repeats.front()->repeat.checkpoint; });
}

// The repeats of both, pair by pair, when they answered the same samples.
bool paired(const Repeats& a, const Repeats& b) {
  if (a.size() != b.size() || !one_checkpoint(a) || !one_checkpoint(b)) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i]->repeat.data_seed != b[i]->repeat.data_seed || a[i]->samples != b[i]->samples) return false;
  }
  return true;
}

std::optional<double> mcnemar(const Repeats& a, const Repeats& b) {
  PairedCounts total;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i]->outcomes.empty() || b[i]->outcomes.empty()) return std::nullopt;
    const PairedCounts counts = paired_counts(a[i]->outcomes, b[i]->outcomes);
    total.only_first += counts.only_first;
    total.only_second += counts.only_second;
  }
  return mcnemar_exact(total.only_first, total.only_second);
}

// Of accuracies of several answers a sample: whose sums of right answers differ.
std::optional<double> sign_flips(const Repeats& a, const Repeats& b) {
  std::vector<std::int64_t> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i]->answers.empty() || a[i]->answers.size() != b[i]->answers.size()) return std::nullopt;
    for (std::size_t k = 0; k < a[i]->answers.size(); ++k) {
      differences.push_back(std::int64_t{a[i]->answers[k]} - std::int64_t{b[i]->answers[k]});
    }
  }
  return sign_flip_test(differences);
}

std::optional<double> paired_t(const Repeats& a, const Repeats& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i]->nats.empty() || a[i]->nats.size() != b[i]->nats.size()) return std::nullopt;
    for (std::size_t k = 0; k < a[i]->nats.size(); ++k) {
      differences.push_back(static_cast<double>(a[i]->nats[k]) - static_cast<double>(b[i]->nats[k]));
    }
  }
  if (differences.size() < 2) return std::nullopt;
  return paired_t_test(differences);
}

std::optional<double> score(const Contender& a, const Contender& b) {
  if (!a.low || !a.high || !b.low || !b.high) return std::nullopt;
  return two_proportions_test(a.value, effective_count(a.value, *a.low, *a.high), b.value,
                              effective_count(b.value, *b.low, *b.high));
}

std::vector<double> checkpoint_means(const Repeats& repeats, std::size_t which) {
  std::map<std::uint32_t, std::vector<double>> values;
  for (const Kept* kept : repeats) values[kept->repeat.checkpoint].push_back(kept->values[which].value);
  std::vector<double> means;
  for (const auto& [checkpoint, list] : values) {
    double sum = 0;
    for (const double value : list) sum += value;
    means.push_back(sum / static_cast<double>(list.size()));
  }
  return means;
}

// None when no test applies.
std::optional<double> p_value(const Contender& best, const Contender& other, std::size_t which, Metric metric,
                              std::set<std::string>& tests) {
  if (metric == Metric::kAnswer && paired(best.repeats, other.repeats)) {
    if (const std::optional<double> p = sign_flips(best.repeats, other.repeats)) {
      tests.insert("sign-flip test over the same samples' right answers");
      return p;
    }
  }
  // Outcomes and nats were kept for the first metric.
  if (which == 0 && paired(best.repeats, other.repeats)) {
    if (const std::optional<double> p = mcnemar(best.repeats, other.repeats)) {
      tests.insert("exact McNemar on the same samples");
      return p;
    }
    if (const std::optional<double> p = paired_t(best.repeats, other.repeats)) {
      tests.insert("Student t over the same samples");
      return p;
    }
  }
  if (is_proportion(metric) && one_checkpoint(best.repeats) && one_checkpoint(other.repeats)) {
    if (const std::optional<double> p = score(best, other)) {
      tests.insert("score test of two proportions with the counts that the intervals show");
      return p;
    }
  }
  const std::vector<double> a = checkpoint_means(best.repeats, which), b = checkpoint_means(other.repeats, which);
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  tests.insert("Welch t over checkpoints");
  return welch_t_test(a, b);
}

}  // namespace

double effective_count(double value, double low, double high) {
  // The width of Wilson's interval falls with n: bisection over log2 n.
  double few = 0, many = 60;
  for (int i = 0; i < 80; ++i) {
    const double middle = (few + many) / 2;
    const double n = std::exp2(middle);
    const Interval interval = wilson(value * n, n);
    (interval.high - interval.low > high - low ? few : many) = middle;
  }
  return std::exp2((few + many) / 2);
}

std::vector<bool> best_of_column(const std::vector<Contender>& contenders, std::size_t which, Metric metric,
                                 std::set<std::string>& tests) {
  std::vector<bool> marked(contenders.size(), false);
  if (contenders.size() < 2 || is_attention(metric)) return marked;
  std::size_t best = 0;
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    const double value = contenders[i].value, leader = contenders[best].value;
    if (smaller_is_better(metric) ? value < leader : value > leader) best = i;
  }
  std::vector<double> p_values;
  std::vector<std::size_t> tested;
  std::set<std::string> used;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (i == best) continue;
    const std::optional<double> p = p_value(contenders[best], contenders[i], which, metric, used);
    if (!p) continue;
    p_values.push_back(*p);
    tested.push_back(i);
  }
  const std::vector<double> adjusted = holm_adjust(p_values);
  if (std::none_of(adjusted.begin(), adjusted.end(), [](double p) { return p < kLevel; })) return marked;
  tests.insert(used.begin(), used.end());
  marked[best] = true;
  for (std::size_t i = 0; i < tested.size(); ++i) marked[tested[i]] = adjusted[i] >= kLevel;
  return marked;
}

}  // namespace lenbench
