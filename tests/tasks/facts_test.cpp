// What every sample says about its length: pads, pairs, density, distances; and how far away an answer can be held.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "cases.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

// Tasks in which several things could be asked for, and tasks whose answers stand in the prompt. In all others an
// answer is computed from the whole.
const std::set<std::string>& with_pairs() {
  static const std::set<std::string> names = {"recall",        "recall-dense",     "mqmtar",     "local-count",
                                              "flip-flop",     "niah-ids",         "niah-bytes", "mqar",
                                              "max-retrieval", "variable-tracking"};
  return names;
}
const std::set<std::string>& with_distance() {
  static const std::set<std::string> names = {"recall",
                                              "recall-dense",
                                              "mqmtar",
                                              "copy",
                                              "reverse",
                                              "sort",
                                              "nback",
                                              "flip-flop",
                                              "niah-ids",
                                              "niah-bytes",
                                              "mqar",
                                              "max-retrieval",
                                              "odds-first",
                                              "missing-duplicate",
                                              "bucket-sort",
                                              "duplicate-string",
                                              "variable-tracking",
                                              "common-words",
                                              "frequent-words"};
  return names;
}

class Facts : public testing::TestWithParam<TaskCase> {
 protected:
  std::unique_ptr<Task> task_ = make(GetParam().spec);
};

// The length contract. Prompt and answer tokens are counted by whoever measures; the task says the rest.
TEST_P(Facts, SayWhatTheLengthMeans) {
  const std::string& name = task_->info().name;
  for (const std::int64_t length : {task_->min_length(), std::max<std::int64_t>(700, task_->min_length())}) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Sample sample = draw(*task_, length, i);
      const auto prompt = static_cast<double>(sample.prompt_tokens);
      const std::map<std::string, double>& facts = sample.facts;
      for (const auto& [fact, value] : facts) EXPECT_TRUE(std::isfinite(value)) << fact;
      ASSERT_TRUE(facts.contains("pads")) << "every task";
      EXPECT_GE(facts.at("pads"), 0);
      EXPECT_LT(facts.at("pads"), static_cast<double>(sample.tokens.size()));
      ASSERT_EQ(facts.contains("pairs"), with_pairs().contains(name));
      ASSERT_EQ(facts.contains("density"), with_pairs().contains(name)) << "with pairs";
      if (facts.contains("pairs")) {
        EXPECT_GE(facts.at("pairs"), 1);
        EXPECT_GT(facts.at("density"), 0);
        EXPECT_LE(facts.at("density"), 1);
        EXPECT_LE(facts.at("pairs"), facts.at("density") * static_cast<double>(sample.tokens.size()) + 1);
      }
      for (const char* distance : {"distance", "distance_min", "distance_max"}) {
        ASSERT_EQ(facts.contains(distance), with_distance().contains(name)) << distance;
      }
      if (!sample.sources.empty()) {
        ASSERT_TRUE(facts.contains("distance")) << "an answer that stands somewhere is some way off";
      }
      if (facts.contains("distance")) {
        EXPECT_LE(facts.at("distance_min"), facts.at("distance") + 1e-9);
        EXPECT_LE(facts.at("distance"), facts.at("distance_max") + 1e-9);
        EXPECT_GE(facts.at("distance_max"), -static_cast<double>(length)) << "a blank may stand before its symbol";
        EXPECT_LE(facts.at("distance_max"), std::max(prompt, static_cast<double>(sample.tokens.size())));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Facts, testing::ValuesIn(task_cases()), CaseName());

// Distances by hand, from the tokens alone, where the rule is one of places.
TEST(Distances, AreCountedInTokens) {
  // Symbols at 1..6, SEP, blanks from 8 on, for symbols 2, 4, 6, 1, 3, 5.
  const Sample odds = draw(*make("odds-first"), 6, 0);
  EXPECT_EQ(odds.facts.at("distance_min"), std::min({8 - 2, 9 - 4, 10 - 6, 11 - 1, 12 - 3, 13 - 5}));
  EXPECT_EQ(odds.facts.at("distance_max"), 11 - 1);
  const Sample twice = draw(*make("duplicate-string"), 5, 0);
  EXPECT_EQ(twice.facts.at("distance_min"), 6);   // symbol i of 5, SEP, blank i
  EXPECT_EQ(twice.facts.at("distance_max"), 11);  // the second time
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Sample missing = draw(*make("missing-duplicate"), 12, i);
    std::int64_t hole = 0;
    while (missing.tokens[static_cast<std::size_t>(hole) + 1] != 2) ++hole;
    const std::int64_t twin = hole < 6 ? hole + 6 : hole - 6;
    EXPECT_EQ(missing.facts.at("distance"), 13 - twin);
    const Sample largest = draw(*make("max-retrieval"), 9, i);
    std::size_t best = 0;
    for (std::size_t item = 0; item < 18; item += 2) best = largest.tokens[item] > largest.tokens[best] ? item : best;
    EXPECT_EQ(largest.facts.at("distance"), 18.0 - static_cast<double>(best + 1));
  }
}

