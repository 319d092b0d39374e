// Several ranks, as threads around one store, measure what one process does.
#include "dist/shared_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/doubles.h"
#include "dist/work_queue.h"
#include "record/store.h"
#include "tests/bench/expect_error.h"
#include "tests/bench/run_helpers.h"
#include "tests/dist/memory_store.h"
#include "tests/record/same_records.h"

namespace lenbench {
namespace {

RunMember member(SharedStore& store, int rank, int world) {
  RunMember result;
  result.store = &store;
  result.ranks.rank = rank;
  result.ranks.world = world;
  result.note = [](const std::string&) {};
  return result;
}

RunOptions batched() {
  RunOptions options = run_options();
  options.batch = 2;
  return options;
}

std::vector<std::string> in_order(std::vector<Record> records) {
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.question.length < b.question.length; });
  std::vector<std::string> lines;
  for (const Record& record : records) lines.push_back(to_json_line(record));
  return lines;
}

TEST(SharedRun, GivesTheRecordsOfOneProcess) {
  PredictorInfo small;
  small.max_positions = 5000;
  for (const char* name : {"oracle", "blind", "nan@1000", "oom@1000"}) {
    const RunPlan plan = plan_of({8, 1000, 300, 6000}, 60, small);
    const auto single = make_double(name);
    const Ran alone = run_plan(*single, plan, batched());

    MemoryStore store;
    std::vector<std::thread> others;
    for (int rank = 1; rank < 4; ++rank) {
      others.emplace_back([&, rank] {
        const auto model = make_double(name);
        const ItemPlan items = make_items(plan, *model, batched());
        EXPECT_TRUE(join_shared_run(*model, batched(), plan, items, member(store, rank, 4)));
      });
    }
    const auto model = make_double(name);
    const ItemPlan items = make_items(plan, *model, batched());
    std::vector<Record> records;
    RunProgress last;
    const RunSummary summary = lead_shared_run(
        *model, batched(), plan, items, member(store, 0, 4), [&](const Record& record) { records.push_back(record); },
        [&](const RunProgress& now) { last = now; });
    for (std::thread& other : others) other.join();
    EXPECT_TRUE(same_records(in_order(alone.records), in_order(records), 1e-12)) << name;
    EXPECT_EQ(summary.ok, alone.summary.ok);
    EXPECT_EQ(summary.failed, alone.summary.failed);
    EXPECT_EQ(summary.skipped, 1);
    EXPECT_EQ(summary.nonfinite, alone.summary.nonfinite);
    EXPECT_FALSE(summary.stopped);
    EXPECT_EQ(last.samples_done, 180);
    EXPECT_EQ(last.cells_done, 3);
  }
}

TEST(SharedRun, CellsThatAreRecordedAreNotMeasuredAgain) {
  const RunPlan plan = plan_of({8, 1000}, 60);
  const auto model = make_double("oracle");
  RunOptions options = batched();
  options.recorded_resume_keys = {make_record(plan.cells[1], model->info()).resume_key()};
  MemoryStore store;
  std::vector<Record> records;
  const RunSummary summary =
      lead_shared_run(*model, options, plan, make_items(plan, *model, options), member(store, 0, 2),
                      [&](const Record& record) { records.push_back(record); }, {});
  EXPECT_EQ(summary.already_recorded, 1);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].question.length, 8);
}

TEST(SharedRun, AStopLeavesNoHalfCellAndAFailingSinkEndsTheRun) {
  const RunPlan plan = plan_of({100}, 4000);
  const auto model = make_double("sleepy:1");
  std::atomic<bool> stop = false;
  RunOptions options = batched();
  options.stop = &stop;
  const ItemPlan items = make_items(plan, *model, options);
  MemoryStore store;
  std::vector<Record> records;
  const RunSummary summary = lead_shared_run(
      *model, options, plan, items, member(store, 0, 1), [&](const Record& record) { records.push_back(record); },
      [&](const RunProgress&) { stop = true; });
  EXPECT_TRUE(summary.stopped);
  EXPECT_TRUE(records.empty());

  const RunPlan two = plan_of({8, 16}, 3);
  MemoryStore other;
  const auto oracle = make_double("oracle");
  EXPECT_EQ(error_of([&] {
              lead_shared_run(*oracle, batched(), two, make_items(two, *oracle, batched()), member(other, 0, 1),
                              [](const Record&) { throw Error("the disk is full", ExitCode::kNotMeasured); }, {});
            }),
            "the disk is full");
}

TEST(SharedRun, OtherRanksRefuseAnotherPlanAndALostRankZero) {
  const RunPlan plan = plan_of({8, 16}, 6), other = plan_of({8, 32}, 6);
  const auto model = make_double("oracle");
  MemoryStore store;
  WorkPlan work{make_items(plan, *model, batched()).sha256, {0}};
  store.set("plan", work.sha256 + " 0");
  EXPECT_NE(error_of([&] {
              join_shared_run(*model, batched(), other, make_items(other, *model, batched()), member(store, 2, 3));
            }).find("rank 2 plans other work than rank 0"),
            std::string::npos);
  std::thread kill([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    store.gone = true;
  });
  EXPECT_EQ(error_of([&] {
              join_shared_run(*model, batched(), plan, make_items(plan, *model, batched()), member(store, 1, 2));
            }),
            "rank 0 is gone");
  kill.join();
}

}  // namespace
}  // namespace lenbench
