// A cell that is watched while it is measured, and stopped as soon as its verdict is certain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stats/betting.h"
#include "verdict/evidence.h"
#include "verdict/judge.h"

namespace lenbench {

// Error rate. Each claim is tested twice: by a betting process after every sample (stats/betting.h, valid at any
// stopping time) and, when all samples were measured, by the fixed-sample test of evidence.h. The level is split
// between the two, "worse" and "better" in halves, "same" four to one; p = min(p_betting / share, p_fixed / (1 -
// share)) is then a p-value wherever the watch stopped (union bound: P(p <= a) <= a share + a (1 - share)), because the
// fixed test is counted as 1 unless the cell ran to its end. Stopping at "worse" needs level / family, so that
// Bonferroni's bound, and with it Holm's, holds over all cells: P(any cell wrongly "worse") <= policy.alpha.
class CellWatch {
 public:
  // `family`: as family_size(). Perplexity cells and those with a floor (`may_stop` false) are measured to their end.
  CellWatch(const GateCell& baseline, const Policy& policy, std::int64_t family, bool may_stop);

  // The next outcomes in index order, "01". Requires no more than the baseline has; throws std::logic_error.
  void add(std::string_view outcomes);
  bool decided() const;
  std::int64_t seen() const { return seen_; }
  std::int64_t samples() const { return baseline_->samples(); }
  // Samples until a verdict is likely, if the evidence keeps growing as it did; before the first sample as if nothing
  // will flip. At most what is left.
  double expected_samples_left() const;
  // What judge() needs; `fixed` is the evidence of all samples measured, `complete` whether these are all.
  WatchedCell result(const Evidence& fixed, bool complete) const;

 private:
  const GateCell* baseline_;
  bool may_stop_;
  double worse_threshold_, same_threshold_;  // in log wealth
  double same_within_;
  BettingProcess worse_, better_, same_;
  std::int64_t seen_ = 0;
};

// A cell in the queue of a check, as the schedule sees it.
struct QueuedCell {
  double expected_samples_left = 0;
  double seconds_per_sample = 0;
  bool can_lose = true;  // false where the baseline had nothing right: measured last
  bool open = true;      // false: decided, finished or failed
};

// The open cell with the shortest expected time to a verdict, so that a budget decides as many cells as it can; cells
// that have nothing to lose come last. Returns the number of cells when none is open.
std::size_t next_cell(const std::vector<QueuedCell>& queue);

}  // namespace lenbench
