// The reference path: readable ATen in query blocks, never rows x keys at once.
#pragma once

#include <ATen/core/Tensor.h>

#include "attention/attend.h"
#include "attention/row_stats.h"

namespace lenbench {

struct ReferenceResult {
  at::Tensor out_BHQD;
  RowStatistics rows;  // [B, H, Q]; undefined tensors unless asked for
};

// The request's shapes were checked. `first_key`: keys and values passed start at that absolute position and every key
// before it counts as having weight 0 (0: all keys are there).
ReferenceResult attend_reference(const AttendRequest& request, bool want_rows, std::int64_t first_key = 0);

// Hands the statistics of a request's rows to whoever asked for them.
void report_rows(const AttendRequest& request, const RowStatistics& rows);

// Marks the `count` largest entries of each row among those above -inf; equal scores go to the lower key.
at::Tensor largest_entries(const at::Tensor& scores_BHQK, std::int64_t count);

}  // namespace lenbench
