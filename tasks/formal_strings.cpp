// Formal-language tasks on strings. What the suite's text leaves open, or says otherwise than its code:
//
//   even-pairs         class 1 when the number of 01 and 10 pairs is odd, which is when first and last symbol differ.
//   cycle-navigation   steps 0, 1, 2 mean -1, 0, +1 (the code; the text lists another order); start at 0 of 5.
//   missing-duplicate  a string twice with one symbol replaced by 2; an odd length ends with the pad 3. Length 1, where
//                      the original always answers 1, is refused.
//   odds-first         symbols 2, 4, 6 ... counted from 1 come first, then 1, 3, 5 ... (the code; the text says the
//                      opposite).
//   duplicate-string   the string twice.
//   bucket-sort        five symbols, ascending.
//   stack-manipulation a stack bottom to top, then pop 2, push 0 as 3, push 1 as 4; the output is the final stack from
//                      the top, then the end symbol 2. A pop of an empty stack does nothing. The stack has 1 to L - 1
//                      symbols, uniformly; at length 1 it is all there is.
#include <algorithm>

#include "tasks/formal.h"

namespace lenbench {
namespace {

constexpr std::int32_t kCycle = 5;
constexpr std::int32_t kBuckets = 5;
constexpr std::int32_t kMissing = 2, kOddPad = 3;
constexpr std::int32_t kPop = 2, kPush0 = 3, kPush1 = 4, kStackEnd = 2;

using Places = std::vector<std::int64_t>;

// The output of a task that only moves symbols: those at places(input), in that order.
template <Places (*places)(std::span<const std::int32_t>)>
Symbols repeated(std::span<const std::int32_t> input) {
  Symbols output;
  for (const std::int64_t place : places(input)) output.push_back(input[static_cast<std::size_t>(place)]);
  return output;
}

Symbols bits(std::int64_t length, Rng& rng) { return uniform_symbols(length, 2, rng); }

TaskEntry entry_of(const char* name, const char* original, const char* summary) {
  TaskEntry entry;
  entry.name = name;
  entry.comparability = formal_comparability(original);
  entry.summary = summary;
  return entry;
}

std::unique_ptr<Task> make_even_pairs(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  FormalLaw law;
  law.input = bits;
  law.output = [](std::span<const std::int32_t> input) -> Symbols { return {input.front() == input.back() ? 0 : 1}; };
  law.blanks = one_blank;
  return make_formal(entry, resolved, law,
                     {{"001110 has one 01 and one 10: an even number of unequal pairs", {0, 0, 1, 1, 1, 0}, {0}},
                      {"0101001 has three 01 and two 10: an odd number", {0, 1, 0, 1, 0, 0, 1}, {1}}},
                     {{{0, 0}, {0}}, {{0, 1}, {1}}, {{1, 0}, {1}}, {{1, 1}, {0}}});
}

std::unique_ptr<Task> make_cycle_navigation(const TaskEntry& entry, const TaskParameters& resolved,
                                            const TaskResources&) {
  FormalLaw law;
  law.symbols = kCycle;
  law.output_symbols = kCycle;
  law.input = [](std::int64_t length, Rng& rng) { return uniform_symbols(length, 3, rng); };
  law.output = [](std::span<const std::int32_t> input) -> Symbols {
    std::int32_t place = 0;
    for (const std::int32_t step : input) place = (place + step - 1 + kCycle) % kCycle;
    return {place};
  };
  law.blanks = one_blank;
  return make_formal(entry, resolved, law,
                     {{"+1 -1 0 -1 -1 ends two places below 0, which is place 3 of 5", {2, 0, 1, 0, 0}, {3}},
                      {"+1 +1 +1 -1 ends at place 2", {2, 2, 2, 0}, {2}}},
                     {{{0}, {4}}, {{1}, {0}}, {{2}, {1}}});
}

Symbols missing_duplicate_input(std::int64_t length, Rng& rng) {
  const Symbols half = bits(length / 2, rng);
  Symbols input = half;
  input.insert(input.end(), half.begin(), half.end());
  input[static_cast<std::size_t>(rng.below(input.size()))] = kMissing;
  if (length % 2 == 1) input.push_back(kOddPad);
  return input;
}

// The place of the blanked symbol's twin.
Places missing_duplicate_repeats(std::span<const std::int32_t> input) {
  const std::size_t half = input.size() / 2;
  for (std::size_t i = 0; i < 2 * half; ++i) {
    if (input[i] == kMissing) return {static_cast<std::int64_t>(i < half ? i + half : i - half)};
  }
  return {};
}

std::unique_ptr<Task> make_missing_duplicate(const TaskEntry& entry, const TaskParameters& resolved,
                                             const TaskResources&) {
  FormalLaw law;
  law.symbols = 4;
  law.min_length = 2;
  law.input = missing_duplicate_input;
  law.output = repeated<missing_duplicate_repeats>;
  law.repeats = missing_duplicate_repeats;
  law.blanks = one_blank;
  return make_formal(
      entry, resolved, law,
      {{"0110 twice; the missing symbol is the second of the second half", {0, 1, 1, 0, 0, 2, 1, 0}, {1}},
       {"101 twice and a pad; the missing symbol is the second of the first half", {1, 2, 1, 1, 0, 1, 3}, {0}}},
      {{{0, 2}, {0}}, {{1, 2}, {1}}, {{2, 0}, {0}}, {{2, 1}, {1}}});
}

Places odds_first_repeats(std::span<const std::int32_t> input) {
  Places places;
  places.reserve(input.size());
  for (const std::size_t first : {1U, 0U}) {
    for (std::size_t i = first; i < input.size(); i += 2) places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

std::unique_ptr<Task> make_odds_first(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  FormalLaw law;
  law.input = bits;
  law.output = repeated<odds_first_repeats>;
  law.repeats = odds_first_repeats;
  law.blanks = as_many_blanks;
  return make_formal(
      entry, resolved, law,
      {{"symbols 2, 4, 6, 8 are 0111, symbols 1, 3, 5, 7 are 0100", {0, 0, 1, 1, 0, 1, 0, 1}, {0, 1, 1, 1, 0, 1, 0, 0}},
       {"of three symbols the second comes first", {1, 0, 1}, {0, 1, 1}}},
      {{{0, 0}, {0, 0}}, {{0, 1}, {1, 0}}, {{1, 0}, {0, 1}}, {{1, 1}, {1, 1}}});
}

Places duplicate_string_repeats(std::span<const std::int32_t> input) {
  Places places(2 * input.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i % input.size());
  return places;
}

std::unique_ptr<Task> make_duplicate_string(const TaskEntry& entry, const TaskParameters& resolved,
                                            const TaskResources&) {
  FormalLaw law;
  law.input = bits;
  law.output = repeated<duplicate_string_repeats>;
  law.repeats = duplicate_string_repeats;
  law.blanks = [](std::int64_t input_tokens) { return 2 * input_tokens; };
  return make_formal(entry, resolved, law,
                     {{"101 twice", {1, 0, 1}, {1, 0, 1, 1, 0, 1}}, {"one symbol twice", {1}, {1, 1}}},
                     {{{0}, {0, 0}}, {{1}, {1, 1}}});
}

// Equal symbols keep their order.
Places bucket_sort_repeats(std::span<const std::int32_t> input) {
  Places places;
  places.reserve(input.size());
  for (std::int32_t symbol = 0; symbol < kBuckets; ++symbol) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      if (input[i] == symbol) places.push_back(static_cast<std::int64_t>(i));
    }
  }
  return places;
}

std::unique_ptr<Task> make_bucket_sort(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  FormalLaw law;
  law.symbols = kBuckets;
  law.output_symbols = kBuckets;
  law.input = [](std::int64_t length, Rng& rng) { return uniform_symbols(length, kBuckets, rng); };
  law.output = repeated<bucket_sort_repeats>;
  law.repeats = bucket_sort_repeats;
  law.blanks = as_many_blanks;
  return make_formal(entry, resolved, law,
                     {{"ascending", {1, 0, 2, 0, 4, 1, 1, 2}, {0, 0, 1, 1, 1, 2, 2, 4}},
                      {"symbols that do not occur leave no gap", {4, 4, 0}, {0, 4, 4}}});
}

Symbols stack_input(std::int64_t length, Rng& rng) {
  if (length == 1) return bits(1, rng);
  const std::int64_t held = rng.between(1, length - 1);
  Symbols input = bits(held, rng);
  for (std::int64_t i = held; i < length; ++i) input.push_back(kPop + static_cast<std::int32_t>(rng.below(3)));
  return input;
}

Symbols stack_output(std::span<const std::int32_t> input) {
  Symbols stack;
  for (const std::int32_t symbol : input) {
    if (symbol == kPop) {
      if (!stack.empty()) stack.pop_back();
    } else {
      stack.push_back(symbol == kPush0 ? 0 : symbol == kPush1 ? 1 : symbol);
    }
  }
  std::reverse(stack.begin(), stack.end());
  stack.push_back(kStackEnd);
  return stack;
}

std::unique_ptr<Task> make_stack_manipulation(const TaskEntry& entry, const TaskParameters& resolved,
                                              const TaskResources&) {
  FormalLaw law;
  law.symbols = 5;
  law.output_symbols = 3;
  law.input = stack_input;
  law.output = stack_output;
  law.blanks = [](std::int64_t input_tokens) { return input_tokens + 1; };
  return make_formal(
      entry, resolved, law,
      {{"0110, push 1, pop, pop leaves 011, read from the top; 2 ends it", {0, 1, 1, 0, 4, 2, 2}, {1, 1, 0, 2}},
       {"110, four pops: the last finds an empty stack", {1, 1, 0, 2, 2, 2, 2}, {2}}},
      {{{0, 2}, {2}},
       {{0, 3}, {0, 0, 2}},
       {{0, 4}, {1, 0, 2}},
       {{1, 2}, {2}},
       {{1, 3}, {0, 1, 2}},
       {{1, 4}, {1, 1, 2}}});
}

}  // namespace

const TaskEntry& even_pairs_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made = entry_of("even-pairs", "even pairs", "is the number of unequal neighbours of a bit string odd?");
    made.make = make_even_pairs;
    return made;
  }();
  return entry;
}

