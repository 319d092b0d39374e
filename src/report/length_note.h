// What a length label hides: how many tokens the samples really give.
#pragma once

#include <string>

#include "record/record.h"

namespace lenbench {

// Difference between label and tokens that is worth a note, relative to the label.
inline constexpr double kLengthTolerance = 0.10;

// "length 64: 78 tokens are given, 22 % more" when the tokens given (fed and not fed-back answers, mean over samples;
// for perplexity the longest window; the fact `items` where a length counts something else) differ from the nominal
// length by more than kLengthTolerance; else, or where a Record does not know them (no such fact), empty.
std::string length_note(const Record& record);

}  // namespace lenbench
