// The tasks of the paper besides MQMTAR: layout, laws at 10,000 samples, and what bug reports say goes wrong.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "cases.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

constexpr std::uint64_t kDraws = 10000;

// Bug A1: a length of 64 is not a need of 64. BOS + 64 + SEP + 64 + EOS are 131 tokens, of which 130 are fed.
TEST(StringTasks, LengthSixtyFourFeedsOneHundredAndThirtyTokens) {
  for (const char* name : {"copy", "reverse", "sort"}) {
    const std::unique_ptr<Task> task = make(name);
    const Sample sample = draw(*task, 64, 0);
    EXPECT_EQ(task->total_tokens(64), 130) << name;
    EXPECT_EQ(sample.tokens.size(), 130U) << name;
    EXPECT_EQ(sample.prompt_tokens, 66) << name;
    EXPECT_EQ(sample.scored.size(), 65U) << name;
    EXPECT_EQ(sample.scored.back().target, 34) << name;
    EXPECT_EQ(sample.scored.back().answer, -1) << name;
    EXPECT_EQ(task->info().vocab_size, 37) << name;
    EXPECT_EQ(sample.tokens[65], 36) << name;
    EXPECT_EQ(sample.facts.at("pads"), 0) << name;
  }
}

// From the row that answers to the token it needs: L for copy, 1, 3, 5 ... for reverse.
TEST(StringTasks, FactsTellTheDistances) {
  const Sample copied = draw(*make("copy"), 20, 1);
  EXPECT_EQ(copied.facts.at("distance_min"), 20);
  EXPECT_EQ(copied.facts.at("distance_max"), 20);
  const Sample reversed = draw(*make("reverse"), 20, 1);
  EXPECT_EQ(reversed.facts.at("distance_min"), 1);
  EXPECT_EQ(reversed.facts.at("distance_max"), 39);
  EXPECT_EQ(reversed.facts.at("distance"), 20);
}

TEST(StringTasks, SymbolsAreUniformAndIndependent) {
  for (const char* name : {"copy", "reverse", "sort"}) {
    const std::unique_ptr<Task> task = make(name);
    std::vector<std::int64_t> symbols(32), neighbours(32 * 32);
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const Sample sample = draw(*task, 8, i);
      for (std::size_t t = 1; t <= 8; ++t) {
        const auto here = static_cast<std::size_t>(sample.tokens[t]);
        ++symbols[here];
        if (t % 2 == 1) ++neighbours[here * 32 + static_cast<std::size_t>(sample.tokens[t + 1])];
      }
    }
    EXPECT_GT(p_value(symbols), kLevel) << name;
    EXPECT_GT(p_value(neighbours), kLevel) << name;
  }
}

// What `published` says of sort: to repeat the answer before is right in all but about 32 places.
TEST(Sort, RepeatingTheAnswerBeforeIsMostlyRight) {
  const Sample sample = draw(*make("sort"), 4096, 0);
  std::int64_t repeats = 0;
  for (std::size_t i = 1; i < 4096; ++i) repeats += sample.scored[i].target == sample.scored[i - 1].target ? 1 : 0;
  EXPECT_EQ(repeats, 4096 - 32);
}

TEST(NBack, ALeadingZeroAndUniformSymbols) {
  const std::unique_ptr<Task> task = make("nback");
  std::vector<std::int64_t> symbols(15);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Sample sample = draw(*task, 8, i);
    ASSERT_EQ(sample.tokens.size(), 10U);
    ASSERT_EQ(sample.tokens[1], 0);
    for (std::size_t t = 2; t < 10; ++t) ++symbols.at(static_cast<std::size_t>(sample.tokens[t]) - 1);
  }
  EXPECT_GT(p_value(symbols), kLevel);
  const Sample sample = draw(*task, 8, 0);
  for (std::size_t row = 0; row < 9; ++row)
    EXPECT_EQ(sample.scored[row].answer, row < 3 ? -1 : static_cast<int>(row) - 3);
  EXPECT_EQ(sample.facts.at("distance"), 2);
  EXPECT_EQ(task->info().vocab_size, 21);
}

struct Block {
  std::int32_t symbol;
  std::int64_t length;
};

std::vector<Block> runs_of(const Sample& sample) {
  std::vector<Block> runs;
  for (std::size_t t = 1; t < sample.tokens.size(); ++t) {
    if (runs.empty() || runs.back().symbol != sample.tokens[t]) runs.push_back({sample.tokens[t], 0});
    ++runs.back().length;
  }
  return runs;
}

