// The decoder's evaluation pass: long texts in bounded memory, only the wanted rows through the last layer. Letters
// besides decoder.h's: R rows held, all T unless ranks share them.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "checkpoint/memory.h"
#include "model/decoder.h"
#include "model/sequence_share.h"

namespace lenbench {
namespace {

// Rows `rows_BQ` of x [B, R, E] as [B, Q, E].
at::Tensor gather_rows(const at::Tensor& x_BRE, const at::Tensor& rows_BQ) {
  return x_BRE.gather(1, rows_BQ.unsqueeze(-1).expand({-1, -1, x_BRE.size(2)}));
}

// Statistics [B, H, R] of the rows `rows_BQ` as [B, H, Q].
RowStatistics gather_statistics(const RowStatistics& rows, const at::Tensor& rows_BQ) {
  RowStatistics gathered;
  for (const auto field : kRowStatistics) {
    const at::Tensor& all = rows.*field;
    if (!all.defined()) continue;
    gathered.*field = all.gather(2, rows_BQ.unsqueeze(1).expand({-1, all.size(1), -1}));
  }
  return gathered;
}

// values [B, Q] at the columns rows_BQ of a [B, R] tensor of -1; where `is_wanted_BQ` does not hold, nowhere.
at::Tensor scatter_columns(const at::Tensor& values_BQ, const at::Tensor& rows_BQ, const at::Tensor& is_wanted_BQ,
                           std::int64_t num_rows) {
  // One column more than R takes the padding of the list.
  at::Tensor all = at::full({rows_BQ.size(0), num_rows + 1}, -1, values_BQ.options());
  all.scatter_(1, at::where(is_wanted_BQ, rows_BQ, num_rows), values_BQ);
  return all.slice(1, 0, num_rows);
}

bool covers_all_rows(ProbeRows rows) { return rows == ProbeRows::kAll || rows == ProbeRows::kPrefix; }

// Adds one layer's heads by position to those of all layers.
void add_layer(const std::vector<std::vector<HeadStats>>& layer_buckets, std::size_t layer, std::size_t num_layers,
               std::vector<std::vector<HeadStats>>& buckets) {
  if (buckets.size() < layer_buckets.size()) buckets.resize(layer_buckets.size());
  for (std::size_t k = 0; k < layer_buckets.size(); ++k) {
    const std::size_t num_heads = layer_buckets[k].size();
    buckets[k].resize(num_layers * num_heads);
    for (std::size_t h = 0; h < num_heads; ++h) buckets[k][layer * num_heads + h].add(layer_buckets[k][h]);
  }
}

// Rows of x [B, Q, E], one for each batch row, as [B, E].
at::Tensor pick_rows(const at::Tensor& x_BQE, const at::Tensor& index_B) {
  return gather_rows(x_BQE, index_B.unsqueeze(1)).squeeze(1);
}

}  // namespace

void Decoder::add_scales(const Layer& layer, const at::Tensor& x_BRE, const at::Tensor& positions_BQ,
                         const SequenceShare& share, std::vector<HeadStats>& stats) const {
  // Adaptive temperature is a factor of the scores' own making.
  if (config_.adaptive_temperature) return;
  const std::int64_t rows = positions_BQ.size(1), chunk = chunk_tokens(x_BRE.size(0));
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const at::Tensor wanted_BQ = positions_BQ.slice(1, begin, std::min(rows, begin + chunk));
    const at::Tensor read_BQ = wanted_BQ.clamp_min(0);
    const at::Tensor h_BQE = norm(gather_rows(x_BRE, share.rows_at(read_BQ)), layer.input_norm);
    lenbench::add_scales(transform_->query_scale(layer.transform, h_BQE, read_BQ), wanted_BQ >= 0, stats);
  }
}

std::vector<double> Decoder::head_alpha() const {
  std::vector<double> alpha;
  for (const Layer& layer : layers_) {
    const Normalizer normalizer = transform_->normalizer(layer.transform);
    at::Tensor learnt_H;
    if (normalizer.alpha_minus_one_H.defined()) learnt_H = (normalizer.alpha_minus_one_H + 1.0).to(at::kDouble).cpu();
    for (std::int64_t h = 0; h < config_.num_heads; ++h) {
      const double fixed = normalizer.kind == Normalizer::Kind::kEntmax ? normalizer.alpha : 1.0;
      alpha.push_back(learnt_H.defined() ? learnt_H.select(0, h).item<double>() : fixed);
    }
  }
  return alpha;
}

