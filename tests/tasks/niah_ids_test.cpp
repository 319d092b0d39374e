// Needle haystacks: length rule, unique keys, distinct places, depth, and the defects of the original.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "cases.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;
using Ids = std::vector<std::int32_t>;

struct Needle {
  std::int64_t at;   // position in the sample
  std::int64_t hay;  // haystack tokens before it
  Ids key, value;
};

struct Body {
  std::vector<Needle> needles;
  Ids hay;
  std::vector<Ids> queries;
};

Body read_body(const Sample& sample) {
  Body body;
  std::size_t at = 1;
  while (sample.tokens[at] != 578) {
    if (sample.tokens[at] == 576) {
      const auto begin = sample.tokens.begin() + static_cast<std::ptrdiff_t>(at);
      EXPECT_EQ(begin[3], 577);
      body.needles.push_back({static_cast<std::int64_t>(at), static_cast<std::int64_t>(body.hay.size()),
                              Ids(begin + 1, begin + 3), Ids(begin + 4, begin + 7)});
      at += 7;
    } else {
      EXPECT_LT(sample.tokens[at], 256);
      body.hay.push_back(sample.tokens[at]);
      ++at;
    }
  }
  for (; sample.tokens[at] == 578; at += 3) body.queries.push_back({sample.tokens[at + 1], sample.tokens[at + 2]});
  EXPECT_EQ(sample.tokens[at], 583);
  EXPECT_EQ(static_cast<std::int64_t>(at) + 1, sample.prompt_tokens);
  return body;
}

struct Structure {
  std::string spec;
  std::size_t needles, keys, queries, answers;
};

TEST(NiahIds, HasTheStructureOfItsKind) {
  const std::vector<Structure> structures = {
      {"niah-ids", 1, 1, 1, 1},
      {"niah-ids:kind=single,haystack=essay", 1, 1, 1, 1},
      {"niah-ids:kind=multi-key,haystack=essay", 4, 4, 1, 1},
      {"niah-ids:kind=multi-value,haystack=essay", 4, 1, 1, 4},
      {"niah-ids:kind=multi-query,haystack=essay", 4, 4, 4, 4},
      {"niah-ids:kind=multi-query,queries=6", 6, 6, 6, 6},
      {"niah-ids:kind=multi-key,keys=40,haystack=essay", 40, 40, 1, 1},
  };
  for (const Structure& structure : structures) {
    const std::unique_ptr<Task> task = make(structure.spec);
    const std::int64_t length = std::max<std::int64_t>(512, task->min_length());
    for (std::uint64_t i = 0; i < 300; ++i) {
      const Sample sample = draw(*task, length, i);
      const Body body = read_body(sample);
      std::set<Ids> keys, values;
      std::set<std::int64_t> places;
      for (const Needle& needle : body.needles) {
        keys.insert(needle.key);
        values.insert(needle.value);
        places.insert(needle.hay);
      }
      ASSERT_EQ(body.needles.size(), structure.needles) << structure.spec;
      EXPECT_EQ(keys.size(), structure.keys);
      EXPECT_EQ(values.size(), structure.needles);
      EXPECT_EQ(places.size(), structure.needles) << "distinct places";
      EXPECT_EQ(std::set<Ids>(body.queries.begin(), body.queries.end()).size(), structure.queries);
      ASSERT_EQ(sample.scored.size(), 3 * structure.answers);
      // Answers in order of the queries, then of appearance.
      std::size_t row = 0;
      for (const Ids& query : body.queries) {
        for (const Needle& needle : body.needles) {
          if (needle.key != query) continue;
          for (std::size_t j = 0; j < 3; ++j, ++row) {
            EXPECT_EQ(sample.scored[row].target, needle.value[j]);
            EXPECT_EQ(sample.scored[row].answer, static_cast<std::int32_t>(row / 3));
          }
        }
      }
      EXPECT_EQ(row, sample.scored.size());
    }
  }
}

