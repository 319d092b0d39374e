// Items and a query through one attention.
#include "model/set_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/one_hot.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/error.h"

namespace lenbench {
namespace {

const std::string kAttention = "model.layers.0.self_attn.";

// Numbers stand at even places, classes at odd ones, and the query, a number, at the row judged.
void check_places(const at::Tensor& tokens_BT, const at::Tensor& rows_B, std::int64_t classes) {
  const at::Tensor ids_BT = tokens_BT.to(at::kCPU).contiguous(), rows = rows_B.to(at::kCPU).contiguous();
  for (std::int64_t b = 0; b < ids_BT.size(0); ++b) {
    const std::int64_t* ids = ids_BT.const_data_ptr<std::int64_t>() + b * ids_BT.size(1);
    const std::int64_t row = rows.const_data_ptr<std::int64_t>()[b];
    if (row < 2 || row % 2 != 0) {
      throw Error("a set of items is number, class, ..., and a query behind them; row " + std::to_string(row) +
                  " cannot be the query");
    }
    for (std::int64_t t = 0; t <= row; ++t) {
      if ((ids[t] < classes) == (t % 2 == 1)) continue;
      throw Error("token " + std::to_string(ids[t]) + " at position " + std::to_string(t) + " is no " +
                  (t % 2 == 1 ? "class" : "number") + "; classes are below " + std::to_string(classes));
    }
  }
}

}  // namespace

at::Tensor SetModel::Mlp::operator()(const at::Tensor& x) const {
  return at::linear(at::gelu(at::linear(x, weight_0, bias_0)), weight_1, bias_1);
}

SetModel::Mlp SetModel::mlp(const std::string& name) const {
  return {parameter(name + ".0.weight"), parameter(name + ".0.bias"), parameter(name + ".1.weight"),
          parameter(name + ".1.bias")};
}

SetModel::SetModel(DecoderConfig config, std::vector<NamedTensor> parameters, at::ScalarType compute)
    : SequenceModel(std::move(config), std::move(parameters), compute) {
  if (config_.item_classes < 1) throw std::invalid_argument("SetModel: the configuration is a decoder's");
  position_ = make_position(position_spec(config_));
  transform_ = std::make_shared<AttentionTransform>(transform_spec(config_), config_.num_heads, config_.hidden_size,
                                                    position_->scaled_heads());
  for (const TransformParameter& spec : transform_->parameters()) {
    transform_weights_[spec.name] = parameter(kAttention + spec.name);
  }
  item_encoder_ = mlp("item_encoder");
  query_encoder_ = mlp("query_encoder");
  classifier_ = mlp("classifier");
  q_proj_ = parameter(kAttention + "q_proj.weight");
  k_proj_ = parameter(kAttention + "k_proj.weight");
  v_proj_ = parameter(kAttention + "v_proj.weight");
  o_proj_ = parameter(kAttention + "o_proj.weight");
}

at::Tensor SetModel::keys_of(const at::Tensor& positions) const { return at::floor_divide(positions, 2); }

at::Tensor SetModel::last_keys(const at::Tensor& positions) const { return keys_of(positions) - 1; }

at::Tensor SetModel::attended(const at::Tensor& tokens_BT, const at::Tensor& rows_B,
                              const EvaluationRequest* evaluation) const {
  const std::int64_t classes = config_.item_classes, items = (tokens_BT.size(1) - 1) / 2;
  check_places(tokens_BT, rows_B, classes);
  const double steps = static_cast<double>(config_.vocab_size - classes);
  const auto number = [&](const at::Tensor& ids) { return ((ids - classes).to(at::kDouble) / steps).to(dtype()); };
  const at::Tensor numbers_BL = number(tokens_BT.slice(1, 0, 2 * items, 2));
  // Behind a shorter set stands padding, which nothing sees.
  const at::Tensor classes_BL = tokens_BT.slice(1, 1, 2 * items, 2).clamp(0, classes - 1);
  const at::Tensor features_BLF = at::cat({numbers_BL.unsqueeze(-1), at::one_hot(classes_BL, classes).to(dtype())}, -1);
  const at::Tensor items_BLE = item_encoder_(features_BLF);
  const at::Tensor query_B1E = query_encoder_(number(tokens_BT.gather(1, rows_B.unsqueeze(1))).unsqueeze(-1));

  const auto split = [&](const at::Tensor& x_BLC) {
    return x_BLC.unflatten(-1, {config_.num_heads, config_.head_dim}).transpose(1, 2);
  };
  AttendRequest request;
  request.positions_BQ = last_keys(rows_B.unsqueeze(1));
  const at::Tensor q_BH1D = split(at::linear(query_B1E, q_proj_));
  const at::Tensor scale_BH1 = transform_->query_scale(transform_weights_, query_B1E, request.positions_BQ);
  request.q_BHQD = scale_BH1.defined() ? q_BH1D * scale_BH1.unsqueeze(-1) : q_BH1D;
  request.k_BGKD = split(at::linear(items_BLE, k_proj_)).contiguous();
  request.v_BGKD = split(at::linear(items_BLE, v_proj_)).contiguous();
  request.normalizer = transform_->normalizer(transform_weights_);
  std::vector<HeadStats> stats(static_cast<std::size_t>(config_.num_heads));
  RowStatistics rows;
  if (evaluation != nullptr) {
    request.path = evaluation->path;
    if (evaluation->stats != nullptr && evaluation->probe != ProbeRows::kNone) {
      request.stats = &stats;
      if (evaluation->source_keys_BQ.defined()) request.source_keys_BQ = keys_of(evaluation->source_keys_BQ);
      if (evaluation->wanted_rows != nullptr) request.rows = &rows;
    }
    if (evaluation->on_attend) evaluation->on_attend(0, request);
  }
  const auto started = std::chrono::steady_clock::now();
  const at::Tensor found_BH1D = attend(request);
  if (evaluation != nullptr && evaluation->attention_seconds != nullptr) {
    *evaluation->attention_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
  if (request.stats != nullptr) {
    for (std::size_t h = 0; h < stats.size(); ++h) evaluation->stats->at(h).add(stats[h]);
  }
  if (request.rows != nullptr) evaluation->wanted_rows->push_back(rows);
  return at::linear(found_BH1D.transpose(1, 2).flatten(2), o_proj_);
}

at::Tensor SetModel::forward(const at::Tensor& tokens_BT, const at::Tensor& rows_N) const {
  const std::int64_t batch = tokens_BT.size(0), tokens = tokens_BT.size(1);
  if (rows_N.size(0) != batch) throw std::invalid_argument("SetModel::forward: one row for each set");
  const at::Tensor rows_B = rows_N - at::arange(batch, rows_N.options()) * tokens;
  return logits(attended(tokens_BT, rows_B, nullptr).flatten(0, 1));
}

at::Tensor SetModel::hidden(const EvaluationRequest& request) const {
  const at::NoGradGuard no_grad;
  if (request.positions_BQ.size(1) != 1) throw Error("a set has one query; more rows than one cannot be judged");
  return attended(request.tokens_BT, request.positions_BQ.select(1, 0), &request);
}

at::Tensor SetModel::logits(const at::Tensor& hidden_NE, const at::Tensor&) const { return classifier_(hidden_NE); }

}  // namespace lenbench
