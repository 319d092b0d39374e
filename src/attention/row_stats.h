// From weights or per-row statistics to the running sums of a probe. Sums are double, whatever the weights' type.
// Letters: B rows of a batch, H heads, Q queries, K keys.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "bench/predictor.h"

namespace lenbench {

// One value per row, [B, H, Q], any floating type.
struct RowStatistics {
  at::Tensor entropy;  // nats, 0 ln 0 = 0
  at::Tensor support;  // keys with p > 0
  at::Tensor sink;     // p of key 0
  at::Tensor top;      // largest p
};

// From complete rows of weights [B, H, Q, K].
RowStatistics row_statistics(const at::Tensor& weights_BHQK);

// Adds rows where `counted_BQ` holds (undefined: all) and at least one key is visible (position >= 0) to heads [H].
void add_statistics(const RowStatistics& rows, const at::Tensor& positions_BQ, const at::Tensor& counted_BQ,
                    std::vector<HeadStats>& heads);

}  // namespace lenbench
