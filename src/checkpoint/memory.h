// How much memory an evaluation of a decoder will take: known from its configuration, before anything is loaded.
#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"

namespace lenbench {

// Logits that are held at a time, in bytes of their type (a single row may be more).
inline constexpr std::int64_t kLogitBytes = std::int64_t{8} << 20;

// True for models of sets and for checkpoints of up to 64 MiB: they are converted when they are loaded. Larger ones
// stay in their mapped files, at their stored type, until a layer is computed: a model takes its stored bytes, which
// the system may even take back.
bool converts_when_loaded(const Checkpoint& checkpoint);

// Rows that an evaluation passes through projections and MLP at a time, per batch row.
std::int64_t evaluation_chunk_tokens(const DecoderConfig& config, std::int64_t batch);

// Predicted peak bytes above the loaded model for `batch` samples of `tokens` tokens with `judged` judged rows each,
// with elements of `element_bytes` (4 or 8); of each of `ranks` processes that divide the rows of every sample.
std::int64_t predicted_evaluation_bytes(const DecoderConfig& config, std::int64_t element_bytes, std::int64_t batch,
                                        std::int64_t tokens, std::int64_t judged, int ranks = 1);

// Bytes of all tensors as they are stored.
std::int64_t stored_bytes(const Checkpoint& checkpoint);

// Bytes of weights that are converted while an evaluation needs them, for elements of `element_bytes`; 0 for
// checkpoints that are converted when they are loaded.
std::int64_t converted_bytes(const Checkpoint& checkpoint, std::int64_t element_bytes);

// Floating-point operations of one pass over `tokens` tokens with `judged` judged rows, a multiplication and an
// addition being two: of the attention (scores and weighted values of visible keys) and of all else (projections, MLP,
// output).
struct Operations {
  double attention = 0, rest = 0;
};
Operations evaluation_operations(const DecoderConfig& config, std::int64_t tokens, std::int64_t judged);

}  // namespace lenbench
