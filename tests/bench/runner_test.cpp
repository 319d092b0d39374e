// The loop: order, resume, stopping, failures as Records, progress.
#include "bench/runner.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "bench/doubles.h"
#include "record/store.h"
#include "tests/bench/run_helpers.h"
#include "tests/bench/scripted_model.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Runner, HandsOverOneRecordForEachCellInOrder) {
  const auto oracle = make_double("oracle:16");
  const Ran ran = run_plan(*oracle, plan_of({32, 8, 16}, 10));
  EXPECT_EQ(ran.summary.ok, 3);
  EXPECT_TRUE(ran.summary.all_measured());
  ASSERT_EQ(ran.records.size(), 3U);
  const std::int64_t lengths[] = {8, 16, 32}, right[] = {10, 10, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    const Record& record = ran.records[i];
    EXPECT_EQ(record.status, "ok");
    EXPECT_EQ(record.question.length, lengths[i]);
    EXPECT_EQ(record.measurement.exact->right, right[i]);
    EXPECT_EQ(record.measurement.samples, 10);
    EXPECT_EQ(record.samples_requested, 10);
    EXPECT_EQ(record.outcomes, std::string(10, right[i] > 0 ? '1' : '0'));
    EXPECT_EQ(record.subject.name, "oracle:16");
    EXPECT_EQ(record.setting.started_at, "2026-01-02T03:04:05Z");
    EXPECT_EQ(record.setting.lenbench_version, "0.0.0");
    EXPECT_GT(record.setting.batch, 0);
    EXPECT_GT(record.measurement.peak_bytes, 1 << 20);
    EXPECT_GE(record.measurement.seconds, 0);
  }
}

TEST(Runner, EveryKindOfRecordSurvivesTheFile) {
  PredictorInfo small;
  small.max_positions = 40;
  for (const char* name : {"oracle", "nan@20", "oom@16", "echo", "blind", "uniform"}) {
    for (const TaskMetric metric : {TaskMetric::kExactMatch, TaskMetric::kPerplexity}) {
      const auto model = make_double(name);
      const Ran ran = run_plan(*model, plan_of({8, 16, 64}, 5, small, {.metric = metric}));
      ASSERT_EQ(ran.records.size(), 3U);
      for (const Record& record : ran.records) {
        const Record back = record_from_json_line(to_json_line(record), name);
        EXPECT_EQ(to_json_line(back), to_json_line(record));
        EXPECT_EQ(back.resume_key(), record.resume_key());
      }
    }
  }
}

TEST(Runner, AModelThatIsLostEndsTheRunWithoutARecordOfItsCell) {
  ScriptedModel model;
  int calls = 0;
  model.before_call = [&] {
    if (++calls > 1) throw PredictorLost("out of memory on rank 1", true);
  };
  RunOptions options = run_options();
  options.batch = 10;
  std::vector<Record> records;
  Runner runner(model, options);
  EXPECT_THROW(runner.run(plan_of({8, 16, 32}, 10), [&](const Record& record) { records.push_back(record); }),
               PredictorLost);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].status, "ok");
  EXPECT_EQ(calls, 2) << "asked again after it was lost";
}

TEST(Runner, SkippedCellsAreRecordsWithTheirReason) {
  PredictorInfo model;
  model.max_positions = 20;
  const auto oracle = make_double("oracle");
  const Ran ran = run_plan(*oracle, plan_of({8, 64}, 5, model));
  EXPECT_EQ(ran.summary.ok, 1);
  EXPECT_EQ(ran.summary.skipped, 1);
  EXPECT_EQ(ran.records[0].status, "skipped");
  EXPECT_THAT(ran.records[0].reason, HasSubstr("67 tokens, the model has 20 positions"));
  EXPECT_EQ(ran.records[0].measurement.samples, 0);
  EXPECT_EQ(ran.records[0].question.length, 64);
}

