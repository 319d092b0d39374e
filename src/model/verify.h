// Comparison of a checkpoint with dumps of a reference implementation.
#pragma once

#include <string>

#include "bench/backend.h"

namespace lenbench {

// `expected_path`: a safetensors file with input_ids (I64 [B, T]) and logits (floating, [B, T, V]) of every row.
// `attention_path`: empty, or a JSON file with mean_normalized_entropy_layer_head [layers][heads] (mean over the batch
// and all query rows with at least two visible keys of H(p)/ln(visible keys)) and optionally
// mean_support_layer_head (mean over the batch and all query rows of the number of keys with p > 0). Throws Error when
// a file cannot be used or does not fit the model.
VerifyResult verify_checkpoint(const std::string& checkpoint_path, const std::string& expected_path,
                               const std::string& attention_path, const OpenOptions& options);

}  // namespace lenbench
