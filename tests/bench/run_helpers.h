// Runs plans over fake tasks with a fixed wall clock, and collects what comes out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/runner.h"
#include "tests/bench/fake_task.h"

namespace lenbench {

inline RunOptions run_options() {
  RunOptions options;
  options.wall_clock = [] { return std::string("2026-01-02T03:04:05Z"); };
  options.setting.lenbench_version = "0.0.0";
  return options;
}

inline RunPlan plan_of(std::vector<std::int64_t> lengths, std::int64_t samples, const PredictorInfo& model = {},
                       FakeShape shape = {}) {
  PlanRequest request;
  request.tasks = {fake_task(std::move(shape))};
  request.lengths = std::move(lengths);
  request.samples = samples;
  return make_plan(request, model);
}

struct Ran {
  RunSummary summary;
  std::vector<Record> records;
};

inline Ran run_plan(Predictor& model, const RunPlan& plan, RunOptions options = run_options()) {
  Ran ran;
  Runner runner(model, std::move(options));
  ran.summary = runner.run(plan, [&](const Record& record) { ran.records.push_back(record); });
  return ran;
}

}  // namespace lenbench
