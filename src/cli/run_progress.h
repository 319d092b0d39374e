// What `run` says on standard error while it measures.
#pragma once

#include <cstdint>

#include "bench/runner.h"
#include "cli/terminal.h"

namespace lenbench::cli {

enum class ProgressStyle {
  kPlain,  // a line for each finished Cell; below it on a terminal a line in place, in a log one a minute
  kQuiet,  // nothing
  kJson,   // JSON lines: {"event": "progress" or "cell", ...}
};

// From the flags --quiet and --json-progress; quiet also silences notes. Throws Error when both are given.
ProgressStyle choose_progress(bool quiet, bool json);

class RunProgressPrinter {
 public:
  explicit RunProgressPrinter(ProgressStyle style) : style_(style) {}

  // Call with every state of the run.
  void progress(const RunProgress& now);
  // Call with every Record when it is done.
  void cell(const Record& record);
  void finish() { line_.clear(); }

 private:
  double tokens_per_second(const RunProgress& now);

  ProgressStyle style_;
  ProgressLine line_;
  std::int64_t samples_seen_ = 0;
  double tokens_ = 0;
  double last_line_seconds_ = 0;  // of the run, when a log or JSON line was last written
};

}  // namespace lenbench::cli
