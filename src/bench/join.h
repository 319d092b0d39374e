// Parts of a Cell joined into the Record that one process would have written.
#pragma once

#include <span>

#include "record/record.h"

namespace lenbench {

// The Record of the whole Cell. Requires parts of one plan that cover the Cell's samples in order and without gap.
// Counts, outcomes and answers are those of a single process exactly, sums of reals to rounding. Seconds add up,
// peak_bytes and threads are the largest, started_at is the earliest.
Record join_parts(std::span<const Record* const> parts);

}  // namespace lenbench
