// A task for people and scripts: `show --explain TASK`.
#pragma once

#include <string>

#include "tasks/task.h"

namespace lenbench::cli {

// The rule, level of comparability, published parameters, vocabulary, parameters with their defaults, truth table where
// there is one, and two worked examples.
std::string explain_text(const Task& task);
// The same as one line of JSON, without a line feed.
std::string explain_json(const Task& task);

}  // namespace lenbench::cli
