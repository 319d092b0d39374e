// Tests of verdict/watch.h beyond its error rates (simulation_test.cpp).
#include "verdict/watch.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/verdict/cells.h"

namespace lenbench {
namespace {

TEST(Watch, StopsAtClearLossesAndNotBefore) {
  const GateCell baseline = cell_of(outcomes_of(1000, 1000));
  CellWatch watch(baseline, {}, 40, true);
  EXPECT_FALSE(watch.decided());
  watch.add("0000");
  EXPECT_FALSE(watch.decided());
  watch.add("000000000");
  EXPECT_TRUE(watch.decided());
  EXPECT_EQ(watch.seen(), 13);
}

TEST(Watch, CellsUnderAFloorRunToTheirEnd) {
  const GateCell baseline = cell_of(outcomes_of(1000, 1000));
  CellWatch watch(baseline, {}, 1, false);
  watch.add(outcomes_of(0, 999));
  EXPECT_FALSE(watch.decided());
  EXPECT_EQ(watch.expected_samples_left(), 1);
}

TEST(Watch, AnUnfinishedCellGetsNoFixedTest) {
  const GateCell baseline = cell_of(outcomes_of(1000, 1000));
  CellWatch watch(baseline, {}, 1, true);
  watch.add("11");
  Evidence fixed;
  fixed.p_worse = fixed.p_better = fixed.p_not_same = 1e-9;
  EXPECT_GT(watch.result(fixed, false).p_worse, 0.9);
  EXPECT_NE(watch.result(fixed, false).note.find("2 of 1000"), std::string::npos);
  EXPECT_NEAR(watch.result(fixed, true).p_worse, 2e-9, 1e-12) << "half the level is the fixed test's";
  EXPECT_EQ(watch.result(fixed, true).note, "");
}

TEST(Watch, PerplexityKeepsItsFixedTest) {
  const GateCell baseline = text_cell(1, 8);
  CellWatch watch(baseline, {}, 4, true);
  EXPECT_THROW(watch.add("1"), std::logic_error);
  EXPECT_FALSE(watch.decided());
  Evidence fixed;
  fixed.p_worse = 0.01;
  EXPECT_EQ(watch.result(fixed, true).p_worse, 0.01);
}

TEST(Watch, MoreOutcomesThanTheBaselineHas) {
  const GateCell baseline = cell_of("111");
  CellWatch watch(baseline, {}, 1, true);
  EXPECT_THROW(watch.add("1111"), std::logic_error);
}

TEST(Schedule, QuickestVerdictFirstAndHopelessCellsLast) {
  const QueuedCell slow{.expected_samples_left = 10, .seconds_per_sample = 5, .can_lose = true, .open = true};
  const QueuedCell quick{.expected_samples_left = 100, .seconds_per_sample = 0.01, .can_lose = true, .open = true};
  QueuedCell hopeless = quick, closed = quick;
  hopeless.can_lose = false;
  hopeless.expected_samples_left = 1;
  closed.open = false;
  closed.expected_samples_left = 0;
  EXPECT_EQ(next_cell({closed, hopeless, slow, quick}), 3u);
  EXPECT_EQ(next_cell({closed, hopeless, slow}), 2u);
  EXPECT_EQ(next_cell({closed, hopeless}), 1u);
  EXPECT_EQ(next_cell({closed}), 1u) << "none is open";
}

TEST(Judge, CellsLeftOutOnPurposeAreUndecided) {
  const std::vector<GateCell> baseline = {cell_of(outcomes_of(200, 200)), cell_of(outcomes_of(200, 200), 128)};
  JudgeOptions options{
      .today = "2026-01-01", .watched = {}, .left_out = {{"recall@128", "not reached within --budget"}}};
  Policy policy;
  policy.min_accuracy["recall@128"] = 0.5;
  const CheckResult result = judge(baseline, {baseline[0]}, policy, options);
  EXPECT_EQ(result.exit_code(), ExitCode::kOk);
  EXPECT_EQ(result.count(Verdict::kUndecided), 2) << "the cell and its floor";
}

}  // namespace
}  // namespace lenbench
