// A baseline: what a model answered on the day it was good, small enough to commit. Format: docs/ci-gate.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "verdict/cell.h"
#include "verdict/policy.h"

namespace lenbench {

inline constexpr int kBaselineSchema = 1;

struct Baseline {
  std::string written_at;     // ISO 8601, UTC
  std::string source_commit;  // of the repository under test; empty: unknown
  std::string sha256;         // of the file's bytes, when read
  Policy policy;
  std::vector<GateCell> cells;
};

// Outcomes as hexadecimal digits: four samples a digit, the first sample in the highest bit, zeros behind the last.
std::string pack_outcomes(const std::string& outcomes);
// Throws Error opening with `where` on another digit, a length that does not fit `samples`, or bits behind the last.
std::string unpack_outcomes(const std::string& hex, std::int64_t samples, const std::string& where);

// True when the bytes look like a baseline rather than Records.
bool is_baseline(const std::string& bytes);

// Pretty JSON, a cell a line, closed by LF. Throws Error (exit 3) when a cell is not ok: a baseline holds results.
std::string baseline_text(const Baseline& baseline);

// Throws Error opening with `path` on a newer schema, an unknown key, a wrong type, a question that occurs twice, or
// outcomes that do not fit.
Baseline parse_baseline(const std::string& bytes, const std::string& path);

// The cells of `update` replace those of equal question or, failing that, of equal task and length; with `names` (short
// or display names) only those, else all. Cells that the baseline does not have are added. Returns the names of the
// cells that changed or were added. Throws Error when one of `names` is not in `update`.
std::vector<std::string> update_cells(Baseline& baseline, const std::vector<GateCell>& update,
                                      const std::vector<std::string>& names);

}  // namespace lenbench
