// Formal-language tasks on expressions modulo 5. What the suite's text leaves open:
//
//   modular-arithmetic           digits with + - *, multiplication first, otherwise from the left; the length is odd,
//                                an even one gives an expression of one symbol less. Ids: digits, then + - *.
//   modular-arithmetic-brackets  d, -d, (d), (-d), or (E op E) with the length of the left side uniform. With * unless
//                                multiply=false. Ids: digits, then + - * ( ).
//   solve-equation               such an expression without *, one digit of it replaced by x, then = and its value. The
//                                digit is the first one at or after a uniform place (around the end), as in the
//                                original, so a digit behind operators is taken more often. x is unique because it
//                                occurs once and under + and - only. Ids: digits, then + - ( ) x =.
#include <algorithm>

#include "tasks/formal.h"

namespace lenbench {
namespace {

constexpr std::int32_t kModulus = 5;
constexpr std::int32_t kPlus = 5, kMinus = 6, kTimes = 7, kOpen = 8, kClose = 9, kUnknown = 10, kEquals = 11;
constexpr std::int32_t kSymbols = 12;

// Expressions are written with the ids above; a task without some of them closes the gap in its own ids.
constexpr std::int32_t kArithmeticSymbols = kTimes + 1;
constexpr std::int32_t kBracketSymbols = kClose + 1;
constexpr std::int32_t kEquationSymbols = kSymbols - 1;  // no *

std::int32_t to_equation_id(std::int32_t symbol) { return symbol > kTimes ? symbol - 1 : symbol; }
std::int32_t from_equation_id(std::int32_t id) { return id >= kTimes ? id + 1 : id; }

std::int32_t reduced(std::int32_t value) { return (value % kModulus + kModulus) % kModulus; }
std::int32_t digit(Rng& rng) { return static_cast<std::int32_t>(rng.below(kModulus)); }

Symbols flat_input(std::int64_t length, Rng& rng) {
  Symbols input;
  for (std::int64_t i = 0; i < (length + 1) / 2; ++i) {
    if (i > 0) input.push_back(kPlus + static_cast<std::int32_t>(rng.below(3)));
    input.push_back(digit(rng));
  }
  return input;
}

Symbols flat_output(std::span<const std::int32_t> input) {
  std::int32_t sum = 0, term = input[0];
  for (std::size_t i = 1; i + 1 < input.size(); i += 2) {
    if (input[i] == kTimes) {
      term = reduced(term * input[i + 1]);
    } else {
      sum = reduced(sum + term);
      term = input[i] == kMinus ? -input[i + 1] : input[i + 1];
    }
  }
  return {reduced(sum + term)};
}

// An expression in brackets of exactly `length` symbols; written from the left with a stack of what is still to come,
// because splits may be as deep as the length.
Symbols bracketed(std::int64_t length, std::uint64_t operators, Rng& rng) {
  struct Pending {
    std::int64_t length;  // of an expression; 0: `symbol` stands here
    std::int32_t symbol;
  };
  Symbols written;
  std::vector<Pending> pending = {{length, 0}};
  while (!pending.empty()) {
    const Pending next = pending.back();
    pending.pop_back();
    if (next.length == 0) {
      written.push_back(next.symbol);
    } else if (next.length < 5) {
      if (next.length > 2) written.push_back(kOpen);
      if (next.length % 2 == 0) written.push_back(kMinus);
      written.push_back(digit(rng));
      if (next.length > 2) written.push_back(kClose);
    } else {
      const std::int64_t left = rng.between(1, next.length - 4);
      const std::int32_t op = kPlus + static_cast<std::int32_t>(rng.below(operators));
      written.push_back(kOpen);
      pending.push_back({0, kClose});
      pending.push_back({next.length - 3 - left, 0});
      pending.push_back({0, op});
      pending.push_back({left, 0});
    }
  }
  return written;
}

// A value a + b x modulo 5; b is 0 where x does not occur.
struct Linear {
  std::int32_t constant = 0, slope = 0;
};

Linear combined(const Linear& left, std::int32_t op, const Linear& right) {
  if (op == kTimes) return {reduced(left.constant * right.constant), 0};
  const std::int32_t sign = op == kMinus ? -1 : 1;
  return {reduced(left.constant + sign * right.constant), reduced(left.slope + sign * right.slope)};
}

// The value of a bracketed expression that may hold one x, not under *.
Linear value_of(std::span<const std::int32_t> expression) {
  struct Frame {
    Linear value;
    std::int32_t op = kPlus;
    bool negate = false, empty = true;
    void take(Linear operand) {
      if (negate) operand = combined({}, kMinus, operand);
      value = empty ? operand : combined(value, op, operand);
      negate = empty = false;
    }
  };
  std::vector<Frame> frames(1);
  bool operand_expected = true;
  for (const std::int32_t symbol : expression) {
    switch (symbol) {
      case kOpen:
        frames.emplace_back();
        operand_expected = true;
        break;
      case kClose: {
        if (frames.size() == 1) return {};  // no expression
        const Linear value = frames.back().value;
        frames.pop_back();
        frames.back().take(value);
        operand_expected = false;
        break;
      }
      case kPlus:
      case kMinus:
      case kTimes:
        if (operand_expected) {
          frames.back().negate = true;
        } else {
          frames.back().op = symbol;
        }
        operand_expected = true;
        break;
      default:
        frames.back().take(symbol == kUnknown ? Linear{0, 1} : Linear{symbol, 0});
        operand_expected = false;
    }
  }
  return frames.front().value;
}

Symbols equation_input(std::int64_t length, Rng& rng) {
  Symbols input = bracketed(length - 2, 2, rng);
  const std::int32_t value = value_of(input).constant;
  auto at = static_cast<std::size_t>(rng.below(input.size()));
  while (input[at] >= kModulus) at = (at + 1) % input.size();
  input[at] = kUnknown;
  input.push_back(kEquals);
  input.push_back(value);
  std::transform(input.begin(), input.end(), input.begin(), to_equation_id);
  return input;
}

// a + b x = c with b = 1 or -1.
Symbols equation_output(std::span<const std::int32_t> input) {
  Symbols expression(input.begin(), input.end() - 2);
  std::transform(expression.begin(), expression.end(), expression.begin(), from_equation_id);
  const Linear left = value_of(expression);
  return {reduced((input.back() - left.constant) * left.slope)};
}

std::unique_ptr<Task> make_flat(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  FormalLaw law;
  law.symbols = kArithmeticSymbols;
  law.output_symbols = kModulus;
  law.odd_input = true;
  law.input = flat_input;
  law.output = flat_output;
  law.blanks = one_blank;
  return make_formal(entry, resolved, law,
                     {{"1 + 2 * 3 = 7, which is 2", {1, kPlus, 2, kTimes, 3}, {2}},
                      {"1 - 1 - 1 = -1, which is 4", {1, kMinus, 1, kMinus, 1}, {4}}});
}

std::unique_ptr<Task> make_brackets(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  FormalLaw law;
  law.symbols = kBracketSymbols;
  law.output_symbols = kModulus;
  law.input = flag_of(resolved, "multiply") ? [](std::int64_t length, Rng& rng) { return bracketed(length, 3, rng); }
                                            : [](std::int64_t length, Rng& rng) { return bracketed(length, 2, rng); };
  law.output = [](std::span<const std::int32_t> input) -> Symbols { return {value_of(input).constant}; };
  law.blanks = one_blank;
  return make_formal(
      entry, resolved, law,
      {{"((3*4)-(-2)) = 14, which is 4",
        {kOpen, kOpen, 3, kTimes, 4, kClose, kMinus, kOpen, kMinus, 2, kClose, kClose},
        {4}},
       {"(1--2) = 3: a minus after an operator belongs to the digit", {kOpen, 1, kMinus, kMinus, 2, kClose}, {3}}});
}

std::unique_ptr<Task> make_equation(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  constexpr std::int32_t open = kOpen - 1, close = kClose - 1, unknown = kUnknown - 1, equals = kEquals - 1;
  FormalLaw law;
  law.symbols = kEquationSymbols;
  law.output_symbols = kModulus;
  law.min_length = 3;
  law.input = equation_input;
  law.output = equation_output;
  law.blanks = one_blank;
  return make_formal(
      entry, resolved, law,
      {{"(1-x) = 3 holds for x = 3, because 1 - 3 = -2 is 3", {open, 1, kMinus, unknown, close, equals, 3}, {3}},
       {"-x = 4 holds for x = 1", {kMinus, unknown, equals, 4}, {1}}});
}

}  // namespace

const TaskEntry& modular_arithmetic_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "modular-arithmetic";
    made.comparability = formal_comparability("modular arithmetic");
    made.summary = "the value modulo 5 of digits with +, - and *, without brackets";
    made.make = make_flat;
    return made;
  }();
  return entry;
}

const TaskEntry& modular_arithmetic_brackets_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "modular-arithmetic-brackets";
    made.comparability = formal_comparability("modular arithmetic with brackets");
    made.summary = "the value modulo 5 of a bracketed expression";
    made.parameters = {
        {"multiply", "true", "whether * occurs (the paper's setting; the code's default is false)", flag_words()}};
    made.make = make_brackets;
    return made;
  }();
  return entry;
}

const TaskEntry& solve_equation_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "solve-equation";
    made.comparability = formal_comparability("solve equation");
    made.summary = "the digit x that makes a bracketed equation modulo 5 true";
    made.make = make_equation;
    return made;
  }();
  return entry;
}

}  // namespace lenbench
