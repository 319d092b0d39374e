// MQAR: the structure of zoology's generator, its slot law, and the defects of the original.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "cases.h"
#include "p_value.h"
#include "tasks/power_law.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

// Slot of each pair, in order of the pairs, read from the tokens.
std::vector<std::int64_t> slots_of(const Sample& sample, std::int64_t pairs) {
  std::vector<std::int64_t> slots;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    for (std::int64_t slot = 0; 1 + 2 * pairs + 2 * slot < static_cast<std::int64_t>(sample.tokens.size()); ++slot) {
      if (sample.tokens[static_cast<std::size_t>(1 + 2 * pairs + 2 * slot)] ==
          sample.tokens[static_cast<std::size_t>(1 + 2 * pair)]) {
        slots.push_back(slot);
      }
    }
  }
  return slots;
}

std::vector<double> law(std::int64_t slots, double a) {
  std::vector<double> shares;
  for (std::int64_t g = 0; g < slots; ++g) shares.push_back(std::pow(static_cast<double>(g) + 1, a - 1));
  return shares;
}

TEST(PowerWeights, AreThePowers) {
  for (const std::int64_t percent : {-100, -99, -50, -1, 0, 1, 50, 100}) {
    const std::int64_t count = 100000;
    const std::vector<std::uint64_t> weights = power_weights(count, percent);
    const double top = percent > 0 ? std::pow(static_cast<double>(count), static_cast<double>(percent) / 100) : 1.0;
    for (const std::int64_t rank : {0, 1, 2, 3, 10, 99, 4095, 65535, 99999}) {
      const double exact = std::pow(static_cast<double>(rank) + 1, static_cast<double>(percent) / 100) / top;
      EXPECT_NEAR(static_cast<double>(weights[static_cast<std::size_t>(rank)]) / std::pow(2.0, 36), exact,
                  1e-9 * exact + std::pow(2.0, -37))
          << percent << " " << rank;
    }
  }
  EXPECT_EQ(power_weights(1, -99), std::vector<std::uint64_t>{std::uint64_t{1} << 36});
}

// Successive draws without replacement: first and second draw of three ranks against the product rule.
TEST(WeightedDraws, FollowTheWeightsOfThoseLeft) {
  const std::vector<std::uint64_t> weights = {1, 0, 2, 5};
  std::vector<std::int64_t> counts(16);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    Rng rng(5, i);
    WeightedDraws draws(weights);
    const auto first = static_cast<std::size_t>(draws.next(rng));
    const auto second = static_cast<std::size_t>(draws.next(rng));
    ++counts[4 * first + second];
    EXPECT_EQ(static_cast<std::size_t>(draws.next(rng)) + first + second, 5U) << "each rank once: 0 + 2 + 3";
  }
  std::vector<std::int64_t> seen;
  std::vector<double> shares;
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      if (a == b || a == 1 || b == 1) {
        EXPECT_EQ(counts[4 * a + b], 0);
        continue;
      }
      seen.push_back(counts[4 * a + b]);
      const auto wa = static_cast<double>(weights[a]), wb = static_cast<double>(weights[b]);
      shares.push_back(wa / 8 * wb / (8 - wa));
    }
  }
  EXPECT_GT(p_value(seen, shares), kLevel);
}

TEST(Mqar, HasTheStructureOfTheOriginal) {
  struct Size {
    std::int64_t length, pairs;
  };
  for (const Size& size : {Size{64, 4}, {128, 8}, {256, 16}, {512, 64}, {1024, 256}, {65536, 4095}}) {
    const std::unique_ptr<Task> task = make("mqar:pairs=" + std::to_string(size.pairs));
    for (std::uint64_t i = 0; i < (size.length > 2000 ? 3U : 200U); ++i) {
      const Sample sample = draw(*task, size.length, i);
      ASSERT_EQ(static_cast<std::int64_t>(sample.tokens.size()), 1 + size.length);
      std::set<std::int32_t> keys, values;
      for (std::int64_t p = 0; p < size.pairs; ++p) {
        keys.insert(sample.tokens[static_cast<std::size_t>(1 + 2 * p)]);
        values.insert(sample.tokens[static_cast<std::size_t>(2 + 2 * p)]);
      }
      EXPECT_EQ(static_cast<std::int64_t>(keys.size()), size.pairs);
      EXPECT_EQ(static_cast<std::int64_t>(values.size()), size.pairs);
      EXPECT_GE(*keys.begin(), 1);
      EXPECT_LT(*keys.rbegin(), 4096);
      EXPECT_GE(*values.begin(), 4096);
      EXPECT_LT(*values.rbegin(), 8192);
      ASSERT_EQ(static_cast<std::int64_t>(sample.scored.size()), size.pairs);
      std::size_t zeros = 0;
      for (std::size_t t = static_cast<std::size_t>(1 + 2 * size.pairs); t < sample.tokens.size(); ++t) {
        zeros += sample.tokens[t] == 0 ? 1U : 0U;
      }
      EXPECT_EQ(static_cast<std::int64_t>(zeros), size.length - 3 * size.pairs);
      for (const ScoredToken& row : sample.scored) {
        EXPECT_EQ((row.position - 1) % 2, 0);
        EXPECT_GE(row.position, 1 + 2 * size.pairs);
        EXPECT_FALSE(row.fed_back);
      }
    }
  }
  EXPECT_EQ(draw(*make("mqar"), 64, 0).scored.size(), 4U);
  EXPECT_EQ(draw(*make("mqar"), 1024, 0).scored.size(), 64U);
}

