// Which values are marked, by tests whose p-values are known.
#include "report/best.h"

#include <gmock/gmock.h>

#include "stats/intervals.h"
#include "tests/report/golden_grids.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<bool> marks(const Grid& grid, std::size_t column = 0) {
  std::vector<bool> best;
  for (const GridRow& row : grid.rows) {
    if (row.kind == RowKind::kMeasured) best.push_back(row.cells[column].best);
  }
  return best;
}

TEST(Best, EffectiveCountInvertsWilson) {
  for (const double n : {5.0, 40.0, 1000.0, 123456.0}) {
    for (const double share : {0.0, 0.2, 0.5, 1.0}) {
      const Interval interval = wilson(share * n, n);
      EXPECT_NEAR(effective_count(share, interval.low, interval.high), n, n * 1e-6);
    }
  }
}

TEST(Best, PairedOutcomesDecideWhereSharesAreClose) {
  // 60 and 52 of 100. Nested: 8 samples right for the first alone and none for the second, p = 2 / 2^8 = 0.0078.
  const std::string first = std::string(60, '1') + std::string(40, '0');
  const std::string nested = std::string(52, '1') + std::string(48, '0');
  const Grid told = build_grids({counted("a", 64, first), counted("b", 64, nested)})[0];
  EXPECT_THAT(marks(told), ElementsAre(true, false));
  EXPECT_THAT(told.best_rule, HasSubstr("exact McNemar on the same samples"));
  // The same shares, 48 samples for the first alone and 40 for the second: nothing is told apart, nothing marked.
  const std::string other = std::string(12, '1') + std::string(48, '0') + std::string(40, '1');
  const Grid alike = build_grids({counted("a", 64, first), counted("b", 64, other)})[0];
  EXPECT_THAT(marks(alike), ElementsAre(false, false));
  EXPECT_EQ(alike.best_rule, "");
}

TEST(Best, TiesAreMarkedAndHolmCountsTheColumn) {
  // Against the best: 6 samples alone, p = 2 / 2^6 = 0.031; as one of three such comparisons Holm makes it 0.094.
  const std::string best(40, '1'), six = std::string(34, '1') + std::string(6, '0'), none(40, '0');
  EXPECT_THAT(marks(build_grids({counted("a", 64, best), counted("b", 64, six)})[0]), ElementsAre(true, false));
  const std::vector<Record> four = {counted("a", 64, best), counted("b", 64, six), counted("c", 64, six),
                                    counted("d", 64, six)};
  EXPECT_THAT(marks(build_grids(four)[0]), ElementsAre(false, false, false, false));
  const std::vector<Record> spread = {counted("a", 64, best), counted("b", 64, six), counted("c", 64, six),
                                      counted("d", 64, none)};
  EXPECT_THAT(marks(build_grids(spread)[0]), ElementsAre(true, true, true, false));
}

TEST(Best, SeedsInAnyNumberAreComparedByTheirIntervalsAndTheUntestableIsNotMarked) {
  const std::string best(40, '1'), half = std::string(20, '1') + std::string(20, '0'), none(40, '0');
  const Grid seeds = build_grids({counted("one", 64, best, 0), counted("two", 64, half, 0), counted("two", 64, half, 1),
                                  counted("none", 64, none)})[0];
  EXPECT_THAT(marks(seeds), ElementsAre(true, false, false));
  Record first = counted("two", 64, half), second = counted("two", 64, half);
  first.subject.checkpoint_sha256 = "a";
  second.subject.checkpoint_sha256 = "b";
  const Grid checkpoints = build_grids({counted("one", 64, best), first, second, counted("none", 64, none)})[0];
  EXPECT_THAT(marks(checkpoints), ElementsAre(true, false, false));
}

TEST(Best, FloorsAndUnaskedTablesAreNotMarked) {
  const std::string best(40, '1'), none(40, '0');
  GridRequest request;
  request.mark_best = false;
  const std::vector<Record> records = {counted("a", 64, best), counted("b", 64, none)};
  EXPECT_THAT(marks(build_grids(records, request)[0]), ElementsAre(false, false));
  const Grid grid = build_grids({counted("a", 64, none), counted("blind", 64, best)})[0];
  EXPECT_FALSE(grid.rows[0].cells[0].best);
  EXPECT_FALSE(grid.rows[1].cells[0].best);
}

TEST(Best, SmallerPerplexityIsBetterOverTheSameSamples) {
  std::vector<Record> records = {perplexity_record("a", 64, 3), perplexity_record("b", 64, 2.9)};
  records[0].sample_nats = {10, 20, 30, 40, 50};
  records[1].sample_nats = {9.6, 19.5, 29.5, 39.6, 49.5};  // a little better in every sample
  for (Record& record : records) {
    record.sample_tokens = {10, 10, 10, 10, 10};
    record.samples_requested = record.measurement.samples = 5;
  }
  const Grid grid = build_grids(records)[0];
  EXPECT_THAT(marks(grid), ElementsAre(false, true));
  EXPECT_THAT(grid.best_rule, HasSubstr("Student t over the same samples"));
}

TEST(Best, SeveralCheckpointsAreComparedByTheirSpread) {
  const auto run = [](const char* name, const char* checkpoint, int right) {
    Record record = counted(
        name, 64,
        std::string(static_cast<std::size_t>(right), '1') + std::string(static_cast<std::size_t>(100 - right), '0'));
    record.subject.checkpoint_sha256 = checkpoint;
    return record;
  };
  const Grid told = build_grids({run("a", "1", 90), run("a", "2", 91), run("a", "3", 92), run("b", "4", 60),
                                 run("b", "5", 61), run("b", "6", 62)})[0];
  EXPECT_THAT(marks(told), ElementsAre(true, false));
  EXPECT_THAT(told.best_rule, HasSubstr("Welch t over checkpoints"));
  const Grid alike = build_grids({run("a", "1", 50), run("a", "2", 91), run("a", "3", 92), run("b", "4", 40),
                                  run("b", "5", 61), run("b", "6", 92)})[0];
  EXPECT_THAT(marks(alike), ElementsAre(false, false));
}

}  // namespace
}  // namespace lenbench