TEST(Runner, RecordedCellsAreNotMeasuredAgain) {
  ScriptedModel model;
  model.info_.max_positions = 100;
  const RunPlan plan = plan_of({8, 16, 128}, 5, model.info_);
  const Ran first = run_plan(model, plan);
  ASSERT_EQ(first.records.size(), 3U);

  RunOptions options = run_options();
  options.recorded_resume_keys = {first.records[0].resume_key(), first.records[1].resume_key()};
  model.batches.clear();
  const Ran second = run_plan(model, plan, options);
  EXPECT_EQ(second.summary.already_recorded, 2);
  EXPECT_EQ(second.summary.ok, 1);
  EXPECT_EQ(second.summary.skipped, 0);
  ASSERT_EQ(second.records.size(), 1U);
  EXPECT_EQ(second.records[0].question.length, 16);
  EXPECT_THAT(model.batches, ElementsAre(5U));

  // Another model, another seed or another number of samples is another Cell.
  model.info_.checkpoint_sha256 = "other";
  EXPECT_EQ(run_plan(model, plan, options).summary.ok, 2);
}

TEST(Runner, StopFinishesTheBatchAndLeavesNoHalfCell) {
  ScriptedModel model;
  std::atomic<bool> stop = false;
  int calls = 0;
  model.before_call = [&] {
    if (++calls == 3) stop = true;
  };
  RunOptions options = run_options();
  options.batch = 4;
  options.stop = &stop;
  const Ran ran = run_plan(model, plan_of({8, 16}, 8), options);
  // Cell 8 takes two calls; the third is the first half of cell 16.
  EXPECT_TRUE(ran.summary.stopped);
  EXPECT_FALSE(ran.summary.all_measured());
  ASSERT_EQ(ran.records.size(), 1U);
  EXPECT_EQ(ran.records[0].question.length, 8);
  EXPECT_EQ(calls, 3);
}

TEST(Runner, StopInTheLastBatchOfTheLastCellStopsNothing) {
  ScriptedModel model;
  std::atomic<bool> stop = false;
  model.before_call = [&] { stop = true; };
  RunOptions options = run_options();
  options.stop = &stop;
  const Ran ran = run_plan(model, plan_of({8}, 4), options);
  EXPECT_FALSE(ran.summary.stopped);
  EXPECT_EQ(ran.summary.ok, 1);
}

TEST(Runner, ResultsDoNotDependOnTheBatch) {
  std::string outcomes;
  for (const std::int64_t batch : {1, 3, 4, 7, 64}) {
    const auto blind = make_double("blind");
    RunOptions options = run_options();
    options.batch = batch;
    const Ran ran =
        run_plan(*blind, plan_of({16}, 7, {}, {.answer_symbols = 2, .answers = 1, .tokens_per_answer = 1}), options);
    if (outcomes.empty()) outcomes = ran.records[0].outcomes;
    EXPECT_EQ(ran.records[0].outcomes, outcomes) << batch;
    EXPECT_EQ(ran.records[0].measurement.exact->n, 7);
  }
  EXPECT_EQ(outcomes.size(), 7U);
}

TEST(Runner, NonFiniteCellsFailAndAreCounted) {
  const auto model = make_double("nan@50");
  const Ran ran = run_plan(*model, plan_of({16, 64}, 4));
  EXPECT_EQ(ran.summary.ok, 1);
  EXPECT_EQ(ran.summary.failed, 1);
  EXPECT_EQ(ran.summary.nonfinite, 1);
  EXPECT_FALSE(ran.summary.all_measured());
  const Record& failed = ran.records[1];
  EXPECT_EQ(failed.status, "failed");
  EXPECT_EQ(failed.reason, "non-finite logits at position 63 of sample 0 (4 samples in all)");
  EXPECT_EQ(failed.outcomes, "xxxx");
  EXPECT_EQ(failed.measurement.nonfinite_samples, 4);
}

TEST(Runner, AnErrorOfOneCellIsARecordAndTheNextCellRuns) {
  ScriptedModel model;
  int calls = 0;
  model.before_call = [&] {
    if (++calls == 1) throw Error("kernel launch failed\nsecond line", ExitCode::kNotMeasured);
    if (calls == 2) throw std::runtime_error("unexpected");
  };
  const Ran ran = run_plan(model, plan_of({8, 16, 32}, 2));
  EXPECT_EQ(ran.summary.failed, 2);
  EXPECT_EQ(ran.summary.nonfinite, 0);
  EXPECT_EQ(ran.summary.ok, 1);
  EXPECT_EQ(ran.records[0].reason, "kernel launch failed\\nsecond line");
  EXPECT_EQ(ran.records[1].reason, "unexpected");
}

