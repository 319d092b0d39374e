// Formal-language tasks: brute-force solvers written apart from the tasks, the layout, and the laws of the inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "cases.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;
using Ids = std::vector<std::int32_t>;

Ids input_of(const Task& task, const Sample& sample) {
  const auto sep = std::find(sample.tokens.begin(), sample.tokens.end(), task.info().specials.sep);
  return {sample.tokens.begin() + 1, sep};
}

std::string text_of(const Ids& ids, const std::string& alphabet) {
  std::string text;
  for (const std::int32_t id : ids) text.push_back(alphabet.at(static_cast<std::size_t>(id)));
  return text;
}

// Recursive descent over sums of products of digits, brackets and negated factors, modulo 5.
class Calculator {
 public:
  static int value(const std::string& text) {
    Calculator calculator(text);
    const int value = calculator.sum();
    EXPECT_EQ(calculator.at_, text.size()) << text;
    return value;
  }

 private:
  explicit Calculator(const std::string& text) : text_(text) {}
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  int sum() {
    int value = product();
    while (peek() == '+' || peek() == '-') {
      const bool plus = text_[at_++] == '+';
      const int right = product();
      value = plus ? value + right : value - right;
      value = (value % 5 + 5) % 5;
    }
    return value;
  }
  int product() {
    int value = factor();
    while (peek() == '*') {
      ++at_;
      value = value * factor() % 5;
    }
    return value;
  }
  int factor() {
    if (peek() == '-') {
      ++at_;
      return (5 - factor()) % 5;
    }
    if (peek() != '(') return text_.at(at_++) - '0';
    ++at_;
    const int value = sum();
    EXPECT_EQ(text_.at(at_++), ')');
    return value;
  }
  const std::string& text_;
  std::size_t at_ = 0;
};

Ids even_pairs(const Ids& in) {
  int unequal = 0;
  for (std::size_t i = 1; i < in.size(); ++i) unequal += in[i] != in[i - 1] ? 1 : 0;
  return {unequal % 2};
}

Ids cycle_navigation(const Ids& in) {
  const auto forward = std::count(in.begin(), in.end(), 2), back = std::count(in.begin(), in.end(), 0);
  return {static_cast<std::int32_t>(((forward - back) % 5 + 5) % 5)};
}

Ids missing_duplicate(const Ids& in) {
  Ids fitting;
  for (const std::int32_t guess : {0, 1}) {
    Ids filled = in;
    std::replace(filled.begin(), filled.end(), 2, guess);
    const auto half = static_cast<std::ptrdiff_t>(in.size() / 2);
    if (std::equal(filled.begin(), filled.begin() + half, filled.begin() + half)) fitting.push_back(guess);
  }
  return fitting;
}

Ids odds_first(const Ids& in) {
  Ids order(in.size()), out;
  for (std::size_t i = 0; i < in.size(); ++i) order[i] = static_cast<std::int32_t>(i + 1);
  std::stable_partition(order.begin(), order.end(), [](std::int32_t place) { return place % 2 == 0; });
  for (const std::int32_t place : order) out.push_back(in[static_cast<std::size_t>(place - 1)]);
  return out;
}

Ids duplicate_string(const Ids& in) {
  Ids out;
  for (std::size_t i = 0; i < 2 * in.size(); ++i) out.push_back(in[i % in.size()]);
  return out;
}

Ids bucket_sort(const Ids& in) {
  Ids out;
  for (std::int32_t symbol = 0; symbol < 5; ++symbol) {
    out.insert(out.end(), static_cast<std::size_t>(std::count(in.begin(), in.end(), symbol)), symbol);
  }
  return out;
}

// Reads from the end: a pop cancels the nearest earlier symbol that is not cancelled yet.
Ids stack_manipulation(const Ids& in) {
  Ids out;
  int cancel = 0;
  // A pop of an empty stack must not cancel anything, so such pops are found first, from the front.
  std::vector<bool> idle(in.size());
  int depth = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    idle[i] = in[i] == 2 && depth == 0;
    depth += in[i] != 2 ? 1 : depth > 0 ? -1 : 0;
  }
  for (std::size_t i = in.size(); i-- > 0;) {
    if (in[i] == 2) {
      cancel += idle[i] ? 0 : 1;
    } else if (cancel > 0) {
      --cancel;
    } else {
      out.push_back(in[i] % 3 == 1 ? 1 : 0);  // 1 and push 1 (4) are 1 modulo 3, 0 and push 0 (3) are 0
    }
  }
  out.push_back(2);
  return out;
}

Ids modular_arithmetic(const Ids& in) { return {Calculator::value(text_of(in, "01234+-*"))}; }
Ids brackets(const Ids& in) { return {Calculator::value(text_of(in, "01234+-*()"))}; }

Ids solve_equation(const Ids& in) {
  const std::string text = text_of(in, "01234+-()x=");
  const std::size_t equals = text.find('=');
  Ids solutions;
  for (char guess = '0'; guess < '5'; ++guess) {
    std::string filled = text.substr(0, equals);
    filled[filled.find('x')] = guess;
    if (Calculator::value(filled) == Calculator::value(text.substr(equals + 1))) solutions.push_back(guess - '0');
  }
  return solutions;
}