std::int64_t Decoder::chunk_tokens(std::int64_t batch) const { return evaluation_chunk_tokens(config_, batch); }

// q (if wanted), k and v of all rows, projected chunk by chunk into tensors laid out [B, heads, T, D].
Decoder::Projected Decoder::project(const Layer& layer, const at::Tensor& x_BRE, const at::Tensor& positions_1R,
                                    bool with_queries, Lengths lengths) const {
  const std::int64_t batch = x_BRE.size(0), rows = x_BRE.size(1), chunk = chunk_tokens(batch);
  Projected all;
  all.k_BGKD = at::empty({batch, config_.num_kv_heads, rows, config_.head_dim}, x_BRE.options());
  all.v_BGKD = at::empty_like(all.k_BGKD);
  if (with_queries) all.q_BHQD = at::empty({batch, config_.num_heads, rows, config_.head_dim}, x_BRE.options());
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t end = std::min(rows, begin + chunk);
    const at::Tensor read_1R = positions_1R.slice(1, begin, end);
    const at::Tensor h_BRE = norm(x_BRE.slice(1, begin, end), layer.input_norm);
    all.k_BGKD.slice(2, begin, end).copy_(keys(layer, h_BRE, read_1R, lengths));
    all.v_BGKD.slice(2, begin, end).copy_(values(layer, h_BRE));
    if (with_queries) all.q_BHQD.slice(2, begin, end).copy_(queries(layer, h_BRE, read_1R, lengths));
  }
  return all;
}

at::Tensor Decoder::embed_rows(const at::Tensor& tokens_BT, const SequenceShare& share) const {
  const std::int64_t batch = tokens_BT.size(0), chunk = chunk_tokens(batch);
  at::Tensor x_BRE = at::empty({batch, share.num_rows(), config_.hidden_size}, embedding_VE_.options().dtype(dtype_));
  std::int64_t row = 0;
  for (const RowRange& range : share.ranges()) {
    for (std::int64_t begin = range.begin; begin < range.end; begin += chunk) {
      const std::int64_t end = std::min(range.end, begin + chunk);
      x_BRE.slice(1, row, row + end - begin).copy_(embed(tokens_BT.slice(1, begin, end), begin));
      row += end - begin;
    }
  }
  return x_BRE;
}

