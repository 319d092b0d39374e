// Batches: pure functions of the step, drawn ahead, packed without losing a target.
#include "train/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/base/expect_error.h"
#include "tests/train/tiny_recipe.h"

namespace lenbench {
namespace {

using testing::HasSubstr;

Recipe tiny() {
  const TemporaryFolder folder;
  return read_recipe(write_recipe(folder, tiny_recipe()));
}

bool same(const TrainBatch& a, const TrainBatch& b) {
  return a.step == b.step && a.ids == b.ids && a.scored_flat == b.scored_flat && a.targets == b.targets;
}

TEST(TrainData, ABatchIsAFunctionOfSeedAndStep) {
  const TrainTasks tasks(tiny(), ".");
  const TrainTasks again(tiny(), ".");
  EXPECT_TRUE(same(tasks.batch(1, 7), again.batch(1, 7)));
  EXPECT_FALSE(same(tasks.batch(1, 7), tasks.batch(2, 7)));
  EXPECT_NE(tasks.batch(1, 6).ids, tasks.batch(1, 7).ids);
}

TEST(TrainData, TheQueueServesTheSameBatchesInOrderFromAnyStep) {
  const TrainTasks tasks(tiny(), ".");
  BatchQueue queue(tasks, 1, 4, 12, 2);
  for (std::int64_t step = 4; step < 12; ++step) EXPECT_TRUE(same(queue.next(), tasks.batch(1, step))) << step;
}

TEST(TrainData, StoppingAQueueEarlyDoesNotHang) {
  const TrainTasks tasks(tiny(), ".");
  BatchQueue queue(tasks, 1, 0, 12, 1);
  EXPECT_EQ(queue.next().step, 0);
}

TEST(TrainData, LengthsStayWithinTheScheduleAndVary) {
  const Recipe recipe = tiny();
  const TrainTasks tasks(recipe, ".");
  std::set<std::int64_t> seen;
  for (std::int64_t step = 0; step < recipe.steps; ++step) {
    const TrainBatch batch = tasks.batch(1, step);
    // BOS, context, then per query a mark, a key and a value, the last value unread.
    EXPECT_LE(batch.tokens, 1 + top_length_at(recipe, step) + 3 * 4 - 1);
    seen.insert(batch.tokens);
  }
  EXPECT_GE(seen.size(), 3u);
}

TEST(TrainData, PackingKeepsEveryTargetBesideItsRow) {
  Sample a, b;
  a.tokens = {5, 6, 7};
  a.scored = {{1, 9, 0, false}};
  b.tokens = {8, 9, 10, 11, 12};
  b.scored = {{2, 3, 0, true}, {4, 4, 1, false}};
  const TrainBatch batch = pack({a, b});
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.tokens, 5);
  EXPECT_THAT(batch.ids, testing::ElementsAre(5, 6, 7, 0, 0, 8, 9, 10, 11, 12));
  EXPECT_THAT(batch.scored_flat, testing::ElementsAre(1, 7, 9));
  EXPECT_THAT(batch.targets, testing::ElementsAre(9, 3, 4));
}

TEST(TrainData, ValidationIsNotTrainingData) {
  const TrainTasks tasks(tiny(), ".");
  const std::vector<Sample> samples = tasks.validation_samples();
  ASSERT_EQ(samples.size(), 16u);
  std::set<std::vector<std::int32_t>> distinct;
  for (const Sample& sample : samples) distinct.insert(sample.tokens);
  EXPECT_EQ(distinct.size(), 16u);
  EXPECT_EQ(samples.front().facts.count("pairs"), 1u);
}

TEST(TrainData, SourcesOfTwoVocabulariesAreRefused) {
  Recipe recipe = tiny();
  recipe.sources[1].task = "recall:keys=7,values=4,filler=4,queries=2";
  EXPECT_THAT(error_of([&] { TrainTasks(recipe, "."); }), HasSubstr("one vocabulary"));
}

}  // namespace
}  // namespace lenbench
