// The files that `check`, `baseline` and `compare` read.
#pragma once

#include <string>
#include <vector>

#include "verdict/baseline.h"
#include "verdict/cell.h"

namespace lenbench::cli {

// Cells of Record files, with `subject` not empty only those of that model. A torn last line is noted on standard error
// and left out. Throws Error when a file is unusable, when no Record has the subject, and when a question occurs twice;
// Error(kNotMeasured) when the files hold no Record at all.
std::vector<GateCell> read_cells(const std::vector<std::string>& files, const std::string& subject);

// A baseline file, or a Record file taken as one (default policy, nothing known of its origin). Throws
// Error(kNotMeasured) when there is no such file, or it has no cell.
Baseline read_baseline(const std::string& path);

// The policy for a check against the baseline at `path`: the file `given` if not empty, else "NAME.policy.json" beside
// "NAME.json" if it exists, else what the baseline carries. `source` says which.
Policy find_policy(const std::string& path, const Baseline& baseline, const std::string& given, std::string* source);

// The commit of the repository under test that a CI system names in the environment: GITHUB_SHA or CI_COMMIT_SHA; else
// empty.
std::string source_commit();

// "recall@64=0.95" parts of repeated flags, as a map. Throws Error naming `flag` on anything else.
std::map<std::string, double> parse_limits(const std::vector<std::string>& texts, const std::string& flag);

}  // namespace lenbench::cli