at::Tensor Decoder::hidden(const EvaluationRequest& request) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& tokens_BT = request.tokens_BT;
  const std::int64_t batch = tokens_BT.size(0), tokens = tokens_BT.size(1), chunk = chunk_tokens(batch);
  if (request.positions_BQ.size(0) != batch) throw std::invalid_argument("Decoder::hidden: batch sizes differ");
  std::vector<std::int64_t> lengths = request.lengths;
  if (lengths.empty()) lengths.assign(static_cast<std::size_t>(batch), tokens);
  if (config_.positions == "learned" && tokens > config_.max_positions) {
    throw Error("a text of " + std::to_string(tokens) + " tokens is too long: the model has a table of " +
                std::to_string(config_.max_positions) + " positions and none beyond");
  }
  const SequenceShare whole(tokens);
  const SequenceShare& share = request.share != nullptr ? *request.share : whole;
  if (!share.is_whole() && (request.by_position != nullptr || request.on_attend || request.attend_instead)) {
    throw std::invalid_argument("Decoder::hidden: not of a share of the rows");
  }
  const at::Tensor is_wanted_BQ = request.positions_BQ >= 0;
  const at::Tensor wanted_BQ = request.positions_BQ.clamp_min(0), wanted_rows_BQ = share.rows_at(wanted_BQ);
  const at::Tensor positions_1R = share.positions(tokens_BT.options());

  at::Tensor probe_rows_BR, source_keys_BR;
  if (covers_all_rows(request.probe)) {
    const at::Tensor lengths_B = at::empty({batch}, at::TensorOptions().dtype(at::kLong));
    std::copy_n(lengths.begin(), batch, lengths_B.data_ptr<std::int64_t>());
    probe_rows_BR = positions_1R < lengths_B.to(tokens_BT.device()).unsqueeze(1);
    if (!share.owns_any()) probe_rows_BR.fill_(false);
  } else if (request.probe == ProbeRows::kAnswer) {
    probe_rows_BR = scatter_columns(wanted_BQ, wanted_rows_BQ, is_wanted_BQ, share.num_rows()) >= 0;
    if (request.source_keys_BQ.defined()) {
      source_keys_BR = scatter_columns(request.source_keys_BQ, wanted_rows_BQ, is_wanted_BQ, share.num_rows());
    }
  }

  at::Tensor x_BRE = embed_rows(tokens_BT, share);
  const bool all_rows = covers_all_rows(request.probe) || request.on_attend;
  const bool measures = request.stats != nullptr && request.probe != ProbeRows::kNone;
  const auto keep_state = [&](const at::Tensor& x, const at::Tensor& index_B) {
    if (request.states != nullptr) request.states->push_back(pick_rows(x, index_B));
  };
  const auto [last_position_B, last_column_B] = wanted_BQ.max(1);
  const at::Tensor last_row_B = share.rows_at(last_position_B);
  keep_state(x_BRE, last_row_B);
  std::vector<HeadStats> layer_stats;
  RowStatistics layer_rows;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer layer = ready(l);
    const bool wanted_only = l + 1 == layers_.size() && !all_rows;
    if (measures) layer_stats.assign(static_cast<std::size_t>(config_.num_heads), {});
    if (measures && request.probe == ProbeRows::kAnswer) {
      add_scales(layer, x_BRE, request.positions_BQ, share, layer_stats);
    }
    Projected projected = project(layer, x_BRE, positions_1R, !wanted_only, lengths);
    if (wanted_only) {
      x_BRE = gather_rows(x_BRE, wanted_rows_BQ);
      projected.q_BHQD = at::empty({batch, config_.num_heads, wanted_BQ.size(1), config_.head_dim}, x_BRE.options());
      for (std::int64_t begin = 0; begin < x_BRE.size(1); begin += chunk) {
        const std::int64_t end = std::min(x_BRE.size(1), begin + chunk);
        const at::Tensor h_BQE = norm(x_BRE.slice(1, begin, end), layer.input_norm);
        projected.q_BHQD.slice(2, begin, end).copy_(queries(layer, h_BQE, wanted_BQ.slice(1, begin, end), lengths));
      }
    }
    AttendRequest attention = attend_request(layer, std::move(projected), wanted_only ? wanted_BQ : positions_1R);
    attention.path = request.path;
    if (measures) {
      attention.stats = &layer_stats;
      attention.probe_rows_BQ = wanted_only ? is_wanted_BQ : probe_rows_BR;
      attention.source_keys_BQ = wanted_only ? request.source_keys_BQ : source_keys_BR;
      if (request.wanted_rows != nullptr || request.by_position != nullptr) attention.rows = &layer_rows;
    }
    if (request.on_attend) request.on_attend(static_cast<std::int64_t>(l), attention);
    const auto started = std::chrono::steady_clock::now();
    const at::Tensor attended_BHQD = request.attend_instead ? request.attend_instead(attention)
                                     : share.is_whole()     ? attend(attention)
                                                            : attend_shared(attention, share);
    if (request.attention_seconds != nullptr) {
      *request.attention_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    }
    if (request.by_position != nullptr && measures) {
      std::vector<std::vector<HeadStats>> buckets;
      add_by_position(layer_rows, probe_rows_BR, buckets);
      add_layer(buckets, l, layers_.size(), *request.by_position);
    }
    if (request.wanted_rows != nullptr && measures) {
      request.wanted_rows->push_back(wanted_only ? layer_rows : gather_statistics(layer_rows, wanted_rows_BQ));
    }
    attention = {};
    for (std::size_t h = 0; h < layer_stats.size(); ++h) {
      request.stats->at(l * layer_stats.size() + h).add(layer_stats[h]);
    }
    for (std::int64_t begin = 0; begin < x_BRE.size(1); begin += chunk) {
      const std::int64_t end = std::min(x_BRE.size(1), begin + chunk);
      at::Tensor x_chunk = x_BRE.slice(1, begin, end);
      x_chunk.copy_(finish_block(layer, x_chunk, attended_BHQD.slice(2, begin, end).transpose(1, 2).flatten(2)));
    }
    keep_state(x_BRE, wanted_only ? last_column_B : last_row_B);
  }
  if (all_rows) x_BRE = gather_rows(x_BRE, wanted_rows_BQ);
  for (std::int64_t begin = 0; begin < x_BRE.size(1); begin += chunk) {
    at::Tensor x_chunk = x_BRE.slice(1, begin, std::min(x_BRE.size(1), begin + chunk));
    x_chunk.copy_(norm(x_chunk, final_norm_));
  }
  return x_BRE;
}

}  // namespace lenbench
