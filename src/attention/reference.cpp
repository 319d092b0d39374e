// Reference attention. Letters: B rows of a batch, H query heads, G key/value heads, Q queries, K keys, D head size.
#include "attention/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "attention/entmax_rows.h"

namespace lenbench {
namespace {

constexpr std::int64_t kBlockScores = std::int64_t{1} << 20;  // scores held at a time, if a single row is not more
constexpr double kMasked = -std::numeric_limits<double>::infinity();

// Queries of one KV head stand below each other, so that grouped heads need no copy of the keys.
at::Tensor scores_of(const at::Tensor& q_BHQD, const at::Tensor& k_BGKD) {
  const std::int64_t heads_per_group = q_BHQD.size(1) / k_BGKD.size(1);
  const at::Tensor rows = q_BHQD.reshape({q_BHQD.size(0), k_BGKD.size(1), heads_per_group * q_BHQD.size(2), -1});
  return at::matmul(rows, k_BGKD.transpose(-1, -2)).reshape({q_BHQD.size(0), q_BHQD.size(1), q_BHQD.size(2), -1});
}

at::Tensor mix(const at::Tensor& weights_BHQK, const at::Tensor& v_BGKD) {
  const auto sizes = weights_BHQK.sizes();
  const at::Tensor rows = weights_BHQK.reshape({sizes[0], v_BGKD.size(1), sizes[1] / v_BGKD.size(1) * sizes[2], -1});
  return at::matmul(rows, v_BGKD).reshape({sizes[0], sizes[1], sizes[2], -1});
}

// Masked scores arrive as -inf; rows without visible keys give 0 and no NaN in the backward pass.
at::Tensor softmax_rows(const at::Tensor& scores, const at::Tensor& visible) {
  const at::Tensor any = visible.any(-1, true);
  const at::Tensor safe = at::where(any, scores, 0.0);
  return at::where(visible, at::softmax(safe, -1), 0.0);
}

at::Tensor adaptive_rows(const at::Tensor& scores, const at::Tensor& visible) {
  const at::Tensor any = visible.any(-1, true);
  const at::Tensor log_p = at::where(visible, at::log_softmax(at::where(any, scores, 0.0), -1), 0.0);
  const at::Tensor p = at::where(visible, at::exp(log_p), 0.0);
  const at::Tensor factor = adaptive_factor(-(p * log_p).sum({-1}, true));
  return softmax_rows(at::where(visible, at::where(visible, scores, 0.0) * factor, kMasked), visible);
}

at::Tensor weights_of(const Normalizer& normalizer, const at::Tensor& scores, const at::Tensor& visible) {
  switch (normalizer.kind) {
    case Normalizer::Kind::kSoftmax:
      return normalizer.adaptive ? adaptive_rows(scores, visible) : softmax_rows(scores, visible);
    case Normalizer::Kind::kTopK: {
      const at::Tensor kept = at::logical_and(visible, largest_entries(scores, normalizer.topk));
      return softmax_rows(at::where(kept, scores, kMasked), kept);
    }
    case Normalizer::Kind::kEntmax:
      break;
  }
  at::Tensor e_H = normalizer.alpha_minus_one_H;
  if (!e_H.defined()) e_H = at::full({1}, normalizer.alpha - 1.0, scores.options().dtype(at::kDouble));
  return entmax_rows(scores, e_H);
}

// Keys with p > 0, by the mathematics: softmax weights are never 0, even where they underflow.
at::Tensor support_of(const Normalizer& normalizer, const at::Tensor& positions_BQ, std::int64_t window,
                      const at::Tensor& counted) {
  if (normalizer.kind == Normalizer::Kind::kEntmax) return counted;
  at::Tensor visible_BQ = visible_positions(positions_BQ, window) + 1;
  if (normalizer.kind == Normalizer::Kind::kTopK) visible_BQ = at::clamp_max(visible_BQ, normalizer.topk);
  return visible_BQ.unsqueeze(1).expand_as(counted);
}

struct Block {
  at::Tensor out;
  RowStatistics rows;
};

// Rows row .. row + count - 1 of the request.
Block attend_block(const AttendRequest& request, std::int64_t row, std::int64_t count, bool want_rows,
                   std::int64_t first_key) {
  const at::Tensor q_BHQD = request.q_BHQD.narrow(2, row, count);
  const at::Tensor positions_BQ = request.positions_BQ.narrow(1, row, count);
  at::Tensor sources_BQ;
  if (request.source_keys_BQ.defined()) {
    // A source before first_key counts as unseen: its weight is 0.
    sources_BQ = request.source_keys_BQ.narrow(1, row, count) - first_key;
  }
  // Keys that no row of the block sees are left out on both sides.
  std::int64_t skipped = 0;
  if (request.window > 0 && count > 0) {
    skipped = std::max<std::int64_t>(0, positions_BQ.min().item<std::int64_t>() - request.window + 1 - first_key);
    first_key += skipped;
    if (sources_BQ.defined()) sources_BQ = sources_BQ - skipped;
  }
  const std::int64_t num_keys = count == 0 ? 0 : positions_BQ.max().item<std::int64_t>() + 1 - first_key;
  if (num_keys <= 0) {
    const at::Tensor zero = at::zeros({q_BHQD.size(0), q_BHQD.size(1), q_BHQD.size(2)}, q_BHQD.options());
    return {at::zeros_like(q_BHQD), {zero, zero, zero, zero, sources_BQ.defined() ? zero : at::Tensor()}};
  }
  const at::Tensor k_BGKD = request.k_BGKD.narrow(2, skipped, num_keys);
  const at::Tensor keys_K = at::arange(first_key, first_key + num_keys, positions_BQ.options());
  const at::Tensor rows_B1Q1 = positions_BQ.unsqueeze(1).unsqueeze(-1);
  at::Tensor visible = at::le(keys_K, rows_B1Q1);
  if (request.window > 0) visible = at::logical_and(visible, at::gt(keys_K, rows_B1Q1 - request.window));
  at::Tensor scores = scores_of(q_BHQD * score_scale(request), k_BGKD);
  if (request.softcap > 0) scores = at::tanh(scores / request.softcap) * request.softcap;
  if (std::any_of(request.slopes.begin(), request.slopes.end(), [](double slope) { return slope != 0; })) {
    const at::Tensor slopes_H11 = at::tensor(request.slopes, at::TensorOptions(at::kDouble))
                                      .to(q_BHQD.device(), q_BHQD.scalar_type())
                                      .reshape({-1, 1, 1});
    scores = scores + slopes_H11 * (keys_K - rows_B1Q1).to(q_BHQD.scalar_type());
  }
  scores = at::where(visible, scores, kMasked);
  const at::Tensor weights = weights_of(request.normalizer, scores, visible);
  Block block{mix(weights, request.v_BGKD.narrow(2, skipped, num_keys)), {}};
  if (want_rows) {
    block.rows = row_statistics(weights, sources_BQ);
    block.rows.support = support_of(request.normalizer, positions_BQ, request.window, block.rows.support);
    if (first_key > 0) block.rows.sink = at::zeros_like(block.rows.sink);
  }
  return block;
}

// So that about kBlockScores scores are held. Where all rows of a text follow each other under a window, a block of up
// to `window` of them meets at most twice as many keys.
std::int64_t rows_at_a_time(const AttendRequest& request) {
  std::int64_t keys = request.k_BGKD.size(2), most = request.q_BHQD.size(2);
  if (request.window > 0 && request.window < keys / 2 && most == keys) {
    keys = 2 * request.window;
    most = request.window;
  }
  const std::int64_t scores = std::max<std::int64_t>(1, request.q_BHQD.size(0) * request.q_BHQD.size(1) * keys);
  return std::clamp<std::int64_t>(kBlockScores / scores, 1, std::max<std::int64_t>(1, most));
}

}  // namespace

at::Tensor largest_entries(const at::Tensor& scores_BHQK, std::int64_t count) {
  at::NoGradGuard no_grad;
  if (count >= scores_BHQK.size(-1)) return at::gt(scores_BHQK, kMasked);
  const at::Tensor least = std::get<0>(at::topk(scores_BHQK, count, -1, true, true)).narrow(-1, count - 1, 1);
  // A NaN counts as large, so that it reaches the output.
  const at::Tensor above = at::logical_or(at::gt(scores_BHQK, least), at::isnan(scores_BHQK));
  const at::Tensor tied = at::logical_and(at::eq(scores_BHQK, least), at::gt(scores_BHQK, kMasked));
  const at::Tensor room = count - above.sum({-1}, true);
  return at::logical_or(above, at::logical_and(tied, at::le(at::cumsum(tied, -1), room)));
}

ReferenceResult attend_reference(const AttendRequest& request, bool want_rows, std::int64_t first_key) {
  const at::Tensor& q = request.q_BHQD;
  const std::int64_t num_rows = q.size(2);
  const std::int64_t block_rows = request.query_block > 0 ? request.query_block : rows_at_a_time(request);
  std::vector<at::Tensor> outs;
  std::vector<RowStatistics> rows;
  for (std::int64_t row = 0; row == 0 || row < num_rows; row += block_rows) {
    Block block = attend_block(request, row, std::min(block_rows, num_rows - row), want_rows, first_key);
    outs.push_back(std::move(block.out));
    if (want_rows) rows.push_back(std::move(block.rows));
  }
  return {at::cat(outs, 2), join_rows(rows)};
}

}  // namespace lenbench
