// Which answers were right, where samples hold several: Record::sample_answers and Record::answer_outcomes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/record.h"

namespace lenbench {

// Outcomes of all samples' answers in order as hexadecimal digits, four answers a digit, the first in the highest bit;
// the last digit is filled with 0.
std::string pack_answers(const std::vector<bool>& right);
// The first `count` of them. Requires as many digits.
std::vector<bool> unpack_answers(const std::string& digits, std::int64_t count);

// Whether the Record says of each answer whether it was right: in answer_outcomes, or, where every sample is one answer
// and nothing else, in outcomes.
bool knows_answers(const Record& record);

// Right answers of each sample, in index order; empty unless knows_answers(). Requires a Record that was checked.
std::vector<std::int64_t> right_answers(const Record& record);

// What is wrong with the two fields, or with them beside measurement.answer; empty when nothing is.
std::string answer_outcomes_problem(const Record& record);

}  // namespace lenbench
