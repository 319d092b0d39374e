// From samples to what a decoder evaluates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/decoder.h"
#include "model/sequence_share.h"
#include "tasks/task.h"

namespace lenbench {

// For each sample, indices in Sample::scored, ascending.
using JudgedRowLists = std::vector<std::vector<std::size_t>>;

// The judged rows that `share` owns.
JudgedRowLists owned_rows(std::span<const Sample> samples, const SequenceShare& share);

// Tokens padded on the right to the longest sample, positions of the rows of `judged` padded with -1 (at least one
// column), and lengths; nothing else is set. On the CPU. Requires at least one sample.
EvaluationRequest evaluation_request(std::span<const Sample> samples, const JudgedRowLists& judged);
// Of all judged rows.
EvaluationRequest evaluation_request(std::span<const Sample> samples);

// Tokens of the longest.
std::int64_t longest(std::span<const Sample> samples);

}  // namespace lenbench
