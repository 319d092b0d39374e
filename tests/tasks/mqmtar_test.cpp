// MQMTAR against the paper's table and generator: sizes, uniqueness, blanks, queries and word pools.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "cases.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;
using Word = std::pair<std::int32_t, std::int32_t>;

struct Pair {
  Word key, value;
  std::int64_t blanks_before;
};

// Reads the context slot by slot, token-aligned.
std::vector<Pair> read_slots(const Sample& sample) {
  const auto pairs = static_cast<std::int64_t>(sample.facts.at("pairs"));
  const auto slot = static_cast<std::int64_t>(sample.facts.at("slot"));
  std::vector<Pair> read;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::int32_t* cell = sample.tokens.data() + 1 + i * slot;
    std::int64_t at = 0;
    while (at < slot && cell[at] == 0) ++at;
    EXPECT_LE(at + 6, slot);
    EXPECT_EQ(cell[at + 2], 1);
    for (std::int64_t j = at + 5; j < slot; ++j) EXPECT_EQ(cell[j], 0);
    for (const std::int64_t j : {at, at + 1, at + 3, at + 4}) EXPECT_TRUE(3 <= cell[j] && cell[j] <= 258);
    read.push_back({{cell[at], cell[at + 1]}, {cell[at + 3], cell[at + 4]}, at});
  }
  return read;
}

TEST(Mqmtar, HasTheSizesOfTheTable) {
  const std::unique_ptr<Task> task = make("mqmtar");
  EXPECT_EQ(task->info().vocab_size, 265);
  EXPECT_EQ(task->info().specials.bos, 261);
  EXPECT_EQ(task->info().specials.sep, 264);
  // L, K, s, prompt
  const std::vector<std::array<std::int64_t, 4>> table = {
      {32, 4, 8, 46},         {48, 6, 8, 62},        {64, 8, 8, 78},          {128, 17, 7, 133},
      {256, 34, 7, 252},      {512, 68, 7, 490},     {1024, 136, 7, 966},     {2048, 273, 7, 1925},
      {4096, 546, 7, 3836},   {8192, 1092, 7, 7658}, {16384, 2184, 7, 15302}, {32768, 4369, 7, 30597},
      {65536, 8738, 7, 61180}};
  for (const auto& [length, pairs, slot, prompt] : table) {
    const Sample sample = draw(*task, length, 0);
    EXPECT_EQ(sample.facts.at("pairs"), static_cast<double>(pairs)) << length;
    EXPECT_EQ(sample.facts.at("slot"), static_cast<double>(slot)) << length;
    EXPECT_EQ(sample.prompt_tokens, prompt) << length;
    EXPECT_EQ(static_cast<std::int64_t>(sample.tokens.size()), prompt + 12) << length;
  }
}

// Of the 33 training lengths, 12, 19 and 2 have slots of 7, 8 and 9 tokens.
TEST(Mqmtar, MixesSlotsInTraining) {
  const std::unique_ptr<Task> task = make("mqmtar");
  std::array<int, 10> slots = {};
  for (std::int64_t length = 32; length <= 64; ++length) {
    ++slots.at(static_cast<std::size_t>(draw(*task, length, 0).facts.at("slot")));
  }
  EXPECT_EQ(slots[7], 12);
  EXPECT_EQ(slots[8], 19);
  EXPECT_EQ(slots[9], 2);
}

TEST(Mqmtar, ScoresThirteenTokensAndFeedsTwelve) {
  const Sample sample = draw(*make("mqmtar"), 64, 3);
  ASSERT_EQ(sample.scored.size(), 13U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(sample.scored[i].answer, i % 3 == 0 ? -1 : static_cast<std::int32_t>(i / 3));
    EXPECT_TRUE(sample.scored[i].fed_back);
  }
  EXPECT_EQ(sample.scored[12].target, 262);
  EXPECT_EQ(sample.scored[12].answer, -1);
  EXPECT_FALSE(sample.scored[12].fed_back);
  EXPECT_EQ(sample.tokens[static_cast<std::size_t>(sample.prompt_tokens - 1)], 264);
}