// Every needle task by RULER's name, 10,000 samples each over five lengths: a program that knows the marks and nothing
// of the widths reads the prompt, and solve() must agree.
TEST(NiahIds, BruteForceAgrees) {
  for (const TaskAlias& alias : task_aliases()) {
    const std::unique_ptr<Task> task = make(alias.name);
    const std::int64_t least = task->min_length();
    for (const std::int64_t length : {least, least + 1, least + 50, least + 130, least + 400}) {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const Sample sample = draw(*task, length, i);
        // A needle is a mark, the symbols of the key (256..511), a separator, the symbols of the value (512..575).
        std::multimap<Ids, Ids> needles;
        Ids expected;
        for (std::size_t at = 1; sample.tokens[at] != 583;) {
          const std::int32_t mark = sample.tokens[at++];
          if (mark != 576 && mark != 578) continue;
          Ids key, value;
          while (sample.tokens[at] >= 256 && sample.tokens[at] < 512) key.push_back(sample.tokens[at++]);
          if (mark == 578) {
            const auto [first, last] = needles.equal_range(key);
            for (auto needle = first; needle != last; ++needle) {
              expected.insert(expected.end(), needle->second.begin(), needle->second.end());
            }
            continue;
          }
          ASSERT_EQ(sample.tokens[at++], 577);
          while (sample.tokens[at] >= 512 && sample.tokens[at] < 576) value.push_back(sample.tokens[at++]);
          needles.emplace(key, value);
        }
        ASSERT_EQ(targets_of(sample), expected) << alias.name << " " << length << " " << i;
        ASSERT_EQ(task->solve(sample.tokens, positions_of(sample)), expected);
      }
    }
  }
}

TEST(NiahIds, FillsTheLengthExactlyOrToWithinANeedle) {
  for (const std::string haystack : {"noise", "essay", "needles"}) {
    const std::unique_ptr<Task> task = make("niah-ids:haystack=" + haystack);
    for (std::int64_t length = task->min_length(); length < 200; ++length) {
      const Sample sample = draw(*task, length, 0);
      const std::int64_t used = sample.prompt_tokens + 3;
      EXPECT_LE(used, length);
      EXPECT_GT(used, length - (haystack == "needles" ? 7 : 1));
      EXPECT_DOUBLE_EQ(sample.facts.at("fill"), static_cast<double>(used) / static_cast<double>(length));
    }
  }
}

TEST(NiahIds, NamesTheShortestLength) {
  // BOS, SEP, query 3, answer 3, needle 7: 15; noise adds one line of 5, an essay 50 tokens.
  EXPECT_EQ(make("niah-ids:haystack=needles")->min_length(), 15);
  EXPECT_EQ(make("niah-ids")->min_length(), 20);
  EXPECT_EQ(make("niah-ids:haystack=essay")->min_length(), 65);
  EXPECT_THROW(draw(*make("niah-ids:haystack=essay"), 64, 0), Error);
  // 65,536 keys at most in a haystack of needles.
  EXPECT_NO_THROW(draw(*make("niah-ids:haystack=needles"), 8 + 65536 * 7, 0));
  EXPECT_THROW(draw(*make("niah-ids:haystack=needles"), 8 + 65537 * 7, 0), Error);
}

TEST(NiahIds, FixedDepthPutsTheNeedleThere) {
  for (const std::string haystack : {"noise", "essay", "needles"}) {
    for (const int depth : {0, 25, 50, 100}) {
      const std::unique_ptr<Task> task =
          make("niah-ids:kind=multi-key,haystack=" + haystack + ",depth=" + std::to_string(depth));
      for (std::uint64_t i = 0; i < 50; ++i) {
        const Sample sample = draw(*task, 2048, i);
        const Body body = read_body(sample);
        const auto asked = std::find_if(body.needles.begin(), body.needles.end(),
                                        [&](const Needle& needle) { return needle.key == body.queries[0]; });
        ASSERT_NE(asked, body.needles.end());
        if (haystack == "needles") {
          EXPECT_EQ(asked - body.needles.begin(), depth * (static_cast<int>(body.needles.size()) - 1) / 100);
        } else {
          const auto hay = static_cast<std::int64_t>(body.hay.size());
          const std::int64_t lines = hay / 5;
          EXPECT_EQ(asked->hay, haystack == "essay" ? depth * hay / 100 : depth * lines / 100 * 5);
        }
        EXPECT_NEAR(sample.facts.at("depth"), depth, 2.0);
      }
    }
  }
}

