// A model of sets: items are encoded each by itself, one query attends to them, and a classifier reads what it found.
// No order, no positions. It is the model of Max Retrieval (arXiv 2410.01104; arXiv 2506.16640, table 8).
//
// A DecoderConfig whose item_classes C is above 0 describes one; in config.json that key stands in the `lenbench`
// object. Ids below C are classes; id C + k is the number k / (vocab_size - C). A sample is number, class, number,
// class, ..., and the query's number at the end. One layer, no positions, width hidden_size, intermediate_size inside
// the encoders and the classifier; heads and transform as of a decoder's layer.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/config.h"

namespace lenbench {

// Throws Error opening with `where` for a configuration that is no such model. Requires item_classes > 0.
void check_set_model(const DecoderConfig& config, const std::string& where);

// tensor_specs() of such a model: the encoders of items and of the query, attention as in layer 0 of a decoder, the
// classifier. E hidden_size, I intermediate_size:
//   item_encoder.0 [I, C + 1], item_encoder.1 [E, I]; query_encoder.0 [I, 1], query_encoder.1 [E, I];
//   classifier.0 [I, E], classifier.1 [C, I]; each a weight and a bias, with GELU between the two.
std::vector<TensorSpec> set_tensor_specs(const DecoderConfig& config);

// Predicted peak bytes above the loaded model for `batch` samples of `tokens` tokens.
std::int64_t predicted_set_bytes(const DecoderConfig& config, std::int64_t element_bytes, std::int64_t batch,
                                 std::int64_t tokens);

}  // namespace lenbench
