// Batches that fit, batches that do not, and cells that never will.
#include <gmock/gmock.h>

#include "bench/doubles.h"
#include "tests/bench/run_helpers.h"
#include "tests/bench/scripted_model.h"

namespace lenbench {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Samples of exactly `length` tokens.
const FakeShape kOneAnswer{.answers = 1, .tokens_per_answer = 1};

TEST(RunnerMemory, BatchIsChosenForEachLengthWhateverTheOrder) {
  // 4 KiB a token: 64 samples of 64 tokens take 16 MiB, 4 of 65,536 take 1 GiB.
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{64, 65536}, std::vector<std::int64_t>{65536, 64}}) {
    ScriptedModel model;
    model.bytes_per_token = 4096;
    model.capacity_bytes = kGiB;
    RunOptions options = run_options();
    options.memory_bytes = kGiB;
    const Ran ran = run_plan(model, plan_of(lengths, 64, {}, kOneAnswer), options);
    EXPECT_EQ(ran.summary.ok, 2);
    EXPECT_EQ(ran.records[0].setting.batch, 64);
    EXPECT_EQ(ran.records[1].setting.batch, 4);
    EXPECT_EQ(model.batches.size(), 17U);
  }
}

TEST(RunnerMemory, ChooseBatch) {
  ScriptedModel model;
  model.bytes_per_token = 1 << 20;
  EXPECT_EQ(choose_batch(model, 16, 1, 0), 64);  // 1 GiB by default: 64 * 16 MiB
  EXPECT_EQ(choose_batch(model, 17, 1, 0), 32);
  EXPECT_EQ(choose_batch(model, 17, 1, 2 * kGiB), 64);
  EXPECT_EQ(choose_batch(model, 100000, 1, kGiB), 1);
  model.predicts_bytes = false;
  EXPECT_EQ(choose_batch(model, 256, 1, 0), 64);  // 16,384 tokens
  EXPECT_EQ(choose_batch(model, 257, 1, 0), 32);
  EXPECT_EQ(choose_batch(model, 65536, 1, 0), 1);
}

TEST(RunnerMemory, OutOfMemoryHalvesTheBatchAndLosesNothing) {
  for (const bool bad_alloc : {false, true}) {
    ScriptedModel model;
    model.predicts_bytes = false;
    model.throws_bad_alloc = bad_alloc;
    model.capacity_bytes = 3 * 64 * 1024;  // three samples of 64 tokens
    RunOptions options = run_options();
    options.batch = 16;
    options.probe = ProbeRows::kAll;
    const Ran ran = run_plan(model, plan_of({64}, 7, {}, kOneAnswer), options);
    ASSERT_EQ(ran.summary.ok, 1);
    // 7 do not fit, 3 do.
    EXPECT_THAT(model.batches, ElementsAre(3U, 3U, 1U));
    EXPECT_EQ(ran.records[0].setting.batch, 3);
    EXPECT_EQ(ran.records[0].outcomes, "1111111");
    // Rows counted by the call that failed are not in the statistics.
    EXPECT_EQ(ran.records[0].measurement.heads[0].rows, 7);
    EXPECT_EQ(ran.records[0].measurement.probe_rows, "all");
  }
}

TEST(RunnerMemory, ACellThatNeverFitsFailsAndLaterOnesRun) {
  const auto model = make_double("oom@65536");
  RunPlan plan = plan_of({64, 65536, 32768}, 2, {}, kOneAnswer);
  std::swap(plan.cells[1], plan.cells[2]);  // the failing cell before the last
  const Ran ran = run_plan(*model, plan);
  EXPECT_EQ(ran.summary.ok, 2);
  EXPECT_EQ(ran.summary.failed, 1);
  EXPECT_EQ(ran.summary.nonfinite, 0);
  ASSERT_EQ(ran.records.size(), 3U);
  EXPECT_EQ(ran.records[1].question.length, 65536);
  EXPECT_EQ(ran.records[1].status, "failed");
  EXPECT_THAT(ran.records[1].reason, HasSubstr("out of memory"));
  EXPECT_THAT(ran.records[1].reason, HasSubstr("batch 1, 65536 tokens a sample"));
  EXPECT_EQ(ran.records[1].measurement.samples, 0);
  EXPECT_EQ(ran.records[2].question.length, 32768);
  EXPECT_EQ(ran.records[2].status, "ok");
}

TEST(RunnerMemory, ABudgetThatOneSampleExceedsIsRefusedBeforeTheCall) {
  ScriptedModel model;
  model.bytes_per_token = 1 << 20;
  RunOptions options = run_options();
  options.memory_bytes = kGiB;
  const Ran ran = run_plan(model, plan_of({512, 2048}, 2, {}, kOneAnswer), options);
  EXPECT_EQ(ran.summary.ok, 1);
  EXPECT_THAT(model.batches, Each(2U));
  EXPECT_EQ(ran.records[1].reason,
            "out of memory: one sample of 2048 tokens needs about 2.00 GiB, the budget is 1.00 GiB");
}

}  // namespace
}  // namespace lenbench
