// Error rates by simulation: thousands of synthetic checks with fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/verdict/cells.h"
#include "verdict/judge.h"
#include "verdict/watch.h"

namespace lenbench {
namespace {

constexpr std::int64_t kSamples = 1000;
constexpr std::int64_t kLengths = 40;

// The largest share that a binomial of `runs` shows with three standard errors when the true rate is `rate`.
double bound(double rate, int runs) { return rate + 3 * std::sqrt(rate * (1 - rate) / runs); }

// Outcomes of `n` samples with these counts; which samples flip does not matter to any test.
OutcomePair counted_pair(std::int64_t lost, std::int64_t gained, std::int64_t both, std::int64_t n) {
  const auto text = [](std::int64_t count, char c) { return std::string(static_cast<std::size_t>(count), c); };
  const std::int64_t rest = n - lost - gained - both;
  return {text(lost, '1') + text(gained, '0') + text(both, '1') + text(rest, '0'),
          text(lost, '0') + text(gained, '1') + text(both, '1') + text(rest, '0')};
}

struct Rates {
  double lost = 0, gained = 0, both = 0;
};

OutcomePair drawn_pair(std::mt19937_64& random, const Rates& rates, std::int64_t n = kSamples) {
  const std::int64_t lost = std::binomial_distribution<std::int64_t>(n, rates.lost)(random);
  const std::int64_t gained =
      std::binomial_distribution<std::int64_t>(n - lost, rates.gained / (1 - rates.lost))(random);
  const std::int64_t both =
      std::binomial_distribution<std::int64_t>(n - lost - gained, rates.both / (1 - rates.lost - rates.gained))(random);
  return counted_pair(lost, gained, both, n);
}

struct Check {
  std::vector<GateCell> baseline, now;
};

Check drawn_check(std::mt19937_64& random, const std::function<Rates(std::int64_t)>& rates, std::uint64_t seed = 0) {
  Check check;
  for (std::int64_t i = 0; i < kLengths; ++i) {
    const OutcomePair pair = drawn_pair(random, rates(i));
    check.baseline.push_back(cell_of(pair.first, 64 + i));
    check.now.push_back(cell_of(pair.second, 64 + i));
    check.now.back().question.data_seed = seed;
  }
  return check;
}

CheckResult judged(const Check& check) {
  return judge(check.baseline, check.now, {}, {.today = "2026-01-01", .watched = {}, .left_out = {}});
}

TEST(Simulation, FalseAlarmsOverFortyCellsStayBelowTheLevel) {
  const Policy policy;
  struct Case {
    const char* name;
    std::function<Rates(std::int64_t)> rates;
  };
  // Without any loss, and at the edge: every cell loses exactly the smallest effect.
  const Case cases[] = {
      {"no loss, few flips",
       [](std::int64_t) {
         return Rates{0.002, 0.002, 0.99};
       }},
      {"no loss, many flips",
       [](std::int64_t i) {
         return Rates{0.1, 0.1, 0.01 * static_cast<double>(i)};
       }},
      {"smallest effect in every cell", [&](std::int64_t i) {
         const double flips = 0.002 + 0.004 * static_cast<double>(i);
         return Rates{(flips + policy.smallest_effect) / 2, (flips - policy.smallest_effect) / 2, 0.5};
       }}};
  for (const Case& one : cases) {
    std::mt19937_64 random(2024);
    constexpr int kRuns = 300;
    int red = 0;
    for (int run = 0; run < kRuns; ++run)
      red += judged(drawn_check(random, one.rates)).exit_code() == ExitCode::kWorse ? 1 : 0;
    EXPECT_LE(1.0 * red / kRuns, bound(policy.alpha, kRuns)) << one.name;
    RecordProperty(one.name, red);
  }
}

TEST(Simulation, FreshSamplesOfAnUnchangedModelStayBelowTheLevel) {
  const Policy policy;
  std::mt19937_64 random(5);
  constexpr int kRuns = 100;
  int red = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Check check = drawn_check(
        random,
        [](std::int64_t i) {
          const double right = 0.025 * static_cast<double>(i) + 0.02;
          return Rates{right * (1 - right), right * (1 - right), right * right};
        },
        9);
    red += judged(check).exit_code() == ExitCode::kWorse ? 1 : 0;
  }
  EXPECT_LE(1.0 * red / kRuns, bound(policy.alpha, kRuns));
}

TEST(Simulation, NinetyNineToNinetyFiveIsFound) {
  // One cell of forty drops; the others flip without a loss. Independent answers are the hardest case, nested ones (the
  // damaged model only loses) the easiest.
  for (const Rates& dropped : {Rates{0.99 * 0.05, 0.01 * 0.95, 0.99 * 0.95}, Rates{0.04, 0, 0.95}}) {
    std::mt19937_64 random(99);
    constexpr int kRuns = 400;
    int found = 0;
    for (int run = 0; run < kRuns; ++run) {
      const Check check = drawn_check(random, [&](std::int64_t i) {
        return i == 17 ? dropped : Rates{0.001, 0.001, 0.99};
      });
      const CheckResult result = judged(check);
      found += result.cells.front().verdict == Verdict::kWorse && result.cells.front().name == "recall@81" ? 1 : 0;
    }
    EXPECT_GE(found, kRuns * 95 / 100);
    RecordProperty("found_of_400", found);
  }
}

TEST(Simulation, TwoPointsAreFoundInAShortCheck) {
  std::mt19937_64 random(3);
  constexpr int kRuns = 2000;
  int found = 0;
  for (int run = 0; run < kRuns; ++run) {
    Check check;
    for (std::int64_t i = 0; i < 4; ++i) {
      const OutcomePair pair = drawn_pair(random, i == 0 ? Rates{0.021, 0.001, 0.97} : Rates{0.001, 0.001, 0.99});
      check.baseline.push_back(cell_of(pair.first, 64 + i));
      check.now.push_back(cell_of(pair.second, 64 + i));
    }
    found += judged(check).exit_code() == ExitCode::kWorse ? 1 : 0;
  }
  EXPECT_GE(found, kRuns * 95 / 100);
}

// Theme J8: a bar in the middle of the spread failed 12 of 61 identical runs.
TEST(ThemeJ, J8UnchangedAndDroppedAtEightySixPercent) {
  const Policy policy;
  std::mt19937_64 random(8);
  constexpr int kRuns = 2000;
  int alarms = 0, found = 0;
  for (int run = 0; run < kRuns; ++run) {
    const OutcomePair same = drawn_pair(random, {0.05, 0.05, 0.81}, 200);
    const OutcomePair dropped = drawn_pair(random, {0.14, 0.04, 0.72}, 500);
    const auto red = [](const OutcomePair& pair) {
      return judged({{cell_of(pair.first)}, {cell_of(pair.second)}}).exit_code() == ExitCode::kWorse;
    };
    alarms += red(same) ? 1 : 0;
    found += red(dropped) ? 1 : 0;
  }
  EXPECT_LE(1.0 * alarms / kRuns, bound(policy.alpha, kRuns));
  EXPECT_GE(found, kRuns * 8 / 10);
}

TEST(Simulation, SameIsRarelySaidOfALossOfItsSize) {
  const Policy policy;
  std::mt19937_64 random(4);
  constexpr int kRuns = 2000;
  for (const double gained : {0.0, 0.02}) {
    int same = 0;
    for (int run = 0; run < kRuns; ++run) {
      const OutcomePair pair = drawn_pair(random, {policy.same_within + gained, gained, 0.9});
      same += judged({{cell_of(pair.first)}, {cell_of(pair.second)}}).cells.front().verdict == Verdict::kSame ? 1 : 0;
    }
    EXPECT_LE(1.0 * same / kRuns, bound(policy.alpha, kRuns)) << gained;
  }
}

// A watched cell from the first sample to its verdict.
struct Watched {
  std::int64_t samples = 0;
  Verdict verdict = Verdict::kUndecided;
};

Watched watch(std::mt19937_64& random, const Rates& rates, std::int64_t family) {
  const OutcomePair pair = draw_pair(random, kSamples, rates.lost, rates.gained, rates.both);
  const Policy policy;
  const GateCell baseline = cell_of(pair.first);
  CellWatch cell(baseline, policy, family, true);
  for (std::size_t i = 0; i < pair.second.size() && !cell.decided(); i += 8) {
    cell.add(std::string_view(pair.second).substr(i, 8));
  }
  const GateCell now = cell_of(pair.second.substr(0, static_cast<std::size_t>(cell.seen())));
  const CellPair matched{"recall@64", Pairing::kPaired, &baseline, &now, ""};
  const WatchedCell seen = cell.result(weigh(matched, policy, test_levels(policy, family)), cell.seen() == kSamples);
  Watched result;
  result.samples = cell.seen();
  // Bonferroni's level, as for the worst-placed of `family` cells.
  const double level = policy.alpha / static_cast<double>(family);
  result.verdict = seen.p_worse <= level             ? Verdict::kWorse
                   : seen.p_better <= level          ? Verdict::kBetter
                   : seen.p_not_same <= policy.alpha ? Verdict::kSame
                                                     : Verdict::kUndecided;
  return result;
}

TEST(Sequential, KeepsItsErrorRate) {
  // At the edge of the null in a family of one, where the level is largest.
  const Policy policy;
  std::mt19937_64 random(21);
  constexpr int kRuns = 2000;
  for (const double flips : {0.002, 0.02, 0.3}) {
    int worse = 0;
    const Rates edge{(flips + policy.smallest_effect) / 2, (flips - policy.smallest_effect) / 2, 0.5};
    for (int run = 0; run < kRuns; ++run) worse += watch(random, edge, 1).verdict == Verdict::kWorse ? 1 : 0;
    EXPECT_LE(1.0 * worse / kRuns, bound(policy.alpha, kRuns)) << flips;
  }
  int same = 0;
  for (int run = 0; run < kRuns; ++run) {
    same += watch(random, {policy.same_within + 0.005, 0.005, 0.9}, 40).verdict == Verdict::kSame ? 1 : 0;
  }
  EXPECT_LE(1.0 * same / kRuns, bound(policy.alpha, kRuns));
}

TEST(Sequential, ClearCellsNeedUnderAFifthOfTheSamples) {
  std::mt19937_64 random(22);
  struct Case {
    const char* name;
    Rates rates;
    Verdict verdict;
  };
  for (const Case& one :
       {Case{"lost altogether", {0.99, 0, 0}, Verdict::kWorse}, Case{"halved", {0.5, 0.005, 0.49}, Verdict::kWorse},
        Case{"ten points", {0.105, 0.005, 0.88}, Verdict::kWorse}, Case{"nothing flips", {0, 0, 0.99}, Verdict::kSame},
        Case{"gained altogether", {0, 0.99, 0}, Verdict::kBetter}}) {
    constexpr int kRuns = 200;
    std::int64_t samples = 0;
    int right = 0;
    for (int run = 0; run < kRuns; ++run) {
      const Watched seen = watch(random, one.rates, 40);
      samples += seen.samples;
      right += seen.verdict == one.verdict ? 1 : 0;
    }
    EXPECT_LT(1.0 * static_cast<double>(samples) / kRuns, kSamples / 5.0) << one.name;
    EXPECT_GE(right, kRuns * 99 / 100) << one.name;
    RecordProperty(one.name, static_cast<int>(samples / kRuns));
  }
}

TEST(Sequential, FindsWhatTheFixedTestFinds) {
  std::mt19937_64 random(23);
  constexpr int kRuns = 1000;
  int found = 0;
  for (int run = 0; run < kRuns; ++run) {
    found += watch(random, {0.99 * 0.05, 0.01 * 0.95, 0.99 * 0.95}, 40).verdict == Verdict::kWorse ? 1 : 0;
  }
  EXPECT_GE(found, kRuns * 95 / 100);
}

}  // namespace
}  // namespace lenbench
