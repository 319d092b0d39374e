// One run from request to exit code: output opened, model loaded, Cells measured and written, table printed.
#pragma once

#include <optional>
#include <string>

#include "bench/backend.h"
#include "bench/plan.h"
#include "bench/runner.h"
#include "cli/flags.h"
#include "cli/model_choice.h"
#include "cli/run_progress.h"

namespace lenbench::cli {

struct SessionRequest {
  ModelChoice choice;
  PlanRequest plan;
  RunOptions run;  // probe, batch and memory_bytes; the session fills the rest
  OpenOptions open;
  bool has_output = false;
  std::string output;  // the Record file, if has_output
  bool overwrite = false;
  int jobs = 0;                 // processes on this machine; 0: alone, whatever a launcher says
  bool split_sequence = false;  // all ranks work on each sample, of which they divide the rows
  std::optional<Shard> shard;   // measure and write only these parts; needs `output`
  bool json = false;            // Records as JSON lines in place of the table
  bool allow_nonfinite = false;
  ProgressStyle progress = ProgressStyle::kPlain;
};

// Throws Error when the samples of a request with split_sequence cannot be split over ranks.
void require_splittable(const SessionRequest& request);

// The Cells that `request` would ask of `model`, one a line, and those it would not with the reason.
std::string dry_run_text(const SessionRequest& request, const PredictorInfo& model);

// What a run measured: its Records and those that the output already held, in the order of the plan.
struct SessionResult {
  std::vector<Record> records;  // with `shard` parts, in the order of the plan's items
  bool stopped = false;         // by a signal; the same request resumes
  bool leads = true;            // false: rank 0 has the Records
};

// Measures and writes, without printing a result. Throws Error when nothing can be asked, or the output cannot be used.
SessionResult measure_session(const SessionRequest& request);

// Measures, prints the table (or the Records) and returns the exit code. Throws Error when nothing can be asked, or the
// output cannot be used.
int run_session(const SessionRequest& request);

}  // namespace lenbench::cli
