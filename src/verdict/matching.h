// Which cell of one side answers which cell of the other, and why some do not.
#pragma once

#include <string>
#include <vector>

#include "verdict/cell.h"

namespace lenbench {

enum class Pairing {
  kPaired,         // the same question: sample i of one side is sample i of the other
  kUnpaired,       // the same but for the data seed: other samples of one distribution
  kNotComparable,  // another question under the same task and length
  kMissing,        // on the first side only
  kNew,            // on the second side only
};

struct CellPair {
  std::string name;  // display name
  Pairing pairing = Pairing::kNew;
  const GateCell* first = nullptr;   // none when new
  const GateCell* second = nullptr;  // none when missing
  std::string why;                   // not comparable or unpaired: the differences in words
};

// Every cell of both sides exactly once: those of `first` in order, then the new ones. Equal questions pair before
// others; the rest pairs by task and length. The pointers lead into the arguments. Requires distinct questions on each
// side.
std::vector<CellPair> match_cells(const std::vector<GateCell>& first, const std::vector<GateCell>& second);

// "task version 1 against 2, density 8 against 4"; empty when nothing but the data seed differs.
std::string question_differences(const Question& first, const Question& second);

}  // namespace lenbench
