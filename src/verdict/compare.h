// Two sides cell by cell: how far apart, how surely, and how many samples flipped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verdict/evidence.h"
#include "verdict/matching.h"

namespace lenbench {

struct ComparedCell {
  std::string name;
  Pairing pairing = Pairing::kNew;
  std::optional<Evidence> evidence;  // when both sides can be compared
  std::string why;                   // why they cannot, or why samples are not paired
};

// Every cell of both sides once, in the order of `first`, then those that only `second` has.
std::vector<ComparedCell> compare_cells(const std::vector<GateCell>& first, const std::vector<GateCell>& second);

// The formats of compare_text().
std::vector<std::string> compare_formats();

// `format` is one of them. The names head the two columns of values.
std::string compare_text(const std::vector<ComparedCell>& cells, const std::string& format,
                         const std::string& first_name, const std::string& second_name);

}  // namespace lenbench
