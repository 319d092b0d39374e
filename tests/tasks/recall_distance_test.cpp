// Recall with its distances held: the band of places asked for, and what length then changes.
#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "base/error.h"
#include "cases.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

// With one query, repetition allowed and a pair in every other place the pair asked for is within two tokens of the
// place drawn, so its distance lies in the band; the mark and the key of the query add two.
TEST(RecallDistance, QueriesStayInTheBandWhateverTheLength) {
  const std::unique_ptr<Task> task =
      make("recall:density=2,keys=65536,max-distance=64,min-distance=16,queries=1,repeat=true");
  for (const std::int64_t length : {std::int64_t{256}, std::int64_t{65536}}) {
    double nearest = 1e9, farthest = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
      const Sample sample = draw(*task, length, i);
      nearest = std::min(nearest, sample.facts.at("distance_min"));
      farthest = std::max(farthest, sample.facts.at("distance_max"));
    }
    EXPECT_GE(nearest, 16 + 2 - 2) << length;
    EXPECT_LE(nearest, 16 + 2 + 2) << length;
    EXPECT_LE(farthest, 63 + 2 + 2) << length;
    EXPECT_GE(farthest, 63 + 2 - 2) << length;
  }
}

TEST(RecallDistance, AFarBandLeavesTheContextItself) {
  const std::unique_ptr<Task> plain = make("recall:queries=1");
  const std::unique_ptr<Task> far = make("recall:min-distance=900,queries=1");
  double sum = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Sample sample = draw(*far, 1024, i);
    EXPECT_EQ(sample.facts.at("pairs"), draw(*plain, 1024, i).facts.at("pairs"));
    sum += sample.facts.at("distance");
  }
  EXPECT_NEAR(sum / 200, 964, 4 * 36 / 14.1 + 4);  // uniform over 900..1023, pairs stand 8 tokens apart
}

TEST(RecallDistance, DefaultsAreTheSamplesAndKeysOfBefore) {
  const std::unique_ptr<Task> plain = make("recall");
  const std::unique_ptr<Task> spelt = make("recall:max-distance=any,min-distance=0");
  EXPECT_EQ(spelt->info().parameters, plain->info().parameters);
  EXPECT_EQ(plain->info().parameters.count("max-distance"), 0U);
  EXPECT_EQ(draw(*spelt, 128, 3), draw(*plain, 128, 3));
  // A band that covers the whole context asks as the default does, by another address.
  EXPECT_EQ(draw(*make("recall:max-distance=4096"), 128, 3).facts.at("pairs"), draw(*plain, 128, 3).facts.at("pairs"));
}

TEST(RecallDistance, RefusesAnEmptyBandAndATooShortContext) {
  try {
    make("recall:max-distance=16,min-distance=16");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("min-distance=16"));
  }
  const std::unique_ptr<Task> task = make("recall:min-distance=100");
  EXPECT_EQ(task->min_length(), 101);
  EXPECT_THROW(draw(*task, 100, 0), Error);
}

TEST(RecallFacts, PadsPairsAndDensity) {
  const Sample sample = draw(*make("recall"), 64, 0);
  EXPECT_EQ(sample.facts.at("pairs"), 8);
  EXPECT_EQ(sample.facts.at("pads"), 64 - 2 * 8);
  EXPECT_EQ(sample.facts.at("density"), 8.0 / 64);
  EXPECT_EQ(draw(*make("recall-dense"), 60, 0).facts.at("pads"), 60 - 3 * 10);
  EXPECT_LE(sample.facts.at("distance_min"), sample.facts.at("distance"));
  EXPECT_LE(sample.facts.at("distance"), sample.facts.at("distance_max"));
}

}  // namespace
}  // namespace lenbench
