// Formal-language tasks on binary numbers. What the suite's text leaves open:
//
//   binary-addition, binary-multiplication  two numbers, lowest bit first, with the operator 2 between; the length of
//       the first is uniform over 1 .. L - 2 and each number uniform over 1 .. 2^length - 1, filled up with 0. The
//       output is the result, lowest bit first, without high zeros, then the end symbol 2. Lengths below 3, where there
//       are no two numbers and the original's answers are arbitrary, are refused.
//   compute-sqrt                            a number of 1 .. 2^L - 1, highest bit first; the output is the whole part
//       of its square root on ceil(L / 2) bits, highest first.
#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>

#include "tasks/formal.h"

namespace lenbench {
namespace {

using Number = boost::multiprecision::cpp_int;

constexpr std::int32_t kOperator = 2, kEnd = 2;
constexpr std::int64_t kLongest = std::int64_t{1} << 20;  // of a product or root

// Bits with the lowest first.
Number number_of(std::span<const std::int32_t> bits) {
  Number number;
  std::vector<unsigned char> bytes((bits.size() + 7) / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] == 1) bytes[i / 8] = static_cast<unsigned char>(bytes[i / 8] | (1U << (i % 8)));
  }
  boost::multiprecision::import_bits(number, bytes.begin(), bytes.end(), 8, false);
  return number;
}

// The lowest `count` bits, the lowest first.
Symbols bits_of(const Number& number, std::int64_t count) {
  std::vector<unsigned char> bytes;
  boost::multiprecision::export_bits(number, std::back_inserter(bytes), 8, false);
  Symbols bits(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < std::min(bits.size(), 8 * bytes.size()); ++i) bits[i] = (bytes[i / 8] >> (i % 8)) & 1;
  return bits;
}

// Uniform over the bit strings of this length that are not all 0.
Symbols positive_bits(std::int64_t length, Rng& rng) {
  while (true) {
    Symbols bits = uniform_symbols(length, 2, rng);
    if (std::find(bits.begin(), bits.end(), 1) != bits.end()) return bits;
  }
}

Symbols two_numbers(std::int64_t length, Rng& rng) {
  const std::int64_t first = rng.between(1, length - 2);
  Symbols input = positive_bits(first, rng);
  input.push_back(kOperator);
  const Symbols second = positive_bits(length - 1 - first, rng);
  input.insert(input.end(), second.begin(), second.end());
  return input;
}

Symbols result_of(std::span<const std::int32_t> input, Number (*operation)(const Number&, const Number&)) {
  const auto middle = std::find(input.begin(), input.end(), kOperator);
  if (middle == input.end()) return {};
  const Number result = operation(number_of({input.begin(), middle}), number_of({middle + 1, input.end()}));
  Symbols output = bits_of(result, result == 0 ? 0 : static_cast<std::int64_t>(msb(result)) + 1);
  output.push_back(kEnd);
  return output;
}

Symbols sum_output(std::span<const std::int32_t> input) {
  return result_of(input, [](const Number& a, const Number& b) { return Number(a + b); });
}
Symbols product_output(std::span<const std::int32_t> input) {
  return result_of(input, [](const Number& a, const Number& b) { return Number(a * b); });
}

// The whole part of the square root. From the highest bits down, each step doubles the bits of the root with one
// division (Newton's step), so that the whole costs little more than its last division; one too many is taken back.
Number square_root(const Number& number) {
  if (number == 0) return 0;
  const auto bits = static_cast<std::int64_t>(msb(number)) / 2;  // of the root, but its highest
  Number root = 1;
  std::int64_t have = 0;
  for (int shift = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bits))) - 1; shift >= 0; --shift) {
    const std::int64_t before = have;
    have = bits >> shift;
    const Number high = number >> static_cast<unsigned>(2 * bits - before - have + 1);
    root = (root << static_cast<unsigned>(have - before - 1)) + high / root;
  }
  return root * root > number ? Number(root - 1) : root;
}

Symbols root_output(std::span<const std::int32_t> input) {
  const Symbols low_first(input.rbegin(), input.rend());
  const Number root = square_root(number_of(low_first));
  Symbols output = bits_of(root, static_cast<std::int64_t>(input.size() + 1) / 2);
  std::reverse(output.begin(), output.end());
  return output;
}

