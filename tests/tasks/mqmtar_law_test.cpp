// MQMTAR's laws at 10,000 samples, against closed forms, and its options that hold all but the length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>

#include "base/error.h"
#include "cases.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

constexpr std::uint64_t kDraws = 10000;

// Where the five tokens of each pair begin, from separators: an id 1 stands nowhere else.
std::vector<std::int64_t> keys_of(const Sample& sample) {
  std::vector<std::int64_t> keys;
  for (std::int64_t t = 0; t < sample.prompt_tokens; ++t) {
    if (sample.tokens[static_cast<std::size_t>(t)] == 1) keys.push_back(t - 2);
  }
  return keys;
}

double repeated_share(double pairs) { return 1 - (pairs - 1) * (pairs - 2) * (pairs - 3) / (pairs * pairs * pairs); }

// Bug L3: how often a pair is asked twice falls with the length. Pairs, the published per cent and its rounding.
TEST(MqmtarLaw, RepeatedQueriesHaveTheSharesOfTheTable) {
  const std::vector<std::array<double, 4>> table = {
      {64, 8, 59, 0.5},         {128, 17, 32, 0.5},       {256, 34, 17, 0.5},        {512, 68, 9, 0.5},
      {1024, 136, 4, 0.5},      {2048, 273, 2, 0.5},      {4096, 546, 1.1, 0.05},    {8192, 1092, 0.5, 0.06},
      {16384, 2184, 0.3, 0.05}, {32768, 4369, 0.1, 0.05}, {65536, 8738, 0.07, 0.005}};
  const std::unique_ptr<Task> task = make("mqmtar");
  const std::unique_ptr<Task> distinct = make("mqmtar:queries-with=distinct");
  for (const auto& [length, pairs, percent, rounding] : table) {
    EXPECT_NEAR(100 * repeated_share(pairs), percent, rounding) << length;
    const auto nominal = static_cast<std::int64_t>(length);
    const std::uint64_t draws = length <= 512 ? kDraws : 100;
    std::int64_t repeated = 0;
    for (std::uint64_t i = 0; i < draws; ++i) {
      repeated += draw(*task, nominal, i).facts.at("repeated_queries") > 0 ? 1 : 0;
    }
    EXPECT_GT(binomial_p(repeated, static_cast<std::int64_t>(draws), repeated_share(pairs)), kLevel) << length;
    EXPECT_EQ(draw(*distinct, nominal, 0).facts.at("repeated_queries"), 0);
  }
}

// Bugs A7 and L2: the label is not the length. Pairs, slot, context and prompt at all eleven lengths, by arithmetic on
// the published rule (K = floor(0.8 L / 6), s = floor(L / K), 12 query tokens, BOS and SEP).
TEST(MqmtarLaw, EffectiveLengthsAreThoseOfTheTable) {
  const std::unique_ptr<Task> task = make("mqmtar");
  for (std::int64_t length = 64; length <= 65536; length *= 2) {
    const std::int64_t pairs = 8 * length / 60, slot = length / pairs;
    const Sample sample = draw(*task, length, 2);
    EXPECT_EQ(keys_of(sample).size(), static_cast<std::size_t>(pairs)) << length;
    EXPECT_EQ(sample.prompt_tokens, pairs * slot + 12 + 2) << length;
    EXPECT_EQ(sample.facts.at("pads"), static_cast<double>(pairs * (slot - 5))) << length;
    EXPECT_DOUBLE_EQ(sample.facts.at("density"), 1.0 / static_cast<double>(slot)) << length;
  }
}

// Slots of 7, 8 and 9 tokens: s - 6 spare blanks of which x stand before the key, hypergeometric from s - 1 cells on
// the left and s - 3 on the right.
TEST(MqmtarLaw, SlotsAreHypergeometric) {
  const auto choose = [](std::int64_t n, std::int64_t k) {
    double ways = 1;
    for (std::int64_t i = 0; i < k; ++i) ways = ways * static_cast<double>(n - i) / static_cast<double>(i + 1);
    return ways;
  };
  const std::unique_ptr<Task> task = make("mqmtar");
  for (const auto& [length, slot] : std::vector<std::pair<std::int64_t, std::int64_t>>{{128, 7}, {64, 8}, {36, 9}}) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(slot - 5));
    std::vector<double> shares;
    for (std::int64_t x = 0; x <= slot - 6; ++x) shares.push_back(choose(slot - 1, x) * choose(slot - 3, slot - 6 - x));
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const Sample sample = draw(*task, length, i);
      ASSERT_EQ(sample.facts.at("slot"), static_cast<double>(slot));
      const std::vector<std::int64_t> keys = keys_of(sample);
      ++counts.at(static_cast<std::size_t>(keys[0] - 1));
      ++counts.at(static_cast<std::size_t>((keys.back() - 1) % slot));
    }
    EXPECT_GT(p_value(counts, shares), kLevel) << slot;
  }
}

