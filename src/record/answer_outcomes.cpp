// Bits of answers as hexadecimal digits.
#include "record/answer_outcomes.h"

#include <algorithm>
#include <string_view>

namespace lenbench {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_right(const std::string& digits, std::size_t answer) {
  return (kDigits.find(digits[answer / 4]) >> (3 - answer % 4) & 1U) != 0;
}

}  // namespace

std::string pack_answers(const std::vector<bool>& right) {
  std::string digits;
  for (std::size_t i = 0; i < right.size(); i += 4) {
    std::size_t value = 0;
    for (std::size_t k = 0; k < 4; ++k) value = value << 1 | (i + k < right.size() && right[i + k] ? 1U : 0U);
    digits += kDigits[value];
  }
  return digits;
}

std::vector<bool> unpack_answers(const std::string& digits, std::int64_t count) {
  std::vector<bool> right;
  for (std::int64_t i = 0; i < count; ++i) right.push_back(is_right(digits, static_cast<std::size_t>(i)));
  return right;
}

bool knows_answers(const Record& record) {
  if (!record.sample_answers.empty()) return true;
  const std::optional<Proportion>& answer = record.measurement.answer;
  return answer && !record.outcomes.empty() && answer == record.measurement.exact;
}

std::vector<std::int64_t> right_answers(const Record& record) {
  std::vector<std::int64_t> counts;
  if (!knows_answers(record)) return counts;
  if (record.sample_answers.empty()) {
    for (const char outcome : record.outcomes) counts.push_back(outcome == '1' ? 1 : 0);
    return counts;
  }
  std::size_t answer = 0;
  for (const std::int64_t n : record.sample_answers) {
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < n; ++i) right += is_right(record.answer_outcomes, answer++) ? 1 : 0;
    counts.push_back(right);
  }
  return counts;
}

std::string answer_outcomes_problem(const Record& record) {
  const std::vector<std::int64_t>& answers = record.sample_answers;
  if (answers.empty()) return record.answer_outcomes.empty() ? "" : "answer_outcomes without sample_answers";
  if (std::ssize(answers) != record.measurement.samples) {
    return "sample_answers has " + std::to_string(answers.size()) + " entries for " +
           std::to_string(record.measurement.samples) + " samples";
  }
  if (record.answer_outcomes.find_first_not_of(kDigits) != std::string::npos) {
    return "answer_outcomes may hold only the digits 0 to 9 and a to f";
  }
  const std::int64_t digits = std::ssize(record.answer_outcomes);
  std::int64_t all = 0;
  for (const std::int64_t n : answers) {
    // Bounded by the digits that are there, so that no sum overflows.
    if (n < 0 || n > 4 * digits) return "sample_answers has " + std::to_string(n) + ", which answer_outcomes lacks";
    all += n;
  }
  if (digits != (all + 3) / 4) {
    return "answer_outcomes has " + std::to_string(digits) + " digits for " + std::to_string(all) + " answers";
  }
  std::int64_t right = 0;
  for (const std::int64_t n : right_answers(record)) right += n;
  const std::optional<Proportion>& answer = record.measurement.answer;
  if (!answer || answer->n != all || answer->right != right) {
    return "answer_outcomes counts " + std::to_string(right) + " right of " + std::to_string(all) +
           " answers, measurement.answer " +
           (answer ? std::to_string(answer->right) + " of " + std::to_string(answer->n) : std::string("none"));
  }
  return "";
}

}  // namespace lenbench