FormalLaw two_number_law() {
  FormalLaw law;
  law.symbols = 3;
  law.output_symbols = 3;
  law.min_length = 3;
  law.input = two_numbers;
  return law;
}

std::unique_ptr<Task> make_addition(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  FormalLaw law = two_number_law();
  law.output = sum_output;
  law.blanks = [](std::int64_t input_tokens) { return input_tokens + 1; };
  return make_formal(entry, resolved, law,
                     {{"4 + 22 = 26", {0, 0, 1, kOperator, 0, 1, 1, 0, 1}, {0, 1, 0, 1, 1, kEnd}},
                      {"9 + 32 = 41", {1, 0, 0, 1, kOperator, 0, 0, 0, 0, 0, 1}, {1, 0, 0, 1, 0, 1, kEnd}}},
                     {{{1, kOperator, 1, 0}, {0, 1, kEnd}},
                      {{1, kOperator, 0, 1}, {1, 1, kEnd}},
                      {{1, kOperator, 1, 1}, {0, 0, 1, kEnd}},
                      {{1, 0, kOperator, 1}, {0, 1, kEnd}},
                      {{0, 1, kOperator, 1}, {1, 1, kEnd}},
                      {{1, 1, kOperator, 1}, {0, 0, 1, kEnd}}});
}

std::unique_ptr<Task> make_multiplication(const TaskEntry& entry, const TaskParameters& resolved,
                                          const TaskResources&) {
  FormalLaw law = two_number_law();
  law.max_length = kLongest;
  law.output = product_output;
  law.blanks = as_many_blanks;
  return make_formal(entry, resolved, law,
                     {{"4 * 22 = 88", {0, 0, 1, kOperator, 0, 1, 1, 0, 1}, {0, 0, 0, 1, 1, 0, 1, kEnd}},
                      {"1 * 1 = 1", {1, kOperator, 1}, {1, kEnd}}},
                     {{{1, kOperator, 1, 0}, {1, kEnd}},
                      {{1, kOperator, 0, 1}, {0, 1, kEnd}},
                      {{1, kOperator, 1, 1}, {1, 1, kEnd}},
                      {{1, 0, kOperator, 1}, {1, kEnd}},
                      {{0, 1, kOperator, 1}, {0, 1, kEnd}},
                      {{1, 1, kOperator, 1}, {1, 1, kEnd}}});
}

std::unique_ptr<Task> make_root(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources&) {
  FormalLaw law;
  law.max_length = kLongest;
  law.input = positive_bits;
  law.output = root_output;
  law.blanks = [](std::int64_t input_tokens) { return (input_tokens + 1) / 2; };
  return make_formal(entry, resolved, law,
                     {{"the square root of 37 is 6.08..., 6 on three bits", {1, 0, 0, 1, 0, 1}, {1, 1, 0}},
                      {"the square root of 7 is 2.64..., 2 on two bits", {1, 1, 1}, {1, 0}}},
                     {{{0, 0, 1}, {0, 1}},
                      {{0, 1, 0}, {0, 1}},
                      {{0, 1, 1}, {0, 1}},
                      {{1, 0, 0}, {1, 0}},
                      {{1, 0, 1}, {1, 0}},
                      {{1, 1, 0}, {1, 0}},
                      {{1, 1, 1}, {1, 0}}});
}

}  // namespace

const TaskEntry& binary_addition_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "binary-addition";
    made.comparability = formal_comparability("binary addition");
    made.summary = "the sum of two binary numbers, lowest bit first";
    made.make = make_addition;
    return made;
  }();
  return entry;
}

const TaskEntry& binary_multiplication_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "binary-multiplication";
    made.comparability = formal_comparability("binary multiplication");
    made.summary = "the product of two binary numbers, lowest bit first";
    made.make = make_multiplication;
    return made;
  }();
  return entry;
}

const TaskEntry& compute_sqrt_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "compute-sqrt";
    made.comparability = formal_comparability("square root");
    made.summary = "the whole part of a binary number's square root, highest bit first";
    made.make = make_root;
    return made;
  }();
  return entry;
}

}  // namespace lenbench
