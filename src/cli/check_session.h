// A check that measures the model itself: the baseline's own questions, each cell no longer than its verdict needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/backend.h"
#include "cli/model_choice.h"
#include "verdict/judge.h"

namespace lenbench::cli {

struct CheckSession {
  ModelChoice choice;
  OpenOptions open;
  std::int64_t batch = 0;
  double budget_seconds = 0;           // 0: none
  bool stop_early = true;              // false: every sample of every cell
  std::vector<std::string> documents;  // files for the task 'text'; empty: the bundled ones
  std::string output;                  // Records are written there unless empty
  bool overwrite = false;
};

struct GateMeasurement {
  std::vector<GateCell> cells;
  JudgeOptions options;  // watched and left_out
  bool interrupted = false;
  std::int64_t samples_measured = 0, samples_in_baseline = 0;
};

// Throws Error when the model cannot be loaded, a task of the baseline is unknown, or the output cannot be used.
GateMeasurement measure_against(const std::vector<GateCell>& baseline, const Policy& policy,
                                const CheckSession& session);

}  // namespace lenbench::cli