// Bits, lowest first, without high zeros.
Ids trimmed(Ids bits) {
  while (!bits.empty() && bits.back() == 0) bits.pop_back();
  return bits;
}
Ids carried(Ids columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 2) continue;
    if (i + 1 == columns.size()) columns.push_back(0);
    columns[i + 1] += columns[i] / 2;
    columns[i] %= 2;
  }
  return trimmed(columns);
}
Ids product(const Ids& a, const Ids& b) {
  Ids columns(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) columns[i + j] += a[i] * b[j];
  }
  return carried(columns);
}
Ids sum(const Ids& a, const Ids& b) {
  Ids columns(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) columns[i] += a[i];
  for (std::size_t i = 0; i < b.size(); ++i) columns[i] += b[i];
  return carried(columns);
}
bool less(const Ids& a, const Ids& b) {
  return a.size() != b.size() ? a.size() < b.size()
                              : std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

Ids binary(const Ids& in, Ids (*operation)(const Ids&, const Ids&)) {
  const auto middle = std::find(in.begin(), in.end(), 2);
  Ids out = operation({in.begin(), middle}, {middle + 1, in.end()});
  out.push_back(2);
  return out;
}
Ids binary_addition(const Ids& in) { return binary(in, sum); }
Ids binary_multiplication(const Ids& in) { return binary(in, product); }

// The largest root whose square does not exceed the number, found bit by bit from the highest.
Ids compute_sqrt(const Ids& in) {
  const Ids number = trimmed({in.rbegin(), in.rend()});
  Ids root((in.size() + 1) / 2);
  for (std::size_t bit = root.size(); bit-- > 0;) {
    root[bit] = 1;
    if (less(number, product(trimmed(root), trimmed(root)))) root[bit] = 0;
  }
  return {root.rbegin(), root.rend()};
}

struct Formal {
  std::string spec;
  std::function<Ids(const Ids&)> solver;
  std::vector<std::int64_t> lengths = {3, 5, 16, 41, 100};
};
void PrintTo(const Formal& formal, std::ostream* out) { *out << formal.spec; }

const std::vector<Formal>& formal_tasks() {
  static const std::vector<Formal> tasks = {
      {"even-pairs", even_pairs},
      {"cycle-navigation", cycle_navigation},
      {"missing-duplicate", missing_duplicate},
      {"odds-first", odds_first},
      {"duplicate-string", duplicate_string},
      {"bucket-sort", bucket_sort},
      {"stack-manipulation", stack_manipulation},
      {"modular-arithmetic", modular_arithmetic},
      {"modular-arithmetic-brackets", brackets},
      {"modular-arithmetic-brackets:multiply=false", brackets},
      {"solve-equation", solve_equation},
      {"binary-addition", binary_addition},
      {"binary-multiplication", binary_multiplication},
      {"compute-sqrt", compute_sqrt, {3, 5, 16, 41, 60}},
  };
  return tasks;
}

class FormalTasks : public testing::TestWithParam<Formal> {};

// 10,000 samples for each task, over five lengths.
TEST_P(FormalTasks, BruteForceAgrees) {
  const std::unique_ptr<Task> task = make(GetParam().spec);
  for (const std::int64_t length : GetParam().lengths) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const Sample sample = draw(*task, length, i);
      const Ids expected = GetParam().solver(input_of(*task, sample));
      ASSERT_EQ(targets_of(sample), expected) << length << " " << i;
      ASSERT_EQ(task->solve(sample.tokens, positions_of(sample)), expected);
    }
  }
}

TEST_P(FormalTasks, BlanksAreFedAndNeverTheAnswer) {
  const std::unique_ptr<Task> task = make(GetParam().spec);
  const SpecialTokens& specials = task->info().specials;
  for (const std::int64_t length : GetParam().lengths) {
    std::size_t size = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const Sample sample = draw(*task, length, i);
      const Ids input = input_of(*task, sample);
      EXPECT_EQ(sample.tokens[0], specials.bos);
      EXPECT_TRUE(static_cast<std::int64_t>(input.size()) == length ||
                  (GetParam().spec == "modular-arithmetic" && static_cast<std::int64_t>(input.size()) == length - 1));
      for (std::size_t t = input.size() + 2; t < sample.tokens.size(); ++t) EXPECT_EQ(sample.tokens[t], specials.mask);
      // The number of blanks says nothing about the answer.
      if (i == 0) size = sample.tokens.size();
      EXPECT_EQ(sample.tokens.size(), size);
      for (std::size_t row = 0; row < sample.scored.size(); ++row) {
        EXPECT_EQ(sample.scored[row].position, static_cast<std::int64_t>(input.size() + 2 + row));
        EXPECT_EQ(sample.scored[row].answer, static_cast<std::int32_t>(row));
        EXPECT_FALSE(sample.scored[row].fed_back);
      }
    }
  }
}

