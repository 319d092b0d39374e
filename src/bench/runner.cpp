// The loop over Cells and batches.
#include "bench/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "bench/metrics.h"
#include "bench/representations.h"

namespace lenbench {

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Thrown within a Cell when a batch does not fit; carries what the model said.
struct OutOfMemory {
  std::string detail;
};

constexpr std::string_view kOutOfMemory = "out of memory";

// The statistics of one call, added to those of the Cell. A call that fails half-way must not leave rows behind, so
// each gets a Probe of its own.
void add_probe(Probe& sum, const Probe& call) {
  if (sum.heads.empty() && sum.by_position.empty()) {
    sum = call;
    return;
  }
  if (sum.heads.size() != call.heads.size()) throw std::logic_error("the number of probed heads changed within a cell");
  const auto add = [](std::vector<HeadStats>& to, const std::vector<HeadStats>& from) {
    to.resize(std::max(to.size(), from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) to[i].add(from[i]);
  };
  add(sum.heads, call.heads);
  add(sum.heads_right, call.heads_right);
  add(sum.heads_wrong, call.heads_wrong);
  sum.by_position.resize(std::max(sum.by_position.size(), call.by_position.size()));
  for (std::size_t i = 0; i < call.by_position.size(); ++i) add(sum.by_position[i], call.by_position[i]);
}

struct Batch {
  std::vector<DrawKey> keys;
  std::vector<Sample> samples;
};

Batch draw_batch(const Cell& cell, std::int64_t first, std::int64_t count) {
  Batch batch;
  for (std::int64_t i = first; i < first + count; ++i) {
    batch.keys.push_back({cell.length, static_cast<std::uint64_t>(i), cell.data_seed, cell.split});
    batch.samples.push_back(cell.task->draw(batch.keys.back()));
  }
  return batch;
}

std::vector<SamplePrediction> predict_or_oom(Predictor& predictor, const Cell& cell, const Batch& batch, ProbeRows rows,
                                             Probe* probe) {
  try {
    predictor.announce(*cell.task, batch.keys);
    return predictor.predict(batch.samples, PredictRequest{rows}, probe);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory{std::string(kOutOfMemory)};
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.code() != ExitCode::kNotMeasured || message.find(kOutOfMemory) == std::string::npos) throw;
    throw OutOfMemory{message};
  }
}

}  // namespace

struct Runner::CellOutcome {
  Record record;
  bool finished = true;    // false: the stop flag came first
  bool nonfinite = false;  // failed, for this reason only
};

Runner::Runner(Predictor& predictor, RunOptions options) : predictor_(predictor), options_(std::move(options)) {
  if (!options_.wall_clock) throw std::logic_error("RunOptions::wall_clock is required");
  const PredictorInfo& info = predictor_.info();
  if (options_.probe == ProbeRows::kPrefix && (info.rows_depend_on_length || info.input == TaskInput::kItems)) {
    throw Error("--probe prefix: a row of '" + info.name +
                "' changes with the length of the whole text, so that one long pass does not hold the rows of shorter "
                "ones; use --probe answer or all");
  }
  if (!options_.seconds) options_.seconds = steady_seconds;
}

Runner::CellOutcome Runner::measure(const Cell& cell, ProbeRows rows,
                                    const std::function<void(std::int64_t)>& samples_done) {
  CellOutcome outcome;
  Record& record = outcome.record;
  record = make_record(cell, predictor_.info());
  record.setting = options_.setting;
  record.setting.attention_path = predictor_.info().attention_path;
  record.setting.started_at = options_.wall_clock();
  const double start = options_.seconds();
  const auto fail = [&](const std::string& reason) {
    record.status = "failed";
    record.reason = printable(reason);
  };

  std::int64_t batch = 1;
  try {
    const std::int64_t tokens = cell.total_tokens;
    const auto scored = static_cast<std::int64_t>(draw_batch(cell, 0, 1).samples.front().scored.size());
    batch = options_.batch > 0 ? options_.batch : choose_batch(predictor_, tokens, scored, options_.memory_bytes);
    batch = std::min(batch, cell.samples);
    const std::int64_t smallest = predictor_.predicted_bytes(1, tokens, scored);
    if (options_.memory_bytes > 0 && smallest > options_.memory_bytes) {
      throw Error(fmt::format("out of memory: one sample of {} tokens needs about {}, the budget is {}", tokens,
                              format_bytes(smallest), format_bytes(options_.memory_bytes)),
                  ExitCode::kNotMeasured);
    }
    CellMeter meter(*cell.task);
    Probe probe;
    RepresentationMeter representations;
    for (std::int64_t done = 0; done < cell.samples;) {
      if (options_.stop != nullptr && options_.stop->load()) {
        outcome.finished = false;
        return outcome;
      }
      const Batch drawn = draw_batch(cell, done, std::min(batch, cell.samples - done));
      Probe call_probe;
      call_probe.rows = rows;
      std::vector<SamplePrediction> predictions;
      try {
        predictions = predict_or_oom(predictor_, cell, drawn, rows, rows == ProbeRows::kNone ? nullptr : &call_probe);
      } catch (const OutOfMemory& oom) {
        const auto tried = static_cast<std::int64_t>(drawn.samples.size());
        if (tried == 1) {
          throw Error(fmt::format("{} (batch 1, {} tokens a sample)", oom.detail, tokens));
        }
        batch = tried / 2;
        continue;
      }
      meter.add(drawn.samples, predictions);
      add_probe(probe, call_probe);
      representations.add(call_probe);
      done += static_cast<std::int64_t>(drawn.samples.size());
      samples_done(done);
    }
    CellResult result = meter.result();
    const std::string failure = result.failure;
    take_result(std::move(result), record);
    record.measurement.teacher_forced = predictor_.info().rows_depend_on_length;
    take_probe(probe, record.measurement);
    record.measurement.representations = representations.result();
    if (!failure.empty()) fail(failure);
    outcome.nonfinite = record.measurement.nonfinite_samples > 0;
  } catch (const std::bad_alloc&) {
    fail(fmt::format("out of memory: while drawing or judging samples of {} tokens", cell.total_tokens));
  } catch (const std::exception& error) {
    fail(error.what());
  }
  record.setting.batch = batch;
  record.measurement.seconds = options_.seconds() - start;
  record.measurement.peak_bytes = peak_resident_bytes();
  return outcome;
}

