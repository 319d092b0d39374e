// No training sample is a test sample, beyond what chance gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/poisson.hpp>
#include <cmath>
#include <set>

#include "cases.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

constexpr std::uint64_t kEach = 100000;

std::vector<std::uint64_t> hashes(const Task& task, std::int64_t length, Split split) {
  std::vector<std::uint64_t> all;
  all.reserve(kEach);
  for (std::uint64_t i = 0; i < kEach; ++i) {
    const Sample sample = draw(task, length, i, 0, split);
    all.push_back(stable_hash({reinterpret_cast<const char*>(sample.tokens.data()), sample.tokens.size() * 4}));
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Training samples that occur among the test samples.
std::int64_t coincidences(const Task& task, std::int64_t length) {
  const std::vector<std::uint64_t> train = hashes(task, length, Split::kTrain);
  const std::vector<std::uint64_t> test = hashes(task, length, Split::kTest);
  return std::count_if(train.begin(), train.end(),
                       [&](std::uint64_t hash) { return std::binary_search(test.begin(), test.end(), hash); });
}

// A task at a small length, and the logarithm to base 2 of (a lower bound of) the number of equally likely samples
// there are. Chance alone gives 10^10 / 2^bits coincidences, Poisson.
struct Space {
  const char* spec;
  std::int64_t length;
  double bits;
  double expected() const { return static_cast<double>(kEach) * static_cast<double>(kEach) / std::exp2(bits); }
};

const std::vector<Space>& spaces() {
  static const double five = std::log2(5.0), three = std::log2(3.0);
  static const std::vector<Space> all = {
      {"recall", 16, 2 * 8.0 + 2 * 6 + 12 * 6},  // keys, values, filler
      {"recall-dense", 18, 3 * 15.9 + 3 * 6},    // key bigrams, values
      {"mqmtar", 32, 8 * 13.2 - 1},              // four keys and values of pools of 10,000
      {"copy", 8, 8 * 5.0},                      // symbols
      {"reverse", 8, 8 * 5.0},
      {"sort", 8, 8 * 5.0},
      {"nback", 10, 10 * std::log2(15.0)},
      {"local-count", 125, 4 + 4 * std::log2(15.0) + 5 * std::log2(47.0)},
      {"flip-flop", 96, 47.0},  // bits; commands come on top
      {"parity", 48, 48.0},
      {"parity", 32, 32.0},               // so few that 2.3 coincidences are expected
      {"max-retrieval", 2, 3 * 23.0},     // two priorities and the query
      {"mqar", 64, 4 * 11.9 + 4 * 11.9},  // keys and values
      {"even-pairs", 48, 48.0},
      {"even-pairs", 34, 34.0},  // 0.6 are expected
      {"cycle-navigation", 32, 32 * three},
      {"missing-duplicate", 80, 40 + std::log2(80.0)},
      {"odds-first", 48, 48.0},
      {"duplicate-string", 48, 48.0},
      {"bucket-sort", 20, 20 * five},
      {"stack-manipulation", 48, 48.0},  // a symbol has two values on the stack, three behind it
      {"modular-arithmetic", 33, 17 * five + 16 * three},
      {"modular-arithmetic-brackets", 100, 15 * five + 14 * three},  // a digit in four symbols, an operator in three
      {"solve-equation", 100, 13 * five + 13},
      {"binary-addition", 48, 45.0},
      {"binary-multiplication", 48, 45.0},
      {"compute-sqrt", 48, 47.9},
      {"niah-ids", 20, 16 + 18 + 1.0},  // key, value and two places: 0.3 are expected
      {"niah-ids:haystack=essay", 65, 16 + 18 + 8 + 5.0},
      {"niah-ids:haystack=needles", 29, 3 * 16 + 3 * 18 - 2.0},
      {"niah-ids:haystack=essay,kind=multi-value", 108, 16 + 4 * 17.9},
      {"niah-bytes", 220, std::log2(512000.0) + std::log2(9e6)},
      {"niah-bytes:kind=single-2", 350, std::log2(512000.0) + std::log2(9e6)},
      {"niah-bytes:kind=multikey-3", 300, 2 * 122.0},
      {"variable-tracking", 70, 5 * 15.9},
      {"variable-tracking:tokens=bytes", 600, 5 * 18.9},
      {"common-words", 150, 10 * 15.9},
      {"frequent-words", 100, 5 * 15.9},
  };
  return all;
}

void PrintTo(const Space& space, std::ostream* out) { *out << space.spec << ':' << space.length; }

class Splits : public testing::TestWithParam<Space> {};

// 100,000 training and as many test samples share what chance gives and no more: none where the space is large; where
// it is so small that coincidences are expected, their number is not above the Poisson law's at the level of these
// tests.
TEST_P(Splits, ShareNoMoreThanChance) {
  const std::int64_t count = coincidences(*make(GetParam().spec), GetParam().length);
  const double expected = GetParam().expected();
  RecordProperty("expected", std::to_string(expected));
  RecordProperty("coincidences", std::to_string(count));
  if (expected < 0.02) {
    EXPECT_EQ(count, 0);
  } else {
    const boost::math::poisson law(expected);
    EXPECT_TRUE(count == 0 || cdf(complement(law, static_cast<double>(count - 1))) > kLevel)
        << count << " coincidences, expected " << expected;
  }
}

std::string space_name(const testing::TestParamInfo<Space>& info) {
  return identifier(info.param.spec + std::string("_") + std::to_string(info.param.length));
}
INSTANTIATE_TEST_SUITE_P(Catalogue, Splits, testing::ValuesIn(spaces()), space_name);

// Documents are the user's to split: `text` numbers their windows and knows no split. All other tasks are above.
TEST(SplitsOfTasks, EveryRandomTaskIsChecked) {
  std::set<std::string> checked = {"text"};
  for (const Space& space : spaces()) checked.insert(parse_task_spec(space.spec).name);
  const std::vector<std::string> names = task_names();
  EXPECT_EQ(checked, std::set<std::string>(names.begin(), names.end()));
}

// The other end: of 10 bits every test string is among 100,000 training strings, so the hashes do find coincidences.
TEST(SplitsOfTasks, CoincidencesAreFoundWhereTheyMustBe) {
  EXPECT_EQ(coincidences(*make("parity"), 10), static_cast<std::int64_t>(kEach));
}

}  // namespace
}  // namespace lenbench
