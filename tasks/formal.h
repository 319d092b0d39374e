// Formal-language tasks (Chomsky-hierarchy suite, arXiv 2207.02098): one layout, and for each task a law of inputs and
// a function from input to output.
//
// Layout, the same for all: BOS, the input, SEP, then one blank (the mask id) for each output token. The output is read
// at the rows of the blanks, blank i giving output token i; nothing is fed back, so an answer cannot lean on the one
// before it. The number of blanks depends on the length alone; where an output ends early with its end symbol, the
// blanks after it are fed and not judged. Every output token is an answer of its own (the suite's score is the share of
// right tokens), and `exact` asks for all of them.
//
// Ids: the symbols of input and output share 0 .. symbols - 1; then pad, bos, eos, mask, sep.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tasks/entry.h"

namespace lenbench {

using Symbols = std::vector<std::int32_t>;

// What makes one task of the suite. All functions are pure.
struct FormalLaw {
  std::int32_t symbols = 2;         // of input and output together
  std::int32_t output_symbols = 2;  // that an answer can be: 1 / output_symbols is chance
  std::int64_t min_length = 1;
  std::int64_t max_length = kMaxLength;
  bool odd_input = false;  // an even length gives an input of one symbol less
  // An input of `length` symbols (or one less, see above).
  Symbols (*input)(std::int64_t length, Rng& rng) = nullptr;
  // The judged output tokens, at most `blanks(input size)` of them.
  Symbols (*output)(std::span<const std::int32_t> input) = nullptr;
  // For each output token the place in the input of the symbol that it repeats; none where outputs are computed.
  std::vector<std::int64_t> (*repeats)(std::span<const std::int32_t> input) = nullptr;
  // Blanks for an input of this many symbols.
  std::int64_t (*blanks)(std::int64_t input_tokens) = nullptr;
};

// An input and its output with the reason for it, worked by hand.
struct FormalExample {
  const char* note;
  Symbols input, output;
};

// A row of the truth table, worked by hand.
struct FormalRow {
  Symbols input, output;
};

// The task of `law`. Requires two examples. `table`: every input of the smallest length that says something; empty
// where there are too many.
std::unique_ptr<Task> make_formal(const TaskEntry& entry, const TaskParameters& resolved, const FormalLaw& law,
                                  const std::vector<FormalExample>& examples, const std::vector<FormalRow>& table = {});

// "distributional: NAME of the Chomsky-hierarchy suite ...", with what is ours, as every task of the suite says it.
std::string formal_comparability(const std::string& original);

// `count` symbols of 0 .. symbols - 1, independent and uniform.
Symbols uniform_symbols(std::int64_t count, std::int32_t symbols, Rng& rng);
std::int64_t one_blank(std::int64_t input_tokens);
std::int64_t as_many_blanks(std::int64_t input_tokens);

}  // namespace lenbench