RunSummary Runner::run(const RunPlan& plan, const Sink& sink, const Progress& progress) {
  RunSummary summary;
  const auto is_recorded = [&](const Cell& cell) {
    return options_.recorded_resume_keys.contains(make_record(cell, predictor_.info()).resume_key());
  };
  for (const SkippedCell& skipped : plan.skipped) {
    if (is_recorded(skipped.cell)) {
      ++summary.already_recorded;
      continue;
    }
    Record record = make_record(skipped.cell, predictor_.info());
    record.setting = options_.setting;
    record.setting.attention_path = predictor_.info().attention_path;
    record.setting.started_at = options_.wall_clock();
    record.status = "skipped";
    record.reason = printable(skipped.reason);
    sink(record);
    ++summary.skipped;
  }

  // One pass at the longest length holds the prefix rows of all shorter ones.
  std::map<const Task*, std::int64_t> longest;
  for (const Cell& cell : plan.cells) {
    std::int64_t& length = longest[cell.task.get()];
    length = std::max(length, cell.length);
  }
  const auto rows_of = [&](const Cell& cell) {
    const bool covered = options_.probe == ProbeRows::kPrefix && cell.length < longest[cell.task.get()];
    return covered ? ProbeRows::kNone : options_.probe;
  };

  std::vector<const Cell*> todo;
  // Samples of Cells not begun, by tokens: a plan may have thousands of Cells, and forecasts are linear in samples.
  std::map<std::int64_t, std::int64_t> waiting;
  RunProgress state;
  for (const Cell& cell : plan.cells) {
    if (is_recorded(cell)) {
      ++summary.already_recorded;
      continue;
    }
    todo.push_back(&cell);
    waiting[cell.total_tokens] += cell.samples;
    state.num_samples += cell.samples;
  }
  state.num_cells = static_cast<std::int64_t>(todo.size());

  TimeForecast forecast;
  const double run_start = options_.seconds();
  std::int64_t finished_samples = 0;
  for (const Cell* next : todo) {
    const Cell& cell = *next;
    waiting[cell.total_tokens] -= cell.samples;
    const double cell_start = options_.seconds();
    const auto report = [&](std::int64_t done) {
      if (!progress) return;
      const double now = options_.seconds();
      TimeForecast with_cell = forecast;
      with_cell.observe(cell.total_tokens, done, now - cell_start);
      state.cell = &cell;
      state.samples_done = finished_samples + done;
      state.seconds_elapsed = now - run_start;
      state.seconds_left = with_cell.predict(cell.total_tokens, cell.samples - done);
      for (const auto& [tokens, samples] : waiting) {
        if (state.seconds_left >= 0) state.seconds_left += with_cell.predict(tokens, samples);
      }
      progress(state);
    };
    report(0);
    const CellOutcome outcome = measure(cell, rows_of(cell), report);
    if (!outcome.finished) {
      summary.stopped = true;
      return summary;
    }
    sink(outcome.record);
    if (outcome.record.status == "ok") {
      ++summary.ok;
      forecast.observe(cell.total_tokens, cell.samples, outcome.record.measurement.seconds);
    } else {
      ++summary.failed;
      summary.nonfinite += outcome.nonfinite ? 1 : 0;
    }
    finished_samples += cell.samples;
    ++state.cells_done;
  }
  if (progress) {
    state.cell = nullptr;
    state.samples_done = finished_samples;
    state.seconds_elapsed = options_.seconds() - run_start;
    state.seconds_left = 0;
    progress(state);
  }
  return summary;
}

}  // namespace lenbench