TEST(Runner, WhatTheSinkThrowsEndsTheRun) {
  const auto oracle = make_double("oracle");
  Runner runner(*oracle, run_options());
  int handed = 0;
  const auto full_disk = [&](const Record&) {
    ++handed;
    throw Error("disk full", ExitCode::kNotMeasured);
  };
  EXPECT_THROW(runner.run(plan_of({8, 16}, 2), full_disk), Error);
  EXPECT_EQ(handed, 1);
}

TEST(Runner, AnswerRowStatisticsBecomeMeansOfTheWholeCell) {
  ScriptedModel model;
  RunOptions options = run_options();
  options.probe = ProbeRows::kAnswer;
  options.batch = 4;
  const Ran ran = run_plan(model, plan_of({8}, 7), options);
  const Measurement& m = ran.records[0].measurement;
  EXPECT_EQ(m.probe_rows, "answer");
  ASSERT_EQ(m.heads.size(), 2U);
  EXPECT_EQ(m.heads[0].rows, 7);
  EXPECT_TRUE(m.heads[0].has_position);
  EXPECT_DOUBLE_EQ(*m.heads[0].normalized_entropy, 0.25);
  EXPECT_DOUBLE_EQ(m.heads[1].support, 9);
  EXPECT_EQ(run_plan(model, plan_of({8}, 7)).records[0].measurement.probe_rows, "");
}

TEST(Runner, ProgressCountsAndForecasts) {
  ScriptedModel model;
  model.seconds_per_token = 0.5;
  RunOptions options = run_options();
  options.batch = 1;
  options.seconds = [&] { return model.clock; };
  std::vector<RunProgress> seen;
  Runner runner(model, options);
  // 11 and 19 tokens a sample: 5.5 s and 9.5 s.
  runner.run(
      plan_of({8, 16}, 2), [](const Record&) {}, [&](const RunProgress& p) { seen.push_back(p); });
  ASSERT_EQ(seen.size(), 7U);
  EXPECT_EQ(seen[0].seconds_left, -1);
  EXPECT_EQ(seen[0].num_cells, 2);
  EXPECT_EQ(seen[0].num_samples, 4);
  EXPECT_EQ(seen[1].samples_done, 1);
  EXPECT_DOUBLE_EQ(seen[1].seconds_left, 5.5 + 2 * 9.5);
  EXPECT_EQ(seen[3].cells_done, 1);
  EXPECT_DOUBLE_EQ(seen[3].seconds_left, 2 * 9.5);
  EXPECT_DOUBLE_EQ(seen[4].seconds_left, 9.5);
  EXPECT_DOUBLE_EQ(seen[4].seconds_elapsed, 2 * 5.5 + 9.5);
  EXPECT_EQ(seen[6].cell, nullptr);
  EXPECT_EQ(seen[6].cells_done, 2);
  EXPECT_EQ(seen[6].samples_done, 4);
  EXPECT_EQ(seen[6].seconds_left, 0);
}

TEST(TimeForecast, LearnsTheGrowthBetweenLinearAndQuadratic) {
  TimeForecast forecast;
  EXPECT_EQ(forecast.predict(100, 1), -1);
  forecast.observe(100, 10, 10);
  EXPECT_DOUBLE_EQ(forecast.predict(200, 5), 10);
  forecast.observe(200, 10, 40);  // quadratic: 1 s and 4 s a sample
  EXPECT_DOUBLE_EQ(forecast.predict(400, 1), 16);
  EXPECT_DOUBLE_EQ(forecast.predict(100, 1), 1);
  forecast.observe(400, 1, 1000);  // steeper than quadratic is noise
  EXPECT_DOUBLE_EQ(forecast.predict(800, 1), 4000);
}

TEST(Runner, NeedsAClock) {
  const auto oracle = make_double("oracle");
  EXPECT_THROW(Runner(*oracle, RunOptions{}), std::logic_error);
}

}  // namespace
}  // namespace lenbench
