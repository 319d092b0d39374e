// From weights or per-row statistics to the running sums of a probe. Sums are double, whatever the weights' type.
// Letters: B rows of a batch, H heads, Q queries, K keys.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

#include "bench/predictor.h"

namespace lenbench {

// One value per row, [B, H, Q], any floating type.
struct RowStatistics {
  at::Tensor entropy;  // nats, 0 ln 0 = 0
  at::Tensor support;  // keys with p > 0
  at::Tensor sink;     // p of key 0
  at::Tensor top;      // largest p
  at::Tensor source;   // p of the row's source key, 0 where it has none; undefined where no sources were named
};

// Every field, for code that treats them alike.
inline constexpr std::array<at::Tensor RowStatistics::*, 5> kRowStatistics = {
    &RowStatistics::entropy, &RowStatistics::support, &RowStatistics::sink, &RowStatistics::top,
    &RowStatistics::source};

// From complete rows of weights [B, H, Q, K]. `source_keys_BQ` (int64, undefined: none) are columns of K, -1: none.
RowStatistics row_statistics(const at::Tensor& weights_BHQK, const at::Tensor& source_keys_BQ = {});

// Blocks of rows, joined along Q.
RowStatistics join_rows(const std::vector<RowStatistics>& blocks);

// Adds rows where `counted_BQ` holds (undefined: all) and at least one key is visible (position >= 0) to heads [H].
// `source_keys_BQ` says which rows have a source; undefined: none has.
void add_statistics(const RowStatistics& rows, const at::Tensor& positions_BQ, const at::Tensor& counted_BQ,
                    const at::Tensor& source_keys_BQ, std::vector<HeadStats>& heads);

// Adds query scales [B, H, Q] (undefined: 1 everywhere) of the rows that `counted_BQ` names to heads [H].
void add_scales(const at::Tensor& scale_BHQ, const at::Tensor& counted_BQ, std::vector<HeadStats>& heads);

// Adds rows of a whole pass, [B, H, T] at positions 0..T-1, to heads [bucket][H] by position_bucket, where `counted_BT`
// holds; the list grows as needed.
void add_by_position(const RowStatistics& rows, const at::Tensor& counted_BT,
                     std::vector<std::vector<HeadStats>>& buckets);

}  // namespace lenbench