TEST(Mqmtar, SatisfiesItsSpecification) {
  const std::unique_ptr<Task> task = make("mqmtar");
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 32; length <= 64; ++length) lengths.push_back(length);
  for (std::int64_t length = 128; length <= 1024; length *= 2) lengths.push_back(length);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::int64_t length = lengths[i % lengths.size()];
    const Sample sample = draw(*task, length, i, 0, i % 2 == 0 ? Split::kTest : Split::kTrain);
    const std::vector<Pair> pairs = read_slots(sample);
    ASSERT_EQ(static_cast<std::int64_t>(pairs.size()), 8 * length / 60);
    std::set<Word> keys, values;
    for (const Pair& pair : pairs) keys.insert(pair.key), values.insert(pair.value);
    EXPECT_EQ(keys.size(), pairs.size());
    EXPECT_EQ(values.size(), pairs.size());
    const std::int32_t* query = sample.tokens.data() + sample.prompt_tokens - 13;
    for (std::size_t q = 0; q < 4; ++q, query += 3) {
      EXPECT_EQ(query[0], 2);
      int found = 0;
      for (const Pair& pair : pairs) {
        if (pair.key != Word(query[1], query[2])) continue;
        ++found;
        EXPECT_EQ(pair.value, Word(sample.scored[3 * q + 1].target, sample.scored[3 * q + 2].target));
      }
      EXPECT_EQ(found, 1);
    }
  }
}

// Eight pairs at length 64: which pair each of 8,000 queries asks for. 59 % of samples
// repeat a query: 1 - 8*7*6*5/8^4 = 0.590.
TEST(Mqmtar, QueriesAreUniformWithReplacement) {
  const std::unique_ptr<Task> task = make("mqmtar");
  std::vector<std::int64_t> counts(8);
  int repeated = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Sample sample = draw(*task, 64, i);
    for (std::size_t q = 0; q < 4; ++q) ++counts[static_cast<std::size_t>((sample.sources[2 * q] - 1) / 8)];
    repeated += sample.facts.at("repeated_queries") > 0 ? 1 : 0;
  }
  EXPECT_GT(p_value(counts), kLevel);
  EXPECT_NEAR(repeated, 1180, 4 * 22);  // standard deviation 22
  const std::unique_ptr<Task> distinct = make("mqmtar:queries-with=distinct");
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(draw(*distinct, 64, i).facts.at("repeated_queries"), 0);
}

// Slot 7: one spare blank, before the pair with probability 6/10. Slot 8: two of 7 + 5 cells: 10, 35, 21 of 66.
TEST(Mqmtar, BlanksAreHypergeometric) {
  const std::unique_ptr<Task> task = make("mqmtar");
  std::array<double, 2> seven = {};
  for (std::uint64_t i = 0; i < 100; ++i) {
    for (const Pair& pair : read_slots(draw(*task, 1024, i))) ++seven.at(static_cast<std::size_t>(pair.blanks_before));
  }
  EXPECT_NEAR(seven[1] / (seven[0] + seven[1]), 0.6, 4 * 0.0042);  // 13,600 draws
  std::array<double, 3> eight = {};
  for (std::uint64_t i = 0; i < 2000; ++i) {
    for (const Pair& pair : read_slots(draw(*task, 64, i))) ++eight.at(static_cast<std::size_t>(pair.blanks_before));
  }
  EXPECT_NEAR(eight[0] / 16000, 10.0 / 66, 4 * 0.0028);
  EXPECT_NEAR(eight[1] / 16000, 35.0 / 66, 4 * 0.0039);
  EXPECT_NEAR(eight[2] / 16000, 21.0 / 66, 4 * 0.0037);
}

std::set<Word> key_pool(const Task& task, std::int64_t length, Split split) {
  std::set<Word> pool;
  for (const Pair& pair : read_slots(draw(task, length, 0, 0, split))) pool.insert(pair.key);
  return pool;
}

std::size_t overlap(const std::set<Word>& a, const std::set<Word>& b) {
  std::size_t both = 0;
  for (const Word& word : a) both += b.count(word);
  return both;
}

// From length 75,000 a sample holds its whole pool of 10,000. Two pools share 10,000^2 / 65,536 = 1,526 words on
// average (standard deviation 33).
TEST(Mqmtar, FilesHaveTheirOwnWordPools) {
  const std::unique_ptr<Task> task = make("mqmtar");
  const std::set<Word> test = key_pool(*task, 75000, Split::kTest);
  ASSERT_EQ(test.size(), 10000U);
  EXPECT_EQ(key_pool(*task, 75000, Split::kTest), test);
  EXPECT_NEAR(static_cast<double>(overlap(test, key_pool(*task, 75001, Split::kTest))), 1526, 5 * 33);
  EXPECT_NEAR(static_cast<double>(overlap(test, key_pool(*task, 75000, Split::kValidation))), 1526, 5 * 33);
  const std::set<Word> train = key_pool(*task, 75000, Split::kTrain);
  EXPECT_NEAR(static_cast<double>(overlap(test, train)), 1526, 5 * 33);
  EXPECT_EQ(key_pool(*task, 80000, Split::kTrain), train) << "one training file holds every length";
}

}  // namespace
}  // namespace lenbench
