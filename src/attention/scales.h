// Query scales: the first half of a transform, one table entry each.
// Letters: B rows of a batch, T tokens, E width of the block input, S scaled heads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "attention/transform.h"

namespace lenbench {

struct QueryScale {
  const char* name;  // TransformSpec::scale
  std::vector<TransformParameter> (*parameters)(const TransformSpec&, std::int64_t num_scaled,
                                                std::int64_t hidden_size);
  // [B, T, S] or [1, T, S], or with 1 in place of S where it is the same for every head. `log_n_BT1` is ln(i + 2) in
  // double.
  at::Tensor (*factor)(const TransformSpec&, const TransformWeights&, const at::Tensor& hidden_BTE,
                       const at::Tensor& log_n_BT1);
};

// The entry for a name; null for "none". Throws Error for an unknown name.
const QueryScale* find_scale(const std::string& name);

// The weight of that name; std::invalid_argument when it is missing.
const at::Tensor& weight_named(const TransformWeights& weights, const std::string& name);

}  // namespace lenbench