// Runs: floor(L / 25), of 2 to 48 tokens alike, the symbol of each another than the one before.
TEST(LocalCount, RunsAreUniform) {
  const std::unique_ptr<Task> task = make("local-count");
  std::vector<std::int64_t> lengths(47), first(16), steps(15);
  double tokens = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<Block> runs = runs_of(draw(*task, 64, i));
    ASSERT_EQ(runs.size(), 2U);
    ++first.at(static_cast<std::size_t>(runs[0].symbol));
    ++steps.at(static_cast<std::size_t>((runs[1].symbol - runs[0].symbol + 16) % 16) - 1);
    for (const Block& run : runs) {
      ++lengths.at(static_cast<std::size_t>(run.length) - 2);
      tokens += static_cast<double>(run.length);
    }
  }
  EXPECT_GT(p_value(lengths), kLevel);
  EXPECT_GT(p_value(first), kLevel);
  EXPECT_GT(p_value(steps), kLevel);
  EXPECT_NEAR(tokens / kDraws, 50, 4 * 0.192);  // a run's standard deviation is 13.6, two runs, 10,000 samples
}

// "4096" is 163 runs of 25 tokens on average: 4,075 with a standard deviation of 173.
TEST(LocalCount, LengthIsOnlyNearlyTheNominalOne) {
  const std::unique_ptr<Task> task = make("local-count");
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Sample sample = draw(*task, 4096, i);
    const auto tokens = static_cast<double>(sample.tokens.size() - 1);
    EXPECT_EQ(sample.facts.at("pairs"), 163);
    EXPECT_NEAR(sample.facts.at("density"), 163 / tokens, 1e-12);
    sum += tokens;
    squares += tokens * tokens;
  }
  const double mean = sum / 1000;
  EXPECT_NEAR(mean, 4075, 4 * 173.2 / 31.6);
  EXPECT_NEAR(std::sqrt(squares / 1000 - mean * mean), 173.2, 4 * 173.2 / 44.7);
  EXPECT_EQ(task->total_tokens(4096), 1 + 163 * 48);
}

// Distance from the read to the last write, in pairs: geometric with the write probability, cut off at the first pair.
// Bug L4: the two published probabilities are different tasks, so each has its own law here.
TEST(FlipFlop, DistanceToTheLastWriteIsGeometric) {
  for (const int percent : {10, 80}) {
    const std::unique_ptr<Task> task = make("flip-flop:write=" + std::to_string(percent));
    const double write = percent / 100.0;
    const std::size_t cells = percent == 10 ? 31 : 5;  // the last cell holds all that is farther
    std::vector<std::int64_t> counts(cells);
    std::vector<double> shares(cells);
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const Sample sample = draw(*task, 64, i);
      ASSERT_EQ(sample.tokens.size(), 65U);  // BOS, 63 of the pairs, the answer
      const auto pairs = static_cast<std::size_t>((sample.prompt_tokens - 1 - sample.sources[0] + 1) / 2);
      ++counts.at(std::min(pairs, cells) - 1);
      EXPECT_EQ(sample.facts.at("distance"), static_cast<double>(2 * pairs - 1));
    }
    double left = 1;
    for (std::size_t d = 0; d + 1 < cells; ++d) {
      shares[d] = left * write;
      left -= shares[d];
    }
    shares.back() = left;
    EXPECT_GT(p_value(counts, shares), kLevel) << percent;
  }
}

TEST(FlipFlop, BitsAreFairAndTheAnswerIsNotTheLastBit) {
  const std::unique_ptr<Task> task = make("flip-flop");
  std::int64_t ones = 0, last_bit_right = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Sample sample = draw(*task, 64, i);
    ones += sample.scored[0].target;
    last_bit_right += sample.tokens[62] == sample.scored[0].target ? 1 : 0;
  }
  EXPECT_GT(binomial_p(ones, kDraws, 0.5), kLevel);
  EXPECT_GT(binomial_p(last_bit_right, kDraws, 0.1 + 0.9 / 2), kLevel);
}

TEST(FlipFlop, WriteProbabilityZeroAndOneAreTheEnds) {
  EXPECT_EQ(draw(*make("flip-flop:write=0"), 64, 0).sources[0], 2);
  EXPECT_EQ(draw(*make("flip-flop:write=100"), 64, 0).sources[0], 62);
}

// Bug L4: the sense of parity. No ones are an even number of ones.
TEST(Parity, IsOneForAnEvenNumberOfOnes) {
  const std::unique_ptr<Task> task = make("parity");
  std::int64_t ones = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) ones += draw(*task, 33, i).scored[0].target;
  EXPECT_GT(binomial_p(ones, kDraws, 0.5), kLevel);
  EXPECT_EQ(task->solve(std::vector<std::int32_t>{3, 0, 0, 0, 6}, std::vector<std::int64_t>{4}).at(0), 1);
  EXPECT_EQ(task->solve(std::vector<std::int32_t>{3, 0, 1, 0, 6}, std::vector<std::int64_t>{4}).at(0), 0);
}

// Bug L10: an option that does nothing is an error, not silence.
TEST(PaperTasks, UnknownAndImpossibleParametersAreRefused) {
  for (const char* spec : {"copy:vocab=9", "parity:n=2", "flip-flop:write=101", "flip-flop:write=0.1", "nback:n=0",
                           "local-count:max-reps=1", "local-count:symbols=1", "sort:symbols=0"}) {
    EXPECT_THROW(make(spec), Error) << spec;
  }
}

}  // namespace
}  // namespace lenbench
