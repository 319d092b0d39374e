// What looks wrong about a checkpoint that can be used all the same.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace lenbench {

// One line each, without an end: tied weights stored twice, scaling factors that cannot be meant, tensors of several
// types, an index that was ignored, windows that change nothing, rows that depend on the length of the text.
std::vector<std::string> checkpoint_warnings(const Checkpoint& checkpoint);

// "BF16", or "BF16 (200 tensors), F32 (12 tensors)": the stored types, the most frequent first.
std::string stored_types(const Checkpoint& checkpoint);

}  // namespace lenbench