// A lone needle in an essay takes each of 40 depths equally often, RULER's list.
TEST(NiahIds, DepthsAreTheFortyOfRulerAndUniform) {
  const std::unique_ptr<Task> task = make("niah-ids:haystack=essay");
  std::map<std::int64_t, std::int64_t> seen;
  const std::int64_t length = 1015;  // 1,000 haystack tokens: ten per cent of depth are 100 tokens
  for (std::uint64_t i = 0; i < 4000; ++i) ++seen[read_body(draw(*task, length, i)).needles[0].hay / 10];
  std::vector<std::int64_t> depths, counts;
  for (const auto& [depth, count] : seen) depths.push_back(depth), counts.push_back(count);
  // numpy.round(numpy.linspace(0, 100, 40)).
  EXPECT_EQ(depths, (std::vector<std::int64_t>{0,  3,  5,  8,  10, 13, 15, 18, 21, 23, 26, 28, 31, 33,
                                               36, 38, 41, 44, 46, 49, 51, 54, 56, 59, 62, 64, 67, 69,
                                               72, 74, 77, 79, 82, 85, 87, 90, 92, 95, 97, 100}));
  EXPECT_GT(p_value(counts), kLevel);
}

// In the original every sample has the same order of needles. Here the asked one is at each rank equally often.
TEST(NiahIds, OrderOfNeedlesIsDrawnForEachSample) {
  for (const std::string haystack : {"noise", "essay"}) {
    const std::unique_ptr<Task> task = make("niah-ids:kind=multi-query,haystack=" + haystack);
    std::map<std::vector<std::size_t>, std::int64_t> orders;
    for (std::uint64_t i = 0; i < 2400; ++i) {
      const Body body = read_body(draw(*task, 512, i));
      std::vector<std::size_t> order;
      for (const Needle& needle : body.needles) {
        order.push_back(static_cast<std::size_t>(std::find(body.queries.begin(), body.queries.end(), needle.key) -
                                                 body.queries.begin()));
      }
      ++orders[order];
    }
    ASSERT_EQ(orders.size(), 24U);
    std::vector<std::int64_t> counts;
    for (const auto& [order, count] : orders) counts.push_back(count);
    EXPECT_GT(p_value(counts), kLevel);
  }
}

TEST(NiahIds, NoiseIsACycleAndEssayIsMarkov) {
  const Body noise = read_body(draw(*make("niah-ids"), 500, 0));
  for (std::size_t i = 0; i < noise.hay.size(); ++i) EXPECT_EQ(noise.hay[i], static_cast<std::int32_t>(i % 25));
  // The first successor has probability 1/2 and no id has more than 16.
  std::map<std::int32_t, std::map<std::int32_t, int>> next;
  const Body essay = read_body(draw(*make("niah-ids:haystack=essay"), 200000, 0));
  for (std::size_t i = 0; i + 1 < essay.hay.size(); ++i) ++next[essay.hay[i]][essay.hay[i + 1]];
  double most = 0;
  for (const auto& [word, successors] : next) {
    EXPECT_LE(successors.size(), 16U);
    int largest = 0;
    for (const auto& [successor, count] : successors) largest = std::max(largest, count);
    most += largest;
  }
  EXPECT_GT(most / 200000, 0.48);
  EXPECT_LT(most / 200000, 0.56);
}

// As long as RULER's UUIDs: keys of 16 symbols and values of 22, distinct, and asked for in full.
TEST(NiahIds, KeysAndValuesCanBeAsLongAsUuids) {
  const std::unique_ptr<Task> task = make("niah-ids:haystack=needles,key-symbols=16,value-symbols=22");
  EXPECT_EQ(task->min_length(), 2 + 17 + 22 + 40);
  EXPECT_DOUBLE_EQ(task->chance(), std::pow(64.0, -22));
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Sample sample = draw(*task, 1024, i);
    std::map<Ids, Ids> value_of;
    std::set<Ids> values;
    std::size_t at = 1;
    for (; sample.tokens[at] == 576; at += 40) {
      const auto begin = sample.tokens.begin() + static_cast<std::ptrdiff_t>(at);
      ASSERT_EQ(begin[17], 577);
      value_of[Ids(begin + 1, begin + 17)] = Ids(begin + 18, begin + 40);
      values.insert(Ids(begin + 18, begin + 40));
    }
    EXPECT_EQ(value_of.size(), (1024U - 41) / 40) << "keys never repeat";
    EXPECT_EQ(values.size(), value_of.size());
    ASSERT_EQ(sample.tokens[at], 578);
    const auto query = sample.tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    ASSERT_TRUE(value_of.contains(Ids(query, query + 16)));
    EXPECT_EQ(targets_of(sample), value_of[Ids(query, query + 16)]);
    EXPECT_EQ(task->solve(sample.tokens, positions_of(sample)), targets_of(sample));
  }
}

}  // namespace
}  // namespace lenbench
