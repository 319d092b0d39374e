// How much memory an evaluation will take, so that a run can be planned before it starts.
#pragma once

#include <cstdint>

#include "model/decoder.h"

namespace lenbench {

// Predicted peak bytes above the loaded model for Decoder::hidden and judge on `batch` rows of `tokens` tokens with
// `judged` judged rows each.
std::int64_t predicted_evaluation_bytes(const Decoder& decoder, std::int64_t batch, std::int64_t tokens,
                                        std::int64_t judged);

}  // namespace lenbench
