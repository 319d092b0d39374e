// The decoder's arithmetic that training and evaluation share, and the training pass.
#include "model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/remainder.h>

#include <cmath>
#include <stdexcept>

#include "checkpoint/safetensors.h"

#include "model/rms_norm.h"
#include "model/set_model.h"

namespace lenbench {
namespace {

// [B, T, heads * D] -> [B, heads, T, D], a view.
at::Tensor split_heads(const at::Tensor& x_BTC, std::int64_t heads) {
  return x_BTC.unflatten(-1, {heads, x_BTC.size(-1) / heads}).transpose(1, 2);
}

}  // namespace

PositionSpec position_spec(const DecoderConfig& config) {
  PositionSpec spec;
  spec.name = config.positions;
  spec.num_heads = config.num_heads;
  spec.head_dim = config.head_dim;
  spec.rope_base = config.rope_theta;
  spec.alibi_num_heads = config.alibi_num_heads;
  spec.alibi_slope_type = config.alibi_slope_type;
  return spec;
}

TransformSpec transform_spec(const DecoderConfig& config) {
  TransformSpec spec;
  spec.name = config.transform_name();
  spec.scale = config.attn_scale_type;
  spec.scale_delta = config.attn_scale_delta;
  spec.scale_gamma_range = config.attn_scale_gamma_range;
  spec.scale_proj_bias = config.attn_scale_proj_bias;
  spec.alpha = config.entmax_alpha;
  spec.alpha_learnable = config.alpha_learnable;
  spec.adaptive = config.adaptive_temperature;
  if (config.topk_size > 0) {
    spec.normalizer = Normalizer::Kind::kTopK;
    spec.topk = config.topk_size;
  } else if (config.alpha_learnable || config.entmax_alpha > 1) {
    spec.normalizer = Normalizer::Kind::kEntmax;
  }
  return spec;
}

SequenceModel::SequenceModel(DecoderConfig config, std::vector<NamedTensor> parameters)
    : config_(std::move(config)), parameters_(std::move(parameters)) {
  check_config(config_, "model");
  const std::vector<TensorSpec> specs = tensor_specs(config_);
  if (specs.size() != parameters_.size()) throw std::invalid_argument("model: wrong number of parameters");
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    if (name != specs[i].name || tensor.sizes() != at::IntArrayRef(specs[i].shape)) {
      throw std::invalid_argument("model: expected parameter " + specs[i].name + " " + shape_text(specs[i].shape) +
                                  ", got " + name);
    }
  }
}

const at::Tensor& SequenceModel::parameter(const std::string& name) const {
  for (const auto& [known, tensor] : parameters_) {
    if (known == name) return tensor;
  }
  throw std::invalid_argument("model: no parameter " + name);
}

std::unique_ptr<SequenceModel> make_model(DecoderConfig config, std::vector<NamedTensor> parameters) {
  if (config.item_classes > 0) return std::make_unique<SetModel>(std::move(config), std::move(parameters));
  return std::make_unique<Decoder>(std::move(config), std::move(parameters));
}

Decoder::Decoder(DecoderConfig config, std::vector<NamedTensor> parameters)
    : SequenceModel(std::move(config), std::move(parameters)) {
  if (config_.item_classes > 0) throw std::invalid_argument("Decoder: the configuration is that of a model of sets");
  position_ = make_position(position_spec(config_));
  transform_ = std::make_shared<AttentionTransform>(transform_spec(config_), config_.num_heads, config_.hidden_size,
                                                    position_->scaled_heads());
  slopes_ = position_->slopes();
  embedding_VE_ = parameter("model.embed_tokens.weight");
  final_norm_E_ = parameter("model.norm.weight");
  head_VE_ = config_.tie_word_embeddings ? embedding_VE_ : parameter("lm_head.weight");
  for (std::int64_t l = 0; l < config_.num_layers; ++l) {
    const std::string prefix = "model.layers." + std::to_string(l) + ".";
    const auto get = [&](const char* name) { return parameter(prefix + name + ".weight"); };
    Layer layer{get("input_layernorm"),
                get("post_attention_layernorm"),
                get("pre_feedforward_layernorm"),
                get("post_feedforward_layernorm"),
                get("self_attn.q_proj"),
                get("self_attn.k_proj"),
                get("self_attn.v_proj"),
                get("self_attn.o_proj"),
                get("mlp.gate_proj"),
                get("mlp.up_proj"),
                get("mlp.down_proj"),
                {}};
    for (const ParameterSpec& spec : transform_->parameters()) {
      layer.transform[spec.name] = parameter(prefix + "self_attn." + spec.name);
    }
    layers_.push_back(std::move(layer));
  }
}

