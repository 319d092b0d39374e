// Verdicts over a whole check: which cells lost accuracy for certain, which did not, and which nobody can tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "verdict/evidence.h"
#include "verdict/matching.h"
#include "verdict/policy.h"

namespace lenbench {

// Worst first: the order of every report.
enum class Verdict {
  kWorse,          // certainly lost more than the smallest effect, or certainly beyond a limit
  kMissing,        // in the baseline and not measured
  kFailed,         // measured without a usable result
  kNotComparable,  // another question
  kUndecided,      // neither a loss nor its absence is certain at this n
  kNew,            // measured and not in the baseline
  kBetter,         // certainly gained more than the smallest effect
  kSame,           // a loss of same_within or more is excluded
};

// "worse", "missing", "failed", "not-comparable", "undecided", "new", "better", "same".
std::string verdict_name(Verdict verdict);

struct CellVerdict {
  std::string name, cell;  // display name; short name
  Verdict verdict = Verdict::kUndecided;
  std::string why;                   // one line
  bool red = false;                  // makes the check fail with exit code 1
  bool acknowledged = false;         // would be red without an acknowledgement
  std::optional<Evidence> evidence;  // when samples were compared
  double p_worse = 1;                // adjusted by Holm's procedure over the check
  bool is_limit = false;             // a floor or a ceiling, not a comparison
};

struct CheckResult {
  std::vector<CellVerdict> cells;  // worst first, then in the order of the baseline
  std::vector<std::string> notes;  // for standard error: expired or idle acknowledgements
  std::int64_t family = 0;         // hypotheses that Holm's procedure was applied to
  bool overlap = false;            // at least one baseline cell has a counterpart
  std::int64_t count(Verdict verdict) const;
  ExitCode exit_code() const;
  // "2 worse, 1 missing, 37 same: FAIL".
  std::string summary() const;
};

// p-values of cells that were watched while they were measured (sequential.h), by display name. They replace those of
// the fixed-sample tests.
struct WatchedCell {
  double p_worse = 1, p_better = 1, p_not_same = 1;
  std::string note;  // "stopped after 40 of 1000 samples", or why it was cut short
};

struct JudgeOptions {
  std::string today;  // "2026-12-31": acknowledgements of earlier days have expired
  std::map<std::string, WatchedCell> watched;
  // Display names of baseline cells that were left out on purpose, with the reason: undecided instead of missing.
  std::map<std::string, std::string> left_out;
};

// Compares every cell. Error rate: with no loss beyond its smallest effect in any cell and every limit kept, the
// probability of one or more "worse" is at most policy.alpha, by Holm's procedure over all comparisons and limits
// (perplexity: as far as Student's t holds). For each single cell with a loss of policy.same_within or more, the
// probability of "same" is at most policy.alpha. Throws Error when an acknowledgement or a limit names a cell that is
// on neither side.
CheckResult judge(const std::vector<GateCell>& baseline, const std::vector<GateCell>& now, const Policy& policy,
                  const JudgeOptions& options);

// The number of hypotheses that judge() will correct for, known before anything is measured.
std::int64_t family_size(const std::vector<CellPair>& pairs, const Policy& policy);
TestLevels test_levels(const Policy& policy, std::int64_t family);

}  // namespace lenbench