TEST_P(FormalTasks, NeedsNoShorterLengthThanItSays) {
  const std::unique_ptr<Task> task = make(GetParam().spec);
  for (std::int64_t length = task->min_length(); length < 40; ++length) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Sample sample = draw(*task, length, i);
      ASSERT_EQ(targets_of(sample), GetParam().solver(input_of(*task, sample))) << length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, FormalTasks, testing::ValuesIn(formal_tasks()), CaseName());

// Counts of a fact of the input over 10,000 samples.
std::vector<std::int64_t> histogram(const std::string& spec, std::int64_t length, std::size_t cells,
                                    const std::function<std::size_t(const Ids&)>& fact) {
  const std::unique_ptr<Task> task = make(spec);
  std::vector<std::int64_t> counts(cells);
  for (std::uint64_t i = 0; i < 10000; ++i) ++counts.at(fact(input_of(*task, draw(*task, length, i))));
  return counts;
}

TEST(FormalLaws, InputsFollowTheirLaw) {
  const auto code = [](int base) {
    return [base](const Ids& in) {
      std::size_t value = 0;
      for (const std::int32_t symbol : in)
        value = value * static_cast<std::size_t>(base) + static_cast<std::size_t>(symbol);
      return value;
    };
  };
  for (const std::string spec : {"even-pairs", "odds-first", "duplicate-string"}) {
    EXPECT_GT(p_value(histogram(spec, 6, 64, code(2))), kLevel) << spec;
  }
  EXPECT_GT(p_value(histogram("cycle-navigation", 4, 81, code(3))), kLevel);
  EXPECT_GT(p_value(histogram("bucket-sort", 3, 125, code(5))), kLevel);
  // The first number has 1 .. 8 bits of ten, all lengths alike; 0 is never drawn.
  const auto first_length = [](const Ids& in) {
    return static_cast<std::size_t>(std::find(in.begin(), in.end(), 2) - in.begin() - 1);
  };
  EXPECT_GT(p_value(histogram("binary-addition", 10, 8, first_length)), kLevel);
  EXPECT_GT(p_value(histogram("binary-multiplication", 10, 8, first_length)), kLevel);
  // Every number up to the largest: the original's bound leaves 2^L - 1 out below length 3, ours has no such length.
  std::vector<std::int64_t> numbers = histogram("compute-sqrt", 4, 16, code(2));
  EXPECT_EQ(numbers[0], 0);
  numbers.erase(numbers.begin());
  EXPECT_GT(p_value(numbers), kLevel);
  std::vector<std::int64_t> pairs = histogram("binary-addition", 3, 27, code(3));
  EXPECT_EQ(pairs[9 + 6 + 1], 10000) << "1 + 1 is all that length 3 holds";
  // The blanked place is uniform.
  EXPECT_GT(p_value(histogram("missing-duplicate", 21, 20,
                              [](const Ids& in) {
                                return static_cast<std::size_t>(std::find(in.begin(), in.end(), 2) - in.begin());
                              })),
            kLevel);
  // Operators of a flat expression.
  EXPECT_GT(
      p_value(histogram("modular-arithmetic", 3, 3, [](const Ids& in) { return static_cast<std::size_t>(in[1] - 5); })),
      kLevel);
}

// Twelve symbols: (left op right) with the left side of 1 .. 8, so its end is found by matching brackets.
TEST(FormalLaws, BracketsSplitUniformly) {
  const auto left = [](const Ids& in) {
    std::size_t at = 1;
    if (in[at] == 6) ++at;
    int depth = 0;
    do {
      depth += in[at] == 8 ? 1 : in[at] == 9 ? -1 : 0;
      ++at;
    } while (depth > 0);
    return at - 2;
  };
  EXPECT_GT(p_value(histogram("modular-arithmetic-brackets", 12, 8, left)), kLevel);
}

// The first operation stands behind the initial stack, so its place tells the height.
TEST(FormalLaws, StackHeightIsUniform) {
  const auto held = [](const Ids& in) {
    return static_cast<std::size_t>(std::find_if(in.begin(), in.end(), [](std::int32_t s) { return s >= 2; }) -
                                    in.begin()) -
           1;
  };
  EXPECT_GT(p_value(histogram("stack-manipulation", 12, 11, held)), kLevel);
}

// Lengths at which the original's answer is arbitrary or always the same.
TEST(FormalLaws, LengthsWithoutAQuestionAreRefused) {
  for (const auto& [spec, shortest] : std::map<std::string, std::int64_t>{
           {"missing-duplicate", 2}, {"binary-addition", 3}, {"binary-multiplication", 3}, {"solve-equation", 3}}) {
    EXPECT_EQ(make(spec)->min_length(), shortest);
    EXPECT_THROW(draw(*make(spec), shortest - 1, 0), Error);
  }
}

TEST(FormalLaws, LongestLengthIsNamed) {
  for (const auto& [spec, longest] :
       std::map<std::string, std::int64_t>{{"binary-multiplication", 1 << 20}, {"compute-sqrt", 1 << 20}}) {
    try {
      draw(*make(spec), longest + 1, 0);
      FAIL() << spec;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("the longest is " + std::to_string(longest)));
    }
  }
}

}  // namespace
}  // namespace lenbench