const TaskEntry& cycle_navigation_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made =
        entry_of("cycle-navigation", "cycle navigation", "where a walk of steps -1, 0, +1 ends on a cycle of 5");
    made.make = make_cycle_navigation;
    return made;
  }();
  return entry;
}

const TaskEntry& missing_duplicate_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made =
        entry_of("missing-duplicate", "missing duplicate", "a bit string twice with one bit blanked: which bit?");
    made.make = make_missing_duplicate;
    return made;
  }();
  return entry;
}

const TaskEntry& odds_first_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made = entry_of("odds-first", "odds first (as its code does it)",
                              "every second bit from the second on, then the others");
    made.make = make_odds_first;
    return made;
  }();
  return entry;
}

const TaskEntry& duplicate_string_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made = entry_of("duplicate-string", "duplicate string", "a bit string, twice");
    made.make = make_duplicate_string;
    return made;
  }();
  return entry;
}

const TaskEntry& bucket_sort_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made = entry_of("bucket-sort", "bucket sort", "symbols of an alphabet of five in ascending order");
    made.make = make_bucket_sort;
    return made;
  }();
  return entry;
}

const TaskEntry& stack_manipulation_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made =
        entry_of("stack-manipulation", "stack manipulation", "the stack after pops and pushes, read from the top");
    made.make = make_stack_manipulation;
    return made;
  }();
  return entry;
}

}  // namespace lenbench
