// A task proves itself: models with known scores answer it, and its own solver does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "record/record.h"
#include "tasks/task.h"

namespace lenbench {

struct SelfCheck {
  std::string skipped;                // one line: why the length cannot be asked; else empty
  std::vector<std::string> problems;  // one line each; none: the task is sound at this length
  // What can be had without the task's rule. Exact match: Records of blind, last-value and most-frequent; perplexity:
  // of uniform.
  std::vector<Record> floors;
  std::vector<Record> ends;  // Records of oracle and echo
};

// Asks `samples` samples of the test split at `length`. What must hold: the oracle is right throughout (perplexity 1);
// an echo is right nowhere; blind guesses are at the task's chance, within the exact binomial bound of probability 1e-6
// (so low because hundreds of cells are checked in one go); no shortcut has every answer; uniform has the vocabulary
// as its perplexity; Task::solve gives the targets. `started_at` goes into the Records.
SelfCheck self_check(const std::shared_ptr<const Task>& task, std::int64_t length, std::int64_t samples,
                     const std::string& started_at);

}  // namespace lenbench
