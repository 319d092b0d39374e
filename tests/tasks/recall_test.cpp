// recall and recall-dense against their definition: counts, places, uniqueness, and the law of the queries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cases.h"
#include "p_value.h"
#include "tasks/entry.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

// A context read back: key (one or two symbols) to its value, and the offsets of the pairs.
struct Context {
  std::multimap<std::vector<std::int32_t>, std::int32_t> pairs;
  std::vector<std::int64_t> places;
};

// Default alphabets: filler below 64, keys below 320, values below 384.
Context read_context(const Sample& sample, std::int64_t length, std::size_t key_tokens) {
  Context context;
  std::int64_t at = 1;
  while (at <= length) {
    const std::int32_t token = sample.tokens[static_cast<std::size_t>(at)];
    if (token < 64) {
      ++at;
      continue;
    }
    std::vector<std::int32_t> key;
    for (std::size_t i = 0; i < key_tokens; ++i) key.push_back(sample.tokens[static_cast<std::size_t>(at) + i]);
    const std::int32_t value = sample.tokens[static_cast<std::size_t>(at) + key_tokens];
    for (const std::int32_t symbol : key) EXPECT_TRUE(64 <= symbol && symbol < 320);
    EXPECT_TRUE(320 <= value && value < 384);
    context.pairs.emplace(key, value);
    context.places.push_back(at - 1);
    at += static_cast<std::int64_t>(key_tokens) + 1;
  }
  EXPECT_EQ(at, length + 1);
  return context;
}

TEST(Recall, HasTheStatedSizes) {
  const std::unique_ptr<Task> task = make("recall");
  EXPECT_EQ(task->info().vocab_size, 390);
  EXPECT_EQ(task->info().specials.pad, 385);
  EXPECT_EQ(task->info().specials.bos, 386);
  EXPECT_EQ(task->info().specials.eos, 387);
  EXPECT_EQ(task->info().specials.mask, 388);
  EXPECT_EQ(task->info().specials.sep, 389);
  // length: pairs, queries
  const std::map<std::int64_t, std::pair<int, int>> sizes = {{8, {1, 1}},  {16, {2, 2}},     {63, {7, 7}},
                                                             {64, {8, 8}}, {2048, {256, 8}}, {65536, {256, 8}}};
  for (const auto& [length, expected] : sizes) {
    const Sample sample = draw(*task, length, 0);
    EXPECT_EQ(sample.facts.at("pairs"), expected.first);
    EXPECT_EQ(sample.facts.at("queries"), expected.second);
    EXPECT_EQ(sample.prompt_tokens, 1 + length + 2);
    EXPECT_EQ(static_cast<std::int64_t>(sample.tokens.size()), length + 3 * expected.second);
  }
}

TEST(Recall, KeysAreUniqueAndQueriesAskThem) {
  const std::unique_ptr<Task> task = make("recall");
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::int64_t length = 16 + static_cast<std::int64_t>(i % 113);
    const Sample sample = draw(*task, length, i);
    const Context context = read_context(sample, length, 1);
    ASSERT_EQ(static_cast<std::int64_t>(context.pairs.size()), length / 8);
    std::set<std::int32_t> asked;
    for (const ScoredToken& scored : sample.scored) {
      const std::int32_t key = sample.tokens[static_cast<std::size_t>(scored.position)];
      EXPECT_EQ(sample.tokens[static_cast<std::size_t>(scored.position - 1)], 384);
      ASSERT_EQ(context.pairs.count({key}), 1U);
      EXPECT_EQ(context.pairs.find({key})->second, scored.target);
      asked.insert(key);
    }
    EXPECT_EQ(asked.size(), std::min<std::size_t>(8, context.pairs.size()));
  }
}

