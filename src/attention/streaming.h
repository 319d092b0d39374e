// The streaming path: the kernels room on tensors, with gradients for training.
#pragma once

#include "attention/attend.h"

namespace lenbench {

// Rows and keys up to which training materialises weights in the fused kernels.
inline constexpr std::int64_t kMaxTrainingRows = 4096;

// Error where the environment names an instruction set for the kernels that the CPU lacks.
void check_instruction_set();

// True when attend must record a gradient for the request.
bool wants_gradient(const AttendRequest& request);

// The request's shapes were checked and uncovered_by_streaming is empty. Adds to request.stats.
at::Tensor attend_streaming(const AttendRequest& request);

}  // namespace lenbench
