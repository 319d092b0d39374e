// Runs a plan: draws, batches, predicts, measures, and hands over a Record for each Cell as soon as it is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bench/plan.h"
#include "bench/predictor.h"
#include "record/record.h"

namespace lenbench {

struct ItemPlan;
struct Measured;

struct RunOptions {
  ProbeRows probe = ProbeRows::kNone;  // kPrefix: the longest length of each task alone is probed
  std::int64_t batch = 0;              // samples a call; 0: per Cell, from the memory budget
  std::int64_t memory_bytes = 0;       // budget above the loaded model; 0: batches for 1 GiB, and nothing is refused
  // Copied into every Record; batch, attention_path and started_at are filled by the Runner.
  Setting setting;
  std::function<std::string()> wall_clock;     // ISO 8601, UTC; required
  std::function<double()> seconds;             // a clock that only grows; default: std::chrono::steady_clock
  const std::atomic<bool>* stop = nullptr;     // when it turns true the batch in work is finished, then run() returns
  std::set<std::string> recorded_resume_keys;  // Cells that are already in the file, whatever their status
};

struct RunProgress {
  const Cell* cell = nullptr;                      // in work; nullptr at the end
  std::int64_t cells_done = 0, num_cells = 0;      // Cells of this call, without those already recorded
  std::int64_t samples_done = 0, num_samples = 0;  // over all these Cells
  double seconds_elapsed = 0;
  double seconds_left = -1;  // -1: not yet known
};

struct RunSummary {
  std::int64_t ok = 0, failed = 0, skipped = 0;
  std::int64_t nonfinite = 0;         // of `failed`: only because logits were not finite
  std::int64_t already_recorded = 0;  // neither measured nor counted above
  bool stopped = false;               // by the stop flag, with Cells left
  void count(const Record& record);   // of a measured Cell, or a part of one
  bool all_measured() const { return failed == 0 && !stopped; }
};

// The batch for samples of `tokens` tokens with `scored` judged rows: the largest power of two, at most 64, whose
// predicted bytes fit `memory_bytes` (0: 1 GiB); when the model predicts nothing, the one that feeds at most 16,384
// tokens. At least 1.
std::int64_t choose_batch(const Predictor& predictor, std::int64_t tokens, std::int64_t scored,
                          std::int64_t memory_bytes);
// The same from a prediction alone: bytes for a number of samples; 0: unknown.
std::int64_t choose_batch(const std::function<std::int64_t(std::int64_t)>& predicted_bytes, std::int64_t tokens,
                          std::int64_t memory_bytes);

// Seconds for work not yet done, from work done: time per sample grows as a power of its tokens, with the exponent
// between 1 and 2 that the two largest lengths seen suggest.
class TimeForecast {
 public:
  void observe(std::int64_t tokens, std::int64_t samples, double seconds);
  // -1 before the first observation.
  double predict(std::int64_t tokens, std::int64_t samples) const;

 private:
  struct Observed {
    std::int64_t tokens = 0, samples = 0;
    double seconds = 0;
    double per_sample() const { return seconds / static_cast<double>(samples); }
  };
  std::vector<Observed> seen_;  // ascending by tokens
};

class Runner {
 public:
  using Sink = std::function<void(const Record&)>;
  using Progress = std::function<void(const RunProgress&)>;

  // `predictor` must outlive the Runner. Throws Error for prefix rows of a model whose rows depend on the length.
  Runner(Predictor& predictor, RunOptions options);

  // Skipped Cells first (one Record each), then Cells in plan order. `sink` gets each Record once, at once; what it
  // throws ends the run. Out of memory halves the batch down to 1, then gives a `failed` Record; any other Error of a
  // Cell gives a `failed` Record as well, and the next Cell still runs. A Cell interrupted by the stop flag, or by a
  // PredictorLost, which goes through, leaves no Record.
  RunSummary run(const RunPlan& plan, const Sink& sink, const Progress& progress = {});

  // The same for the `chosen` items of `plan`, in that order: each gives one Record, a part. Counts of the summary and
  // of the progress are of items.
  RunSummary run_items(const RunPlan& plan, const ItemPlan& items, const std::vector<std::size_t>& chosen,
                       const Sink& sink, const Progress& progress = {});

  // The skipped Cells alone, and in the summary how many Cells are recorded already.
  RunSummary run_skipped(const RunPlan& plan, const Sink& sink);
  // One item, for callers that divide the work themselves.
  Measured measure_item(const RunPlan& plan, const ItemPlan& items, std::size_t index);
  bool is_recorded(const Cell& cell, const Part* part = nullptr) const;

 private:
  struct Work;
  // The rows that are probed in a Cell.
  ProbeRows rows_of(const Cell& cell, const RunPlan& plan) const;
  Record skipped_record(const SkippedCell& skipped, const Part* part) const;
  void run_all(const std::vector<Work>& todo, const Sink& sink, const Progress& progress, RunSummary& summary);

  Predictor& predictor_;
  RunOptions options_;
};

}  // namespace lenbench