TEST(RecallDense, NoBigramStandsTwice) {
  const std::unique_ptr<Task> task = make("recall-dense");
  EXPECT_EQ(task->info().vocab_size, 390);
  EXPECT_EQ(draw(*task, 65536, 0).facts.at("pairs"), 10922);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::int64_t length = 6 + static_cast<std::int64_t>(i % 200);
    const Sample sample = draw(*task, length, i);
    const Context context = read_context(sample, length, 2);
    ASSERT_EQ(static_cast<std::int64_t>(context.pairs.size()), length / 6);
    std::map<std::pair<std::int32_t, std::int32_t>, int> bigrams;
    for (std::int64_t at = 1; at < length; ++at) {
      ++bigrams[{sample.tokens[static_cast<std::size_t>(at)], sample.tokens[static_cast<std::size_t>(at + 1)]}];
    }
    for (const ScoredToken& scored : sample.scored) {
      const auto end = sample.tokens.begin() + scored.position;
      EXPECT_EQ((bigrams[{*(end - 1), *end}]), 1);
      EXPECT_EQ(context.pairs.find({*(end - 1), *end})->second, scored.target);
    }
  }
}

// The stated law, worked out the slow way from the same stream (field 4): nearest pair not asked before, ties down.
TEST(Recall, QueriesFollowTheirLaw) {
  for (const bool repeat : {false, true}) {
    const std::unique_ptr<Task> task = make(repeat ? "recall:queries=40,repeat=true" : "recall:queries=40");
    for (std::uint64_t i = 0; i < 100; ++i) {
      const DrawKey key = {250, i, 0, Split::kTest};
      const Sample sample = task->draw(key);
      const std::vector<std::int64_t> places = read_context(sample, 250, 1).places;
      Rng rng = SampleStreams(task->info()).stream(key, 4);
      std::set<std::int64_t> left(places.begin(), places.end());
      for (const std::int64_t source : sample.sources) {
        const auto u = static_cast<std::int64_t>(rng.below(250));
        std::int64_t best = *left.begin();
        for (const std::int64_t place : left) {
          if (std::abs(place - u) < std::abs(best - u)) best = place;
        }
        ASSERT_EQ(source - 2, best);
        if (!repeat) left.erase(best);
      }
    }
  }
}

// First query over the context in eight bins, and the place of a lone pair.
TEST(Recall, QueriesAndPlacesAreUniform) {
  const std::unique_ptr<Task> task = make("recall");
  std::vector<std::int64_t> bins(8);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    ++bins[static_cast<std::size_t>((draw(*task, 1024, i).sources[0] - 1) / 128)];
  }
  EXPECT_GT(p_value(bins), kLevel);
  std::vector<std::int64_t> places(15);  // offsets 0..14 of a pair in 16 tokens (15 would not hold the value)
  const std::unique_ptr<Task> lone = make("recall:keys=1");
  for (std::uint64_t i = 0; i < 6000; ++i) ++places[static_cast<std::size_t>(draw(*lone, 16, i).sources[0] - 2)];
  EXPECT_GT(p_value(places), kLevel);
}

// Two pairs in six tokens: C(4, 2) = 6 layouts, equally likely.
TEST(Recall, LayoutsAreEquallyLikely) {
  const std::unique_ptr<Task> task = make("recall:density=3");
  std::map<std::vector<std::int64_t>, std::int64_t> layouts;
  for (std::uint64_t i = 0; i < 6000; ++i) ++layouts[read_context(draw(*task, 6, i), 6, 1).places];
  ASSERT_EQ(layouts.size(), 6U);
  std::vector<std::int64_t> counts;
  for (const auto& [layout, count] : layouts) counts.push_back(count);
  EXPECT_GT(p_value(counts), kLevel);
}

// An example worked by hand: the distance is from the key in the context to the key in the query.
TEST(Recall, DistanceIsMeasuredFromKeyToKey) {
  const Sample sample = draw(*make("recall"), 64, 0);
  double sum = 0;
  for (std::size_t i = 0; i < sample.scored.size(); ++i) {
    sum += static_cast<double>(sample.scored[i].position - (sample.sources[i] - 1));
  }
  EXPECT_DOUBLE_EQ(sample.facts.at("distance"), sum / 8);
}

}  // namespace
}  // namespace lenbench