// Bug C4: queries are uniform over the pairs, for one slot number and for the place among the queries.
TEST(MqmtarLaw, QueriesAreUniform) {
  const std::unique_ptr<Task> task = make("mqmtar");
  std::vector<std::int64_t> pairs(34), first_and_second(8 * 8);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Sample sample = draw(*task, 256, i);
    for (std::size_t q = 0; q < 4; ++q) ++pairs.at(static_cast<std::size_t>((sample.sources[2 * q] - 1) / 7));
    const Sample small = draw(*task, 64, i);
    ++first_and_second.at(static_cast<std::size_t>((small.sources[0] - 1) / 8 * 8 + (small.sources[2] - 1) / 8));
  }
  EXPECT_GT(p_value(pairs), kLevel);
  EXPECT_GT(p_value(first_and_second), kLevel);
}

// Symbols of keys and values over their 256 ids.
TEST(MqmtarLaw, SymbolsAreUniformOverTheAlphabet) {
  const std::unique_ptr<Task> task = make("mqmtar");
  std::vector<std::int64_t> symbols(256);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    // Each seed has its own pools; within one pool counts follow the pool, not the alphabet.
    const Sample sample = draw(*task, 16, 0, i);
    const auto key = static_cast<std::size_t>(keys_of(sample)[0]);
    for (const std::size_t at : {key, key + 1, key + 3, key + 4}) {
      ++symbols.at(static_cast<std::size_t>(sample.tokens[at]) - 3);
    }
  }
  EXPECT_GT(p_value(symbols), kLevel);
}

TEST(MqmtarExact, PromptHasExactlyTheNominalLength) {
  for (const char* spec :
       {"mqmtar:fill=exact", "mqmtar:fill=exact,slots=training", "mqmtar:fill=exact,queries=1,queries-with=distinct"}) {
    const std::unique_ptr<Task> task = make(spec);
    std::vector<std::int64_t> lengths = {60000, 65536};
    for (std::int64_t length = task->min_length(); length < task->min_length() + 200; ++length)
      lengths.push_back(length);
    for (const std::int64_t length : lengths) {
      const Sample sample = draw(*task, length, static_cast<std::uint64_t>(length));
      ASSERT_EQ(sample.prompt_tokens, length) << spec;
      const std::vector<std::int64_t> keys = keys_of(sample);
      ASSERT_EQ(static_cast<double>(keys.size()), sample.facts.at("pairs"));
      for (std::size_t i = 1; i < keys.size(); ++i) ASSERT_GE(keys[i] - keys[i - 1], 6);
    }
  }
}

// At 79 tokens the context has 65: 8 pairs, slots of 8 and one blank to spare, which any slot may get. A key's place
// tells nothing, so the slots are read from distances: with keys at 1 + 8 i + x, x in 0..2, one slot is wider.
TEST(MqmtarExact, SpareBlanksGoToRandomSlots) {
  const std::unique_ptr<Task> task = make("mqmtar:fill=exact");
  std::vector<std::int64_t> shifted(9);
  std::int64_t total = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Sample sample = draw(*task, 79, i);
    ASSERT_EQ(sample.facts.at("pairs"), 8);
    ASSERT_EQ(sample.facts.at("slot"), 8);
    const std::vector<std::int64_t> keys = keys_of(sample);
    // Certain only where a key stands beyond what an unshifted slot allows, or at its very start.
    for (std::size_t k = 0; k < 8; ++k) {
      const std::int64_t x = keys[k] - 1 - 8 * static_cast<std::int64_t>(k);
      ASSERT_TRUE(0 <= x && x <= 3);
      shifted[k] += x == 3 ? 1 : 0;
    }
    total += 1;
  }
  // A key at 3 needs a wider slot before it (2 of an unshifted slot's draws: 21/66) or its own slot wide with all three
  // spare blanks before it: slot 9, 3 of 8 + 6 cells, all on the left: 56/364.
  for (std::size_t k = 0; k < 8; ++k) {
    const double probability = static_cast<double>(k) / 8 * 21 / 66 + 1.0 / 8 * 56 / 364;
    EXPECT_GT(binomial_p(shifted[k], total, probability), kLevel) << k;
  }
}

