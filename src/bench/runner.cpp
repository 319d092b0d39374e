// The loop over Cells and batches.
#include "bench/runner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/items.h"
#include "bench/measure.h"

namespace lenbench {

// A Cell, or an item of one.
struct Runner::Work {
  const Cell* cell = nullptr;
  ProbeRows rows = ProbeRows::kNone;
  std::int64_t batch = 0;
  std::optional<Part> part;
  std::int64_t samples() const { return part ? part->samples : cell->samples; }
};

void RunSummary::count(const Record& record) {
  ++(record.status == "ok" ? ok : failed);
  if (record.status != "ok" && record.measurement.nonfinite_samples > 0) ++nonfinite;
}

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

Record Runner::skipped_record(const SkippedCell& skipped, const Part* part) const {
  Record record = make_record(skipped.cell, predictor_.info());
  if (part != nullptr) record.part = *part;
  record.setting = options_.setting;
  record.setting.attention_path = predictor_.info().attention_path;
  record.setting.started_at = options_.wall_clock();
  record.status = "skipped";
  record.reason = printable(skipped.reason);
  return record;
}

bool Runner::is_recorded(const Cell& cell, const Part* part) const {
  Record record = make_record(cell, predictor_.info());
  if (part != nullptr) record.part = *part;
  return options_.recorded_resume_keys.contains(record.resume_key());
}

ProbeRows Runner::rows_of(const Cell& cell, const RunPlan& plan) const {
  if (options_.probe != ProbeRows::kPrefix) return options_.probe;
  // One pass at the longest length holds the prefix rows of all shorter ones.
  const bool covered = std::any_of(plan.cells.begin(), plan.cells.end(), [&](const Cell& other) {
    return other.task == cell.task && other.length > cell.length;
  });
  return covered ? ProbeRows::kNone : options_.probe;
}

RunSummary Runner::run_skipped(const RunPlan& plan, const Sink& sink) {
  RunSummary summary;
  for (const SkippedCell& skipped : plan.skipped) {
    if (is_recorded(skipped.cell)) {
      ++summary.already_recorded;
      continue;
    }
    sink(skipped_record(skipped, nullptr));
    ++summary.skipped;
  }
  for (const Cell& cell : plan.cells) summary.already_recorded += is_recorded(cell) ? 1 : 0;
  return summary;
}

RunSummary Runner::run(const RunPlan& plan, const Sink& sink, const Progress& progress) {
  RunSummary summary = run_skipped(plan, sink);
  std::vector<Work> todo;
  for (const Cell& cell : plan.cells) {
    if (!is_recorded(cell)) todo.push_back({&cell, rows_of(cell, plan), 0, std::nullopt});
  }
  run_all(todo, sink, progress, summary);
  return summary;
}

Measured Runner::measure_item(const RunPlan& plan, const ItemPlan& items, std::size_t index) {
  const Item& item = items.items[index];
  const Cell& cell = cell_of(item, plan);
  const Part part = make_part(items, index, plan);
  return measure_cell(predictor_, options_, {&cell, rows_of(cell, plan), item.batch, &part}, [](std::int64_t) {});
}

RunSummary Runner::run_items(const RunPlan& plan, const ItemPlan& items, const std::vector<std::size_t>& chosen,
                             const Sink& sink, const Progress& progress) {
  RunSummary summary;
  std::vector<Work> todo;
  for (const std::size_t index : chosen) {
    const Item& item = items.items[index];
    const Part part = make_part(items, index, plan);
    const Cell& cell = cell_of(item, plan);
    if (is_recorded(cell, &part)) {
      ++summary.already_recorded;
    } else if (item.skipped) {
      sink(skipped_record(plan.skipped[item.cell], &part));
      ++summary.skipped;
    } else {
      todo.push_back({&cell, rows_of(cell, plan), item.batch, part});
    }
  }
  run_all(todo, sink, progress, summary);
  return summary;
}

void Runner::run_all(const std::vector<Work>& todo, const Sink& sink, const Progress& progress, RunSummary& summary) {
  RunProgress state;
  // Samples of work not begun, by tokens: a plan may have thousands of pieces, and forecasts are linear in samples.
  std::map<std::int64_t, std::int64_t> waiting;
  for (const Work& work : todo) {
    waiting[work.cell->total_tokens] += work.samples();
    state.num_samples += work.samples();
  }
  state.num_cells = std::ssize(todo);

  TimeForecast forecast;
  const double run_start = options_.seconds();
  std::int64_t finished_samples = 0;
  for (const Work& work : todo) {
    const Cell& cell = *work.cell;
    const std::int64_t samples = work.samples();
    waiting[cell.total_tokens] -= samples;
    const double cell_start = options_.seconds();
    const auto report = [&](std::int64_t done) {
      if (!progress) return;
      const double now = options_.seconds();
      TimeForecast with_cell = forecast;
      with_cell.observe(cell.total_tokens, done, now - cell_start);
      state.cell = &cell;
      state.samples_done = finished_samples + done;
      state.seconds_elapsed = now - run_start;
      state.seconds_left = with_cell.predict(cell.total_tokens, samples - done);
      for (const auto& [tokens, left] : waiting) {
        if (state.seconds_left >= 0) state.seconds_left += with_cell.predict(tokens, left);
      }
      progress(state);
    };
    report(0);
    const MeasureRequest request{&cell, work.rows, work.batch, work.part ? &*work.part : nullptr};
    const Measured outcome = measure_cell(predictor_, options_, request, report);
    if (!outcome.finished) {
      summary.stopped = true;
      return;
    }
    sink(outcome.record);
    summary.count(outcome.record);
    if (outcome.record.status == "ok") {
      forecast.observe(cell.total_tokens, samples, outcome.record.measurement.seconds);
    }
    finished_samples += samples;
    ++state.cells_done;
  }
  if (progress) {
    state.cell = nullptr;
    state.samples_done = finished_samples;
    state.seconds_elapsed = options_.seconds() - run_start;
    state.seconds_left = 0;
    progress(state);
  }
}

}  // namespace lenbench
