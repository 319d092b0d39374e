// What the samples of one pair of cells say, as p-values for the three claims that verdicts rest on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "verdict/matching.h"
#include "verdict/policy.h"

namespace lenbench {

struct Evidence {
  bool is_perplexity = false;
  bool paired = false;
  std::int64_t n = 0;      // samples compared; unpaired: those of the smaller side
  double first_value = 0;  // accuracy, or perplexity, over the samples compared
  double second_value = 0;
  double change = 0, low = 0, high = 0;  // second - first with its 95 % interval; perplexity: relative
  std::int64_t lost = 0, gained = 0;     // paired accuracy: right on one side only
  double p_worse = 1;                    // of "no loss beyond the smallest effect"
  double p_better = 1;                   // of "no gain beyond the smallest effect"
  double p_not_same = 1;                 // of "a loss of same_within or more"
  double detectable = 0;                 // smallest loss found with probability 0.8 at this n and level
  std::int64_t deciding_n = 0;           // samples that would decide if the rates stay as seen
};

// Levels at which a single cell is decided: those of the family divided by its size (the first step of Holm's
// procedure). `gamma` is the price of not knowing nuisance rates, a small part of `level`.
struct TestLevels {
  double level = 0.05;       // of worse and better, for one cell
  double same_level = 0.05;  // of "same"
  double gamma = 0.0025;
};

// Requires both sides, status ok, and pairing kPaired or kUnpaired. Samples with indices on one side only are left out
// of a paired comparison.
Evidence weigh(const CellPair& pair, const Policy& policy, const TestLevels& levels);

// p-value of "the loss is at most `size`", for acknowledged losses; `size` as Acknowledgement::max_drop.
double loss_beyond_p(const CellPair& pair, double size, double gamma);

}  // namespace lenbench
