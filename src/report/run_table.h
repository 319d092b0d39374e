// The table at the end of `lenbench run`: accuracy and dispersion of one subject side by side.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace lenbench {

// Markdown, one table for each task and subject in `records`, in order of appearance; lines ascending by length. Exact-
// match tasks: length, effective tokens, n, exact, answer accuracy with interval, mean normalized entropy (positionless
// / positional heads), support, seconds. Perplexity: length, windows, tokens, perplexity with interval, bits per byte,
// entropy, support, seconds. Skipped and failed Cells show dashes and a numbered reason. Every Record is a line:
// nothing is averaged over seeds here. Ends in one LF; empty for no records.
std::string run_table(const std::vector<Record>& records);

}  // namespace lenbench
