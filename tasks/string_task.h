// The frame that `copy`, `reverse` and `sort` share: a string, then a rearrangement of it.
//
// Fed: BOS, L symbols, SEP, the L symbols of the answer; the end token is judged and not fed. Ids: symbols 0..S-1, then
// pad, bos, eos, mask, sep. Each symbol of the answer is one answer; exact match needs all of them and the end token.
// Layout and scoring of ASEntmax (arXiv 2506.16640): `[BOS] source [SEP] target [EOS]`, loss on target and EOS.
#pragma once

#include <memory>
#include <vector>

#include "tasks/entry.h"

namespace lenbench {

// For each place of the answer, the place in `source` that its symbol comes from: a permutation.
using SourceOrder = std::vector<std::int64_t> (*)(std::span<const std::int32_t> source);

struct StringRule {
  SourceOrder order;
  std::vector<WorkedExample> examples;  // for 32 symbols
  std::vector<std::int32_t> table;      // the answers to 00, 01, 10 and 11, two symbols each
};

// The parameters of a string task: `symbols`, 32 as published.
std::vector<ParameterSpec> string_parameters();
std::unique_ptr<Task> make_string_task(const TaskEntry& entry, const TaskParameters& resolved, const StringRule& rule);

}  // namespace lenbench
