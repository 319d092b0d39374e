// A second decoder, written from the formulas (paper.md 1 and 3.1) with scalar loops in double and no tensor library:
// what the model room is checked against.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/config.h"

namespace lenbench {

using PlainWeights = std::map<std::string, std::vector<double>>;

struct PlainResult {
  std::vector<std::vector<double>> logits;                // [T][V]
  std::vector<std::vector<std::vector<double>>> entropy;  // [layer][head][T], nats
  std::vector<std::vector<std::vector<int>>> support;     // [layer][head][T], keys with a positive weight
};

PlainResult plain_forward(const DecoderConfig& config, const PlainWeights& weights,
                          const std::vector<std::int32_t>& tokens);

}  // namespace lenbench