// At 10,000 samples: the slot of the first pair follows the law itself, the slot of the second the law of what is left.
TEST(Mqar, SlotHistogramFollowsTheLaw) {
  struct Case {
    std::string spec;
    double a;
  };
  for (const Case& c :
       {Case{"mqar", 0.01}, {"mqar:a-percent=50", 0.5}, {"mqar:a-percent=200", 2}, {"mqar:gap=uniform", 1}}) {
    const std::unique_ptr<Task> task = make(c.spec);
    const std::vector<double> shares = law(28, c.a);
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<double> second(shares.size());
    for (std::size_t g = 0; g < shares.size(); ++g) {
      for (std::size_t other = 0; other < shares.size(); ++other) {
        if (other != g) second[g] += shares[other] / total * shares[g] / (total - shares[other]);
      }
    }
    std::vector<std::int64_t> first_counts(28), second_counts(28);
    for (std::uint64_t i = 0; i < 10000; ++i) {
      const std::vector<std::int64_t> slots = slots_of(draw(*task, 64, i), 4);
      ASSERT_EQ(slots.size(), 4U);
      ++first_counts[static_cast<std::size_t>(slots[0])];
      ++second_counts[static_cast<std::size_t>(slots[1])];
    }
    EXPECT_GT(p_value(first_counts, shares), kLevel) << c.spec;
    EXPECT_GT(p_value(second_counts, second), kLevel) << c.spec;
    if (c.a < 1) {
      EXPECT_LT(p_value(first_counts), kLevel) << "a uniform law would be told apart";
    }
  }
}

// Medians of one draw worked out for the original: the distance to a query hardly grows with the length.
TEST(Mqar, MedianSlotsAreThoseOfTheOriginal) {
  for (const auto& [length, pairs, median] : {std::tuple{64, 4, 3}, {256, 16, 7}, {1024, 256, 12}}) {
    const std::unique_ptr<Task> task = make("mqar:pairs=" + std::to_string(pairs));
    std::vector<std::int64_t> first;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const Sample sample = draw(*task, length, i);
      std::int64_t slot = 0;
      while (sample.tokens[static_cast<std::size_t>(1 + 2 * pairs + 2 * slot)] != sample.tokens[1]) ++slot;
      first.push_back(slot);
    }
    std::nth_element(first.begin(), first.begin() + 1500, first.end());
    EXPECT_NEAR(static_cast<double>(first[1500]), median, 1) << length;
  }
}

// zoology draws its random fill from all ids, outside the seed: a key or a value can stand again without a label.
TEST(Mqar, RandomFillMakesNoUnlabelledRepeat) {
  const std::unique_ptr<Task> task = make("mqar:fill=random,pairs=8,vocab=64");
  std::vector<std::int64_t> fill(64);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Sample sample = draw(*task, 64, i);
    std::map<std::int32_t, int> times;
    for (const std::int32_t token : sample.tokens) ++times[token];
    std::set<std::int32_t> used;
    for (std::size_t p = 0; p < 8; ++p) {
      EXPECT_EQ(times[sample.tokens[1 + 2 * p]], 2) << "in its pair and at its query";
      EXPECT_EQ(times[sample.tokens[2 + 2 * p]], 1) << "in its pair";
      used.insert({sample.tokens[1 + 2 * p], sample.tokens[2 + 2 * p]});
    }
    for (const auto& [token, count] : times) {
      if (token < 64 && !used.contains(token)) fill[static_cast<std::size_t>(token)] += count;
    }
  }
  EXPECT_GT(*std::min_element(fill.begin(), fill.end()), 0) << "every id occurs as fill";
}

TEST(Mqar, RefusesWhatDoesNotFit) {
  using testing::HasSubstr;
  const auto refusal = [](const std::string& spec, std::int64_t length) -> std::string {
    try {
      draw(*make(spec), length, 0);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("mqar:pairs=4096", 65536), HasSubstr("4095 keys"));
  EXPECT_THAT(refusal("mqar:pairs=16", 63), HasSubstr("shortest is 64"));
  EXPECT_THAT(refusal("mqar:a-percent=50,gap=uniform", 64), HasSubstr("gap=uniform"));
  EXPECT_THAT(refusal("mqar:power-a=1", 64), HasSubstr("no parameter 'power-a'")) << "L10: unknown arguments";
  EXPECT_THAT(refusal("mqar", (1 << 22) + 1), HasSubstr("longest is 4194304"));
  EXPECT_EQ(draw(*make("mqar"), 65, 0).tokens.size(), 65U) << "an odd length feeds one token less";
}

}  // namespace
}  // namespace lenbench