// min-distance= and max-distance= hold the needle where they say while the length grows; what one step of the haystack,
// other needles and the question add is bounded.
TEST(Distances, OfNeedlesCanBeHeld) {
  struct Line {
    std::string spec;
    std::int64_t least, below, slack;
  };
  const std::vector<Line> lines = {
      {"niah-ids:", 20, 40, 7 + 1},
      {"niah-ids:haystack=essay,", 1000, 1100, 7 + 1},
      {"niah-ids:haystack=essay,kind=multi-key,", 64, 128, 4 * 7 + 1},
      {"niah-ids:haystack=needles,", 70, 140, 7 + 1},
      {"niah-bytes:", 100, 500, 120},
      {"niah-bytes:kind=multikey-2,", 100, 500, 120},
      {"niah-bytes:kind=single-2,", 100, 500, 120 + 401},  // back to the end of a sentence, 400 bytes at most
      {"variable-tracking:", 200, 300, 5 * 6 + 4},
      {"variable-tracking:tokens=bytes,", 500, 1500, 5 * 22 + 60},
  };
  for (const Line& line : lines) {
    const std::unique_ptr<Task> task =
        make(line.spec + "min-distance=" + std::to_string(line.least) + ",max-distance=" + std::to_string(line.below));
    const std::unique_ptr<Task> anywhere = make(line.spec.substr(0, line.spec.size() - 1));
    double farthest = 0;
    for (const std::int64_t length : {task->min_length(), std::int64_t{3000}, std::int64_t{20000}}) {
      std::set<double> seen;
      for (std::uint64_t i = 0; i < 200; ++i) {
        const Sample sample = draw(*task, length, i);
        EXPECT_GE(sample.facts.at("distance_min"), static_cast<double>(line.least)) << line.spec << length;
        EXPECT_LT(sample.facts.at("distance_max"), static_cast<double>(line.below + line.slack)) << line.spec << length;
        seen.insert(sample.facts.at("distance"));
        if (length == 20000) farthest = std::max(farthest, draw(*anywhere, length, i).facts.at("distance_max"));
      }
      if (length > task->min_length()) {
        EXPECT_GE(seen.size(), 4U) << line.spec << " is not one place";
      }
    }
    EXPECT_GT(farthest, 10000) << "without them distance grows with length";
  }
}

TEST(Distances, ThatCannotBeHeldAreRefused) {
  for (const std::string spec :
       {"niah-ids:min-distance=10,max-distance=12", "niah-ids:min-distance=9,max-distance=9",
        "niah-ids:kind=multi-query,min-distance=10", "niah-ids:depth=50,min-distance=10",
        "niah-ids:haystack=needles,max-distance=6", "niah-bytes:max-distance=84", "niah-bytes:depth=5,max-distance=500",
        "niah-bytes:kind=multivalue,max-distance=500", "variable-tracking:max-distance=24", "niah-ids:min-distance=-1",
        "variable-tracking:max-distance=far"}) {
    try {
      make(spec);
      FAIL() << spec;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_NO_THROW(make("niah-ids:min-distance=10,max-distance=15"));
  EXPECT_NO_THROW(make("variable-tracking:max-distance=25"));
}

}  // namespace
}  // namespace lenbench
