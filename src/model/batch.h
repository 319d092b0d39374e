// From samples to what a decoder evaluates.
#pragma once

#include <span>

#include "model/decoder.h"
#include "tasks/task.h"

namespace lenbench {

// Tokens padded on the right to the longest sample, positions of the judged rows padded with -1 (at least one column),
// and lengths; nothing else is set. On the CPU. Requires at least one sample.
EvaluationRequest evaluation_request(std::span<const Sample> samples);

}  // namespace lenbench