// Widths of the 33 training lengths: 12, 19 and 2 have slots of 7, 8 and 9.
TEST(MqmtarAsTrained, SlotsAreAsWideAsInTrainingAtEveryLength) {
  const std::unique_ptr<Task> task = make("mqmtar:slots=training");
  for (const std::int64_t length : {std::int64_t{64}, std::int64_t{300}}) {
    std::vector<std::int64_t> widths(3);
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const Sample sample = draw(*task, length, i);
      const auto slot = static_cast<std::int64_t>(sample.facts.at("slot"));
      ++widths.at(static_cast<std::size_t>(slot - 7));
      ASSERT_EQ(sample.facts.at("pairs"), static_cast<double>(length / slot));
      ASSERT_EQ(sample.prompt_tokens, length / slot * slot + 14);
    }
    EXPECT_GT(p_value(widths, {12, 19, 2}), kLevel) << length;
  }
}

TEST(MqmtarAsTrained, RefusesWhereThePoolEndsNamingTheLargestLength) {
  const std::unique_ptr<Task> task = make("mqmtar:slots=training");
  EXPECT_NO_THROW(draw(*task, 70006, 0));
  try {
    draw(*task, std::int64_t{1} << 20, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("70006"), std::string::npos) << error.what();
  }
}

// Each query is followed by SEP and `2 v1 v2`; the values are read from the context by the pair that starts with the
// key.
TEST(MqmtarInterleaved, EveryQueryIsAnsweredAtOnce) {
  const std::unique_ptr<Task> task = make("mqmtar:queries=8,answers=interleaved");
  for (const std::int64_t length : {std::int64_t{8}, std::int64_t{64}, std::int64_t{1000}}) {
    for (std::uint64_t index = 0; index < 200; ++index) {
      const Sample sample = draw(*task, length, index);
      const std::vector<std::int32_t>& tokens = sample.tokens;
      ASSERT_LE(static_cast<std::int64_t>(tokens.size()), task->total_tokens(length));
      ASSERT_EQ(sample.scored.size(), 8U * 3 + 1);
      ASSERT_EQ(sample.sources.size(), 16U);
      ASSERT_EQ(sample.prompt_tokens, static_cast<std::int64_t>(tokens.size()) - 3 - 7 * 7);
      std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int32_t, std::int32_t>> pairs;
      for (const std::int64_t key : keys_of(sample)) {
        const std::int32_t* unit = tokens.data() + key;
        pairs[{unit[0], unit[1]}] = {unit[3], unit[4]};
      }
      for (std::size_t q = 0; q < 8; ++q) {
        const std::size_t at = tokens.size() - 7 * (8 - q);
        const auto [first, second] = pairs.at({tokens[at + 1], tokens[at + 2]});
        ASSERT_THAT(std::vector<std::int32_t>(tokens.begin() + at, tokens.begin() + at + 7),
                    testing::ElementsAre(2, tokens[at + 1], tokens[at + 2], 264, 2, first, second));
        for (std::size_t part = 0; part < 3; ++part) {
          const ScoredToken& scored = sample.scored[3 * q + part];
          ASSERT_EQ(scored.position, static_cast<std::int64_t>(at + 3 + part));
          ASSERT_EQ(scored.target, tokens[at + 4 + part]);
          ASSERT_EQ(scored.answer, part == 0 ? -1 : static_cast<std::int32_t>(q));
        }
      }
      std::vector<std::int64_t> positions;
      std::vector<std::int32_t> targets;
      for (const ScoredToken& scored : sample.scored) {
        positions.push_back(scored.position);
        targets.push_back(scored.target);
      }
      ASSERT_EQ(task->solve(tokens, positions), targets);
      ASSERT_EQ(targets.back(), 262);
    }
  }
  EXPECT_EQ(draw(*make("mqmtar:fill=exact,answers=interleaved"), 500, 0).prompt_tokens, 500);
}

// The options came later: written with their defaults they change nothing that was published.
TEST(MqmtarOptions, DefaultsAreTheSamplesAndKeysOfBefore) {
  const std::unique_ptr<Task> plain = make("mqmtar");
  const std::unique_ptr<Task> spelt = make("mqmtar:fill=nominal,slots=length,answers=end");
  EXPECT_EQ(plain->info().parameters, (TaskParameters{{"queries", "4"}, {"queries-with", "replacement"}}));
  EXPECT_EQ(spelt->info().parameters, plain->info().parameters);
  EXPECT_EQ(draw(*spelt, 128, 3), draw(*plain, 128, 3));
  EXPECT_EQ(format_spec(*spelt), "mqmtar");
}

}  // namespace
}  // namespace lenbench
