// Which values of a column are the best, as far as the samples can tell.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/kept.h"

namespace lenbench {

// One row's part in a column: its repeats with a value, and what the cell shows.
struct Contender {
  double value = 0;
  std::optional<double> low, high;
  Repeats repeats;
};

// For each contender whether it is the best or not told apart from it at 5 %: the others are tested against the best,
// two-sided, and Holm's adjustment covers the column. All false when no contender is told apart from the best. One that
// cannot be tested against the best is not marked.
//
// The test of one pair, the first that applies; its name goes to `tests`:
// - one checkpoint each, the same data seeds, several answers a sample whose outcomes were kept: the sign-flip test
//   over samples (answers of one sample are not independent);
// - the same with outcomes of samples: McNemar's exact test on the same samples (exact match, and
//   accuracies that count one answer a sample);
// - the same with perplexity: Student's t over the samples' differences in nats a token;
// - one checkpoint each, proportions: the score test of two proportions, with the counts that the intervals show (which
//   are smaller than the number of answers where answers share a sample);
// - several checkpoints each: Welch's t over checkpoints.
std::vector<bool> best_of_column(const std::vector<Contender>& contenders, std::size_t which, Metric metric,
                                 std::set<std::string>& tests);

// The number of independent answers that a 95 % Wilson interval of `value` shows. Requires low < high.
double effective_count(double value, double low, double high);

}  // namespace lenbench
