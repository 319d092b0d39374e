// Row statistics of attention weights and their sums over rows.
#include "attention/row_stats.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>

namespace lenbench {
namespace {

// Sum over batch and queries of a [B, H, Q] tensor where `mask_B1Q` holds: [H] on the CPU.
std::vector<double> sum_per_head(const at::Tensor& values_BHQ, const at::Tensor& mask_B1Q) {
  const at::Tensor sums =
      at::where(mask_B1Q, values_BHQ.to(at::kDouble), 0.0).sum(at::IntArrayRef({0, 2})).cpu().contiguous();
  return {sums.data_ptr<double>(), sums.data_ptr<double>() + sums.numel()};
}

}  // namespace

RowStatistics row_statistics(const at::Tensor& weights_BHQK) {
  at::NoGradGuard no_grad;
  const at::Tensor p = weights_BHQK.to(at::kDouble);
  return {-at::xlogy(p, p).sum(-1), at::gt(p, 0.0).sum(-1), p.select(-1, 0), p.amax({-1})};
}

void add_statistics(const RowStatistics& rows, const at::Tensor& positions_BQ, const at::Tensor& counted_BQ,
                    std::vector<HeadStats>& heads) {
  at::NoGradGuard no_grad;
  const at::Tensor positions = positions_BQ.expand({rows.entropy.size(0), rows.entropy.size(2)});
  at::Tensor counted = at::ge(positions, 0);
  if (counted_BQ.defined()) counted = at::logical_and(counted, counted_BQ);
  const at::Tensor normalizable = at::logical_and(counted, at::ge(positions, 1));
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
  for (std::size_t h = 0; h < heads.size(); ++h) {
    heads[h].rows += num_rows;
    heads[h].normalized_rows += num_normalizable;
    heads[h].entropy += entropy[h];
    heads[h].normalized_entropy += normalized[h];
    heads[h].support += support[h];
    heads[h].sink_mass += sink[h];
    heads[h].top_mass += top[h];
  }
}

}  // namespace lenbench
