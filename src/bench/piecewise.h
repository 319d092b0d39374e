// One Cell measured piece by piece, for callers that decide after each piece whether to go on.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/metrics.h"
#include "bench/plan.h"
#include "bench/predictor.h"
#include "bench/runner.h"

namespace lenbench {

// Asks the samples of a Cell in index order, as Runner does; no attention statistics. Errors of the model end the Cell
// with a `failed` Record instead of being thrown.
class PiecewiseCell {
 public:
  // `predictor` must outlive this. Of `options` batch, memory_bytes, setting, wall_clock and seconds are used.
  PiecewiseCell(Predictor& predictor, Cell cell, const RunOptions& options);
  PiecewiseCell(PiecewiseCell&&) = default;

  // Measures at most `count` further samples. Out of memory halves the batch down to 1. Requires count >= 1.
  void advance(std::int64_t count);
  bool finished() const { return failed() || done_ == cell_.samples; }  // nothing left to measure
  bool failed() const { return record_.status == "failed"; }
  std::int64_t done() const { return done_; }
  double seconds() const { return seconds_; }
  const Cell& cell() const { return cell_; }
  // Of the samples measured so far; its samples_requested is their number unless all were measured.
  Record record() const;

 private:
  void advance_batch(std::int64_t count);
  void fail(const std::string& reason);

  Predictor* predictor_;
  Cell cell_;
  RunOptions options_;
  Record record_;
  std::unique_ptr<CellMeter> meter_;
  std::int64_t batch_ = 0, done_ = 0;
  double seconds_ = 0;
};

}  // namespace lenbench
