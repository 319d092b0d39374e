// Every task solved a second time: by programs that read a prompt from left to right and know nothing of the task's
// code. They must agree with the sample and with Task::solve on 10,000 samples at several lengths.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>

#include "cases.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

using Tokens = std::vector<std::int32_t>;
// From everything fed to the targets of all judged rows.
using Program = std::function<Tokens(const Tokens&)>;

Tokens string_of(const Tokens& fed) {
  Tokens source;
  for (std::size_t t = 1; fed.at(t) != 36; ++t) source.push_back(fed[t]);
  return source;
}

Tokens copied(const Tokens& fed) {
  Tokens answer = string_of(fed);
  answer.push_back(34);
  return answer;
}

Tokens reversed(const Tokens& fed) {
  std::deque<std::int32_t> stack;
  for (const std::int32_t symbol : string_of(fed)) stack.push_front(symbol);
  Tokens answer(stack.begin(), stack.end());
  answer.push_back(34);
  return answer;
}

Tokens sorted(const Tokens& fed) {
  Tokens answer = string_of(fed);
  for (std::size_t i = 1; i < answer.size(); ++i) {
    for (std::size_t j = i; j > 0 && answer[j - 1] > answer[j]; --j) std::swap(answer[j - 1], answer[j]);
  }
  answer.push_back(34);
  return answer;
}

Tokens two_back(const Tokens& fed) {
  std::deque<std::int32_t> window = {0, 0};
  Tokens labels;
  for (std::size_t t = 1; t < fed.size(); ++t) {
    labels.push_back(window.front());
    window.pop_front();
    window.push_back(fed[t]);
  }
  return labels;
}

Tokens counted(const Tokens& fed) {
  Tokens labels;
  std::int32_t count = 0;
  for (std::size_t t = 1; t < fed.size(); ++t) {
    count = fed[t] == fed[t - 1] ? count + 1 : 0;
    labels.push_back(count);
  }
  return labels;
}

Tokens remembered(const Tokens& fed) {
  std::int32_t memory = -1;
  for (std::size_t t = 1; fed.at(t) != 4; t += 2) {
    if (fed[t] == 2) memory = fed[t + 1];
  }
  return {memory, 7};
}

Tokens even(const Tokens& fed) {
  bool is_even = true;
  for (std::size_t t = 1; fed.at(t) != 6; ++t) is_even = is_even != (fed[t] == 1);
  return {is_even ? 1 : 0, 4};
}

// Reads `k1 k2 1 v1 v2` whatever the blanks between; then `2 k1 k2` up to SEP.
Tokens associated(const Tokens& fed) {
  std::map<std::pair<int, int>, std::pair<int, int>> memory;
  Tokens answer;
  std::size_t t = 1;
  while (fed.at(t) == 0) ++t;
  while (fed.at(t) != 2) {
    memory[{fed[t], fed[t + 1]}] = {fed[t + 3], fed[t + 4]};
    EXPECT_EQ(fed[t + 2], 1);
    t += 5;
    while (fed.at(t) == 0) ++t;
  }
  for (; fed.at(t) != 264; t += 3) {
    const auto& [first, second] = memory.at({fed[t + 1], fed[t + 2]});
    answer.insert(answer.end(), {2, first, second});
  }
  answer.push_back(262);
  return answer;
}

// Default alphabets: filler 0..63, keys 64..319, values 320..383, query mark 384.
Tokens recalled(const Tokens& fed) {
  std::map<std::int32_t, std::int32_t> memory;
  Tokens answer;
  std::size_t t = 1;
  for (; fed.at(t) != 384; ++t) {
    if (fed[t] >= 64 && fed[t] < 320) memory[fed[t]] = fed[t + 1];
  }
  for (; t < fed.size(); t += 3) answer.push_back(memory.at(fed[t + 1]));
  return answer;
}

Tokens recalled_dense(const Tokens& fed) {
  std::map<std::pair<int, int>, std::int32_t> memory;
  Tokens answer;
  std::size_t t = 1;
  for (; fed.at(t) != 384; ++t) {
    if (fed[t] < 320 || fed[t] >= 384) continue;
    memory[{fed[t - 2], fed[t - 1]}] = fed[t];
  }
  for (; t < fed.size(); t += 4) answer.push_back(memory.at({fed[t + 1], fed[t + 2]}));
  return answer;
}

// Default alphabets: fill 0, keys below 4096, values above. Pairs first, then keys in slots, each judged at its place.
Tokens recalled_in_slots(const Tokens& fed) {
  std::map<std::int32_t, std::int32_t> memory;
  Tokens answer;
  std::size_t t = 1;
  for (; fed.at(t + 1) >= 4096; t += 2) memory[fed[t]] = fed[t + 1];
  for (; t < fed.size(); ++t) {
    if (fed[t] != 0) answer.push_back(memory.at(fed[t]));
  }
  return answer;
}

// Classes are below 10; the last number is the query.
Tokens class_of_largest(const Tokens& fed) {
  std::map<std::int32_t, std::int32_t> by_priority;
  for (std::size_t t = 1; t < fed.size(); ++t) {
    if (fed[t] < 10) by_priority[fed[t - 1]] = fed[t];
  }
  return {by_priority.rbegin()->second};
}

TEST(BruteForce, AgreesWithSolve) {
  const std::vector<std::pair<const char*, Program>> programs = {
      {"copy", copied},
      {"reverse", reversed},
      {"sort", sorted},
      {"nback", two_back},
      {"local-count", counted},
      {"flip-flop", remembered},
      {"flip-flop:write=80", remembered},
      {"parity", even},
      {"mqmtar", associated},
      {"mqmtar:fill=exact,slots=training", associated},
      {"mqmtar:queries-with=distinct", associated},
      {"recall", recalled},
      {"recall:max-distance=32", recalled},
      {"recall-dense", recalled_dense},
      {"mqar", recalled_in_slots},
      {"mqar:gap=uniform", recalled_in_slots},
      {"max-retrieval", class_of_largest},
  };
  for (const auto& [spec, program] : programs) {
    const std::unique_ptr<Task> task = make(spec);
    const std::vector<std::int64_t> lengths = {task->min_length(), 48, 64, 100, 157};
    for (std::uint64_t i = 0; i < 10000; ++i) {
      const std::int64_t length = std::max(lengths[i % lengths.size()], task->min_length());
      const Sample sample = draw(*task, length, i, i % 3, i % 2 == 0 ? Split::kTest : Split::kTrain);
      const Tokens expected = program(sample.tokens);
      ASSERT_EQ(targets_of(sample), expected) << spec << " " << length << " " << i;
      ASSERT_EQ(task->solve(sample.tokens, positions_of(sample)), expected) << spec << " " << length << " " << i;
    }
  }
}

}  // namespace
}  // namespace lenbench
