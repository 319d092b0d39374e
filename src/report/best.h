// Which values of a column are the best, as far as the samples can tell.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "report/kept.h"

namespace lenbench {

// One row's part in a column: its repeats with a value, and that value.
struct Contender {
  double value = 0;
  Repeats repeats;
};

// For each contender whether it is the best or not told apart from it at 5 %: the others are tested against the best,
// two-sided, and Holm's adjustment covers the column. All false when no contender is told apart from the best.
//
// The test of one pair, the first that applies; its name goes to `tests`:
// - one repeat or more, the same data seeds and one checkpoint each, outcomes kept: McNemar's exact test on the same
//   samples (exact match, and accuracies that count one answer a sample);
// - the same with perplexity: Student's t over the samples' differences in nats a token;
// - one repeat each: the score test for two proportions, with the counts that the intervals show (which are smaller
//   than the number of answers where answers share a sample);
// - several checkpoints each: Welch's t over checkpoints;
// - else the two are not told apart.
std::vector<bool> best_of_column(const std::vector<Contender>& contenders, std::size_t which, Metric metric,
                                 std::set<std::string>& tests);

// The number of independent answers that a 95 % Wilson interval of `value` shows. Requires low < high.
double effective_count(double value, double low, double high);

}  // namespace lenbench
