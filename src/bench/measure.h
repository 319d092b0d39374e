// A Cell, or a part of it, asked batch by batch.
#pragma once

#include <cstdint>
#include <functional>

#include "bench/plan.h"
#include "bench/predictor.h"
#include "bench/runner.h"
#include "record/record.h"

namespace lenbench {

struct MeasureRequest {
  const Cell* cell = nullptr;
  ProbeRows rows = ProbeRows::kNone;
  std::int64_t batch = 0;      // samples a call; 0: as RunOptions say
  const Part* part = nullptr;  // the range of samples and its place in a plan; null: the whole Cell
};

struct Measured {
  Record record;
  bool finished = true;  // false: the stop flag came first, and there is no Record
};

// Of `options` batch, memory_bytes, setting, wall_clock, seconds and stop are used, and both clocks must be set.
// `samples_done` hears after each call how many samples of the range are done. Failures end in a `failed` Record, as
// Runner::run() says; a PredictorLost goes through.
Measured measure_cell(Predictor& predictor, const RunOptions& options, const MeasureRequest& request,
                      const std::function<void(std::int64_t)>& samples_done);

}  // namespace lenbench
