// The decoder's arithmetic that training and evaluation share, and the training pass.
#include "model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>

#include <cmath>
#include <stdexcept>

#include "checkpoint/safetensors.h"

#include "model/gated_mlp.h"
#include "model/rms_norm.h"
#include "model/set_model.h"

namespace lenbench {
namespace {

// [B, T, heads * D] -> [B, heads, T, D], a view.
at::Tensor split_heads(const at::Tensor& x_BTC, std::int64_t heads) {
  return x_BTC.unflatten(-1, {heads, x_BTC.size(-1) / heads}).transpose(1, 2);
}

at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kQuickGelu:
      return x * at::sigmoid(x * 1.702);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kRelu:
      return at::relu(x);
  }
  throw std::logic_error("activate: no such activation");
}

}  // namespace

PositionSpec position_spec(const DecoderConfig& config) {
  PositionSpec spec;
  spec.name = config.positions;
  spec.num_heads = config.num_heads;
  spec.head_dim = config.head_dim;
  spec.rope_base = config.rope_theta;
  spec.rotary_dim = config.rotary_dim;
  if (config.positions == "rope" && config.rope_scaling.kind != RopeScaling::Kind::kNone) {
    spec.rope_frequencies = [scaling = config.rope_scaling, base = config.rope_theta,
                             channels = config.rotated_channels()](std::int64_t length) {
      return lenbench::rope_frequencies(scaling, base, channels, length);
    };
    spec.rope_by_length = config.rows_depend_on_length();
    spec.rope_attention_factor = rope_attention_factor(config.rope_scaling);
  }
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
  if (config.attn_scale_type == "fixed") spec.scale_s = config.ssmax_s;
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

namespace {

at::ScalarType common_type(const std::vector<NamedTensor>& parameters) {
  return parameters.empty() ? at::kFloat : parameters.front().second.scalar_type();
}

}  // namespace

SequenceModel::SequenceModel(DecoderConfig config, std::vector<NamedTensor> parameters, at::ScalarType compute)
    : config_(std::move(config)), parameters_(std::move(parameters)), dtype_(compute) {
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

const at::Tensor* SequenceModel::find_parameter(const std::string& name) const {
  for (const auto& [known, tensor] : parameters_) {
    if (known == name) return &tensor;
  }
  return nullptr;
}

const at::Tensor& SequenceModel::parameter(const std::string& name) const {
  const at::Tensor* found = find_parameter(name);
  if (found == nullptr) throw std::invalid_argument("model: no parameter " + name);
  return *found;
}

std::unique_ptr<SequenceModel> make_model(DecoderConfig config, std::vector<NamedTensor> parameters,
                                          at::ScalarType compute) {
  if (config.item_classes > 0) return std::make_unique<SetModel>(std::move(config), std::move(parameters), compute);
  return std::make_unique<Decoder>(std::move(config), std::move(parameters), compute);
}

std::unique_ptr<SequenceModel> make_model(DecoderConfig config, std::vector<NamedTensor> parameters) {
  const at::ScalarType compute = common_type(parameters);
  return make_model(std::move(config), std::move(parameters), compute);
}

Decoder::Decoder(DecoderConfig config, std::vector<NamedTensor> parameters)
    : Decoder(std::move(config), parameters, common_type(parameters)) {}

Decoder::Decoder(DecoderConfig config, std::vector<NamedTensor> parameters, at::ScalarType compute)
    : SequenceModel(std::move(config), std::move(parameters), compute) {
  if (config_.item_classes > 0) throw std::invalid_argument("Decoder: the configuration is that of a model of sets");
  position_ = make_position(position_spec(config_));
  transform_ = std::make_shared<AttentionTransform>(transform_spec(config_), config_.num_heads, config_.hidden_size,
                                                    position_->scaled_heads());
  slopes_ = position_->slopes();
  embedding_VE_ = parameter("model.embed_tokens.weight");
  if (config_.positions == "learned") positions_PE_ = parameter("model.embed_positions.weight");
  final_norm_ = affine("model.norm");
  final_norm_ = {in_compute_type(final_norm_.weight), in_compute_type(final_norm_.bias)};
  head_VE_ = config_.tie_word_embeddings ? embedding_VE_ : parameter("lm_head.weight");
  for (std::int64_t l = 0; l < config_.num_layers; ++l) {
    const std::string block = "model.layers." + std::to_string(l) + ".", attention = block + "self_attn.";
    Layer layer;
    layer.index = l;
    layer.input_norm = affine(block + "input_layernorm");
    layer.q = affine(attention + "q_proj");
    layer.k = affine(attention + "k_proj");
    layer.v = affine(attention + "v_proj");
    layer.o = affine(attention + "o_proj");
    if (config_.qk_norm) {
      layer.q_norm = affine(attention + "q_norm");
      layer.k_norm = affine(attention + "k_norm");
    }
    if (config_.post_norms) {
      layer.post_attention_norm = affine(block + "post_attention_layernorm");
      layer.post_mlp_norm = affine(block + "post_feedforward_layernorm");
    }
    layer.pre_mlp_norm = affine(block + "pre_feedforward_layernorm");
    if (config_.gated_mlp) layer.gate = affine(block + "mlp.gate_proj");
    layer.up = affine(block + "mlp.up_proj");
    layer.down = affine(block + "mlp.down_proj");
    for (const TransformParameter& spec : transform_->parameters()) {
      layer.transform[spec.name] = parameter(attention + spec.name);
    }
    layers_.push_back(std::move(layer));
  }
}

Decoder::Affine Decoder::affine(const std::string& name) const {
  const at::Tensor* bias = find_parameter(name + ".bias");
  return {parameter(name + ".weight"), bias != nullptr ? *bias : at::Tensor()};
}

at::Tensor Decoder::in_compute_type(const at::Tensor& parameter) const {
  return parameter.defined() && parameter.scalar_type() != dtype_ ? parameter.to(dtype_) : parameter;
}

Decoder::Layer Decoder::ready(std::size_t index) const {
  Layer layer = layers_[index];
  for (Affine* part :
       {&layer.input_norm, &layer.post_attention_norm, &layer.pre_mlp_norm, &layer.post_mlp_norm, &layer.q, &layer.k,
        &layer.v, &layer.o, &layer.q_norm, &layer.k_norm, &layer.gate, &layer.up, &layer.down}) {
    part->weight = in_compute_type(part->weight);
    part->bias = in_compute_type(part->bias);
  }
  for (auto& [name, tensor] : layer.transform) tensor = in_compute_type(tensor);
  return layer;
}

at::Tensor Decoder::linear(const at::Tensor& x, const Affine& map) const {
  return map.bias.defined() ? at::linear(x, map.weight, map.bias) : at::linear(x, map.weight);
}

at::Tensor Decoder::norm(const at::Tensor& x, const Affine& weights) const {
  if (config_.norm == NormKind::kLayer) {
    return at::layer_norm(x, {x.size(-1)}, weights.weight, weights.bias, config_.norm_eps);
  }
  return rms_norm(x, weights.weight, config_.norm_eps, config_.norm == NormKind::kRmsOffset ? 1 : 0);
}

at::Tensor Decoder::embed(const at::Tensor& tokens_BT, std::int64_t first_position) const {
  at::Tensor x_BTE = in_compute_type(at::embedding(embedding_VE_, tokens_BT));
  if (config_.scale_embedding) x_BTE = x_BTE * std::sqrt(static_cast<double>(config_.hidden_size));
  if (!positions_PE_.defined()) return x_BTE;
  return x_BTE + in_compute_type(positions_PE_.slice(0, first_position, first_position + tokens_BT.size(1)));
}

at::Tensor Decoder::queries(const Layer& layer, const at::Tensor& h_BTE, const at::Tensor& positions_BT,
                            Lengths lengths) const {
  at::Tensor q_BHTD = split_heads(linear(h_BTE, layer.q), config_.num_heads);
  if (config_.qk_norm) q_BHTD = rms_norm(q_BHTD, layer.q_norm.weight, config_.norm_eps, 0);
  const at::Tensor rotated = position_->rotate(q_BHTD, positions_BT, lengths);
  const at::Tensor scale_BHT = transform_->query_scale(layer.transform, h_BTE, positions_BT);
  return scale_BHT.defined() ? rotated * scale_BHT.unsqueeze(-1) : rotated;
}

at::Tensor Decoder::keys(const Layer& layer, const at::Tensor& h_BTE, const at::Tensor& positions_BT,
                         Lengths lengths) const {
  at::Tensor k_BGTD = split_heads(linear(h_BTE, layer.k), config_.num_kv_heads);
  if (config_.qk_norm) k_BGTD = rms_norm(k_BGTD, layer.k_norm.weight, config_.norm_eps, 0);
  return position_->rotate(k_BGTD, positions_BT, lengths);
}

at::Tensor Decoder::values(const Layer& layer, const at::Tensor& h_BTE) const {
  return split_heads(linear(h_BTE, layer.v), config_.num_kv_heads);
}

at::Tensor Decoder::mlp(const Layer& layer, const at::Tensor& h) const {
  if (!config_.gated_mlp) return linear(activate(config_.activation, linear(h, layer.up)), layer.down);
  const at::Tensor gate = linear(h, layer.gate), up = linear(h, layer.up);
  if (config_.activation == Activation::kGeluTanh && h.is_cpu() && h.scalar_type() == at::kFloat) {
    return linear(gated_gelu(gate, up), layer.down);
  }
  return linear(activate(config_.activation, gate) * up, layer.down);
}

at::Tensor Decoder::finish_block(const Layer& layer, const at::Tensor& x, const at::Tensor& attended) const {
  const at::Tensor attention = linear(attended, layer.o);
  if (config_.parallel_residual) {
    return x + (config_.post_norms ? norm(attention, layer.post_attention_norm) : attention) +
           mlp(layer, norm(x, layer.pre_mlp_norm));
  }
  const at::Tensor y = x + (config_.post_norms ? norm(attention, layer.post_attention_norm) : attention);
  const at::Tensor inner = mlp(layer, norm(y, layer.pre_mlp_norm));
  return y + (config_.post_norms ? norm(inner, layer.post_mlp_norm) : inner);
}

AttendRequest Decoder::attend_request(const Layer& layer, Projected projected, at::Tensor positions_BQ) const {
  AttendRequest request;
  request.q_BHQD = std::move(projected.q_BHQD);
  request.k_BGKD = std::move(projected.k_BGKD);
  request.v_BGKD = std::move(projected.v_BGKD);
  request.positions_BQ = std::move(positions_BQ);
  request.slopes = slopes_;
  request.score_scale = config_.scale_of_scores(layer.index);
  request.softcap = config_.score_softcap;
  request.window = config_.window(layer.index);
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
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch), tokens);
  at::Tensor x_BTE = embed(tokens_BT, 0);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer layer = ready(l);
    const bool last = l + 1 == layers_.size();
    const at::Tensor h_BTE = norm(x_BTE, layer.input_norm);
    at::Tensor query_h = h_BTE, positions = positions_1T;
    if (last && even) {
      query_h = h_BTE.flatten(0, 1).index_select(0, rows_N).view({batch, wanted, -1});
      positions = at::remainder(rows_N, tokens).view({batch, wanted});
    }
    Projected projected{queries(layer, query_h, positions, lengths), keys(layer, h_BTE, positions_1T, lengths),
                        values(layer, h_BTE)};
    at::Tensor attended = attend(attend_request(layer, std::move(projected), positions)).transpose(1, 2).flatten(2);
    if (last) {
      attended = attended.flatten(0, 1);
      if (!even) attended = attended.index_select(0, rows_N);
      x_BTE = x_BTE.flatten(0, 1).index_select(0, rows_N);
    }
    x_BTE = finish_block(layer, x_BTE, attended);
  }
  return logits(norm(x_BTE, final_norm_));
}

at::Tensor Decoder::output_weights() const { return in_compute_type(head_VE_); }

at::Tensor Decoder::logits(const at::Tensor& hidden_NE, const at::Tensor& output_VE) const {
  const at::Tensor logits_NV = at::linear(hidden_NE, output_VE);
  if (config_.logit_softcap == 0) return logits_NV;
  return at::tanh(logits_NV / config_.logit_softcap) * config_.logit_softcap;
}

}  // namespace lenbench
