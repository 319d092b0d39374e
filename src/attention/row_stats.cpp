// Row statistics of attention weights and their sums over rows.
#include "attention/row_stats.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>

#include <algorithm>

namespace lenbench {
namespace {

// Sum over batch and queries of a [B, H, Q] tensor where `mask_B1Q` holds: [H] on the CPU.
std::vector<double> sum_per_head(const at::Tensor& values_BHQ, const at::Tensor& mask_B1Q) {
  const at::Tensor sums =
      at::where(mask_B1Q, values_BHQ.to(at::kDouble), 0.0).sum(at::IntArrayRef({0, 2})).cpu().contiguous();
  return {sums.data_ptr<double>(), sums.data_ptr<double>() + sums.numel()};
}

}  // namespace

RowStatistics row_statistics(const at::Tensor& weights_BHQK, const at::Tensor& source_keys_BQ) {
  at::NoGradGuard no_grad;
  const at::Tensor p = weights_BHQK.to(at::kDouble);
  // A view of the first column would keep all weights.
  RowStatistics rows{-at::xlogy(p, p).sum(-1), at::gt(p, 0.0).sum(-1), p.select(-1, 0).clone(), p.amax({-1}), {}};
  if (source_keys_BQ.defined()) {
    const at::Tensor column_B1Q1 = at::clamp_min(source_keys_BQ, 0).unsqueeze(1).unsqueeze(-1);
    const at::Tensor mass = p.gather(-1, column_B1Q1.expand({p.size(0), p.size(1), p.size(2), 1})).squeeze(-1);
    rows.source = at::where(at::ge(source_keys_BQ, 0).unsqueeze(1), mass, 0.0);
  }
  return rows;
}

RowStatistics join_rows(const std::vector<RowStatistics>& blocks) {
  RowStatistics joined;
  for (const auto field : kRowStatistics) {
    std::vector<at::Tensor> parts;
    for (const RowStatistics& block : blocks) {
      if ((block.*field).defined()) parts.push_back((block.*field).to(at::kDouble));
    }
    if (!parts.empty()) joined.*field = at::cat(parts, 2);
  }
  return joined;
}

void add_statistics(const RowStatistics& rows, const at::Tensor& positions_BQ, const at::Tensor& counted_BQ,
                    const at::Tensor& source_keys_BQ, std::vector<HeadStats>& heads) {
  at::NoGradGuard no_grad;
  const at::Tensor positions = positions_BQ.expand({rows.entropy.size(0), rows.entropy.size(2)});
  at::Tensor counted = at::ge(positions, 0);
  if (counted_BQ.defined()) counted = at::logical_and(counted, counted_BQ);
  const at::Tensor normalizable = at::logical_and(counted, at::ge(positions, 1));
  at::Tensor sourced;
  if (source_keys_BQ.defined()) sourced = at::logical_and(counted, at::ge(source_keys_BQ, 0)).unsqueeze(1);
  const std::int64_t num_rows = counted.sum().item<std::int64_t>();
  const std::int64_t num_normalizable = normalizable.sum().item<std::int64_t>();
  counted = counted.unsqueeze(1);
  const at::Tensor log_visible = at::log(positions.to(at::kDouble) + 1.0).unsqueeze(1);
  const std::vector<double> entropy = sum_per_head(rows.entropy, counted);
  const std::vector<double> normalized =
      sum_per_head(rows.entropy.to(at::kDouble) / log_visible, normalizable.unsqueeze(1));
  const std::vector<double> support = sum_per_head(rows.support, counted);
  const std::vector<double> sink = sum_per_head(rows.sink, counted);
  const std::vector<double> top = sum_per_head(rows.top, counted);
  std::vector<double> source(heads.size());
  std::int64_t num_sourced = 0;
  if (sourced.defined()) {
    num_sourced = sourced.sum().item<std::int64_t>();
    source = sum_per_head(rows.source, sourced);
  }
  for (std::size_t h = 0; h < heads.size(); ++h) {
    heads[h].rows += num_rows;
    heads[h].normalized_rows += num_normalizable;
    heads[h].entropy += entropy[h];
    heads[h].normalized_entropy += normalized[h];
    heads[h].support += support[h];
    heads[h].sink_mass += sink[h];
    heads[h].top_mass += top[h];
    heads[h].source_rows += num_sourced;
    heads[h].source_mass += source[h];
  }
}

void add_scales(const at::Tensor& scale_BHQ, const at::Tensor& counted_BQ, std::vector<HeadStats>& heads) {
  at::NoGradGuard no_grad;
  const std::int64_t rows = counted_BQ.sum().item<std::int64_t>();
  std::vector<double> sums(heads.size(), static_cast<double>(rows));
  if (scale_BHQ.defined()) {
    const at::Tensor expanded = scale_BHQ.expand({counted_BQ.size(0), scale_BHQ.size(1), counted_BQ.size(1)});
    sums = sum_per_head(expanded, counted_BQ.unsqueeze(1));
  }
  for (std::size_t h = 0; h < heads.size(); ++h) {
    heads[h].scaled_rows += rows;
    heads[h].scale += sums[h];
  }
}

void add_by_position(const RowStatistics& rows, const at::Tensor& counted_BT,
                     std::vector<std::vector<HeadStats>>& buckets) {
  const std::int64_t tokens = rows.entropy.size(2);
  const at::Tensor positions_1T = at::arange(tokens, counted_BT.options().dtype(at::kLong)).unsqueeze(0);
  for (std::size_t bucket = 0; bucket_first(bucket) < tokens; ++bucket) {
    const std::int64_t begin = bucket_first(bucket), end = std::min(tokens, bucket_last(bucket) + 1);
    RowStatistics part;
    for (const auto field : kRowStatistics) {
      if ((rows.*field).defined()) part.*field = (rows.*field).slice(2, begin, end);
    }
    if (buckets.size() <= bucket) {
      buckets.resize(bucket + 1, std::vector<HeadStats>(static_cast<std::size_t>(rows.entropy.size(1))));
    }
    add_statistics(part, positions_1T.slice(1, begin, end), counted_BT.slice(1, begin, end), {}, buckets[bucket]);
  }
}

}  // namespace lenbench