at::Tensor Decoder::norm(const at::Tensor& x, const at::Tensor& weight_E) const {
  return rms_norm(x, weight_E, config_.rms_norm_eps);
}

at::Tensor Decoder::embed(const at::Tensor& tokens) const {
  return at::embedding(embedding_VE_, tokens) * std::sqrt(static_cast<double>(config_.hidden_size));
}

at::Tensor Decoder::queries(const Layer& layer, const at::Tensor& h_BTE, const at::Tensor& positions_BT) const {
  const at::Tensor q_BHTD = split_heads(at::linear(h_BTE, layer.q_proj), config_.num_heads);
  const at::Tensor rotated = position_->rotate(q_BHTD, positions_BT);
  const at::Tensor scale_BHT = transform_->query_scale(layer.transform, h_BTE, positions_BT);
  return scale_BHT.defined() ? rotated * scale_BHT.unsqueeze(-1) : rotated;
}

at::Tensor Decoder::keys(const Layer& layer, const at::Tensor& h_BTE, const at::Tensor& positions_BT) const {
  return position_->rotate(split_heads(at::linear(h_BTE, layer.k_proj), config_.num_kv_heads), positions_BT);
}

at::Tensor Decoder::values(const Layer& layer, const at::Tensor& h_BTE) const {
  return split_heads(at::linear(h_BTE, layer.v_proj), config_.num_kv_heads);
}

at::Tensor Decoder::finish_block(const Layer& layer, const at::Tensor& x, const at::Tensor& attended) const {
  const at::Tensor y = x + norm(at::linear(attended, layer.o_proj), layer.post_attention_norm_E);
  const at::Tensor h = norm(y, layer.pre_mlp_norm_E);
  const at::Tensor inner = at::gelu(at::linear(h, layer.gate_proj), "tanh") * at::linear(h, layer.up_proj);
  return y + norm(at::linear(inner, layer.down_proj), layer.post_mlp_norm_E);
}

AttendRequest Decoder::attend_request(const Layer& layer, Projected projected, at::Tensor positions_BQ) const {
  AttendRequest request;
  request.q_BHQD = std::move(projected.q_BHQD);
  request.k_BGKD = std::move(projected.k_BGKD);
  request.v_BGKD = std::move(projected.v_BGKD);
  request.positions_BQ = std::move(positions_BQ);
  request.slopes = slopes_;
  request.normalizer = transform_->normalizer(layer.transform);
  return request;
}

at::Tensor Decoder::forward(const at::Tensor& tokens_BT, const at::Tensor& rows_N) const {
  const std::int64_t batch = tokens_BT.size(0), tokens = tokens_BT.size(1);
  const at::Tensor positions_1T = at::arange(tokens, tokens_BT.options()).unsqueeze(0);
  // Nothing after the last attention mixes rows, so only the wanted ones go on; where every batch row wants equally
  // many, the last layer's queries are theirs alone too.
  const at::Tensor owner_N = at::floor_divide(rows_N, tokens);
  const std::int64_t wanted = rows_N.size(0) / batch;
  const at::Tensor expected_N = at::arange(batch, rows_N.options()).repeat_interleave(wanted);
  const bool even = wanted * batch == rows_N.size(0) && at::equal(owner_N, expected_N);
  at::Tensor x_BTE = embed(tokens_BT);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const bool last = l + 1 == layers_.size();
    const at::Tensor h_BTE = norm(x_BTE, layer.input_norm_E);
    at::Tensor query_h = h_BTE, positions = positions_1T;
    if (last && even) {
      query_h = h_BTE.flatten(0, 1).index_select(0, rows_N).view({batch, wanted, -1});
      positions = at::remainder(rows_N, tokens).view({batch, wanted});
    }
    Projected projected{queries(layer, query_h, positions), keys(layer, h_BTE, positions_1T), values(layer, h_BTE)};
    at::Tensor attended = attend(attend_request(layer, std::move(projected), positions)).transpose(1, 2).flatten(2);
    if (last) {
      attended = attended.flatten(0, 1);
      if (!even) attended = attended.index_select(0, rows_N);
      x_BTE = x_BTE.flatten(0, 1).index_select(0, rows_N);
    }
    x_BTE = finish_block(layer, x_BTE, attended);
  }
  return logits(norm(x_BTE, final_norm_E_));
}

at::Tensor Decoder::logits(const at::Tensor& hidden_NE) const { return at::linear(hidden_NE, head_VE_); }

}  // namespace lenbench
