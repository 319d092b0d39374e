// How much memory an evaluation of a decoder will take: known from its configuration, before anything is loaded.
#pragma once

#include <cstdint>

#include "checkpoint/config.h"

namespace lenbench {

// Logits that are held at a time, in bytes of their type (a single row may be more).
inline constexpr std::int64_t kLogitBytes = std::int64_t{8} << 20;

// Rows that an evaluation passes through projections and MLP at a time, per batch row.
std::int64_t evaluation_chunk_tokens(const DecoderConfig& config, std::int64_t batch);

// Predicted peak bytes above the loaded model for `batch` samples of `tokens` tokens with `judged` judged rows each,
// with elements of `element_bytes` (4 or 8).
std::int64_t predicted_evaluation_bytes(const DecoderConfig& config, std::int64_t element_bytes, std::int64_t batch,
                                        std::int64_t tokens, std::int64_t judged);

}  // namespace lenbench
