// Random members of the model family, and views of them that tests compare.
#pragma once

#include <cstdint>
#include <vector>

#include "model/decoder.h"
#include "plain_decoder.h"

namespace lenbench {

// The `index`-th configuration of a fixed pseudo-random sequence: every position encoding, scale and normalizer occurs
// within 40, with varying sizes, grouped heads, slopes, deltas and ranges. `reference_only`: of the reference's family.
DecoderConfig random_config(int index, bool reference_only = false);

// A model with weights large enough that attention is neither uniform nor one-hot; norm weights, scale parameters and
// biases are drawn too.
Decoder random_decoder(const DecoderConfig& config, std::uint64_t seed, at::ScalarType dtype);

PlainWeights plain_weights(const Decoder& decoder);

std::vector<std::int32_t> random_tokens(std::int64_t length, std::int64_t vocab, std::uint64_t seed);

// int64 [1, T].
at::Tensor tokens_tensor(const std::vector<std::int32_t>& tokens);

}  // namespace lenbench
