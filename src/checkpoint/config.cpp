// What a decoder configuration means: ranges, names, tensors.
#include "checkpoint/config.h"

#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "checkpoint/set_model.h"

namespace lenbench {
namespace {

void check_size(std::int64_t value, std::int64_t limit, const char* key, const std::string& where) {
  if (value < 1 || value > limit) {
    throw Error(where + ": " + key + " is " + std::to_string(value) + "; it must be between 1 and " +
                std::to_string(limit));
  }
}

void check_finite(double value, const char* key, const std::string& where) {
  if (!std::isfinite(value)) throw Error(where + ": " + key + " must be a finite number");
}

void check_positions(const DecoderConfig& config, const std::string& where) {
  const std::string& name = config.positions;
  if (name != "nope" && name != "rope" && name != "alibi" && name != "nape" && name != "learned") {
    throw Error(where + ": unknown position encoding '" + name + "'; known are nope, rope, alibi, nape, learned");
  }
  if (name == "rope") {
    if (config.rotary_dim == 0 && config.head_dim % 2 != 0) {
      throw Error(where + ": head_dim is " + std::to_string(config.head_dim) + "; rotary positions need an even one");
    }
    const std::int64_t channels = config.rotated_channels();
    if (config.rotary_dim < 0 || channels < 2 || channels % 2 != 0 || channels > config.head_dim) {
      throw Error(where + ": " + std::to_string(config.rotary_dim) + " channels of a head of " +
                  std::to_string(config.head_dim) + " rotate; it must be an even number of them, at least 2");
    }
    if (!std::isfinite(config.rope_theta) || config.rope_theta <= 0) {
      throw Error(where + ": rope_theta must be a finite number above 0");
    }
    check_rope_scaling(config.rope_scaling, config.rope_theta, channels, where);
  } else if (config.rope_scaling.kind != RopeScaling::Kind::kNone) {
    throw Error(where + ": RoPE scaling has no meaning for positions '" + name + "'");
  }
  if (name == "learned") check_size(config.max_positions, kMaxSize, "the number of learned positions", where);
  if (name == "nape") {
    if (config.alibi_num_heads < 0 || config.alibi_num_heads > config.num_heads) {
      throw Error(where + ": alibi_num_heads is " + std::to_string(config.alibi_num_heads) +
                  "; it must be between 0 and num_attention_heads (" + std::to_string(config.num_heads) + ")");
    }
    if (config.alibi_slope_type != "linear" && config.alibi_slope_type != "exp") {
      throw Error(where + ": alibi_slope_type '" + config.alibi_slope_type + "' is not known; use linear or exp");
    }
  }
}

void check_attention(const DecoderConfig& config, const std::string& where) {
  const std::string& scale = config.attn_scale_type;
  if (scale != "none" && scale != "nakanishi" && scale != "learn" && scale != "adapt-softplus-tanh" &&
      scale != "theta" && scale != "fixed") {
    throw Error(where + ": attn_scale_type '" + scale +
                "' is not known; use nakanishi, learn, adapt-softplus-tanh or null");
  }
  check_finite(config.attn_scale_delta, "attn_scale_delta", where);
  check_finite(config.attn_scale_gamma_range, "attn_scale_gamma_range", where);
  if (scale == "fixed" && (!std::isfinite(config.ssmax_s) || config.ssmax_s <= 0)) {
    throw Error(where + ": s of ssmax must be a finite number above 0");
  }
  const double alpha = config.entmax_alpha;
  if (!std::isfinite(alpha) || alpha < 1 || alpha > 2) {
    throw Error(where + ": entmax_alpha is " + format_real(alpha) +
                "; it must be 1 (softmax) or up to 2 (sparsemax), both included");
  }
  if (config.alpha_learnable && (alpha <= 1 || alpha >= 2)) {
    throw Error(where + ": entmax_alpha is " + format_real(alpha) +
                "; with alpha_learnable it must be above 1 and below 2");
  }
  if (config.topk_size < 0) {
    throw Error(where + ": topk_size is " + std::to_string(config.topk_size) + "; it must be at least 1");
  }
  if (config.topk_size > 0 && (alpha != 1 || config.alpha_learnable)) {
    throw Error(where + ": attn_type topk is a softmax over the largest scores; entmax_alpha must be 1");
  }
  if (config.adaptive_temperature && (alpha != 1 || config.alpha_learnable || config.topk_size > 0)) {
    throw Error(where + ": adaptive_temperature applies to softmax only; entmax_alpha must be 1 and attn_type regular");
  }
}

void check_blocks(const DecoderConfig& config, const std::string& where) {
  // Added to a mean square of about 1; anything larger is a slip of the pen.
  if (!(config.norm_eps >= 0 && config.norm_eps <= 1)) {
    throw Error(where + ": the norms' epsilon (rms_norm_eps, layer_norm_eps) is " + format_real(config.norm_eps) +
                "; it must be between 0 and 1");
  }
  for (const auto& [value, what] :
       {std::pair{config.score_scale, "the scale of scores"}, std::pair{config.score_softcap, "attn_logit_softcapping"},
        std::pair{config.logit_softcap, "final_logit_softcapping"}}) {
    if (!std::isfinite(value) || value < 0) {
      throw Error(where + ": " + what + " must be a finite number of at least 0");
    }
  }
  if (!config.windows.empty() && std::ssize(config.windows) != config.num_layers) {
    throw Error(where + ": there must be a window for each layer or none");
  }
  for (const std::int64_t window : config.windows) {
    if (window < 0) throw Error(where + ": sliding_window is " + std::to_string(window) + "; it must be at least 1");
  }
  if (config.context < 0) {
    throw Error(where + ": max_position_embeddings is " + std::to_string(config.context) + "; it must be at least 1");
  }
}

}  // namespace

std::int64_t DecoderConfig::num_scaled_heads() const {
  return positions == "nape" ? num_heads - alibi_num_heads : num_heads;
}

std::int64_t DecoderConfig::window(std::int64_t layer) const {
  return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)];
}

double DecoderConfig::scale_of_scores(std::int64_t layer) const {
  const double scale = score_scale > 0 ? score_scale : 1.0 / std::sqrt(static_cast<double>(head_dim));
  return score_scale_by_layer ? scale / static_cast<double>(layer + 1) : scale;
}

std::string DecoderConfig::positions_name() const {
  const std::string scaling = positions == "rope" ? rope_scaling_text(rope_scaling) : "";
  return scaling.empty() ? positions : positions + "+" + scaling;
}

std::string DecoderConfig::transform_name() const {
  std::string name, told_scale = "none";
  if (topk_size > 0) {
    name = "topk(k=" + std::to_string(topk_size) + ")";
  } else if (adaptive_temperature) {
    name = "adaptive-temperature";
  } else if (alpha_learnable || entmax_alpha > 1) {
    name = "entmax";
    if (attn_scale_type == "adapt-softplus-tanh") name = "asentmax";
    if (attn_scale_type == "theta") name = "entmax-theta";
    if (attn_scale_type == "learn") name = "learn";
    if (attn_scale_type != "nakanishi") told_scale = attn_scale_type;
    if (alpha_learnable) {
      name += "-learned-alpha";
    } else if (entmax_alpha != 1.5) {
      name += "(alpha=" + format_real(entmax_alpha) + ")";
    }
  } else {
    name = attn_scale_type == "nakanishi" ? "ssmax" : "softmax";
    if (attn_scale_type == "nakanishi") told_scale = attn_scale_type;
  }
  if (attn_scale_type == "fixed") {
    const std::string ssmax = "ssmax(s=" + format_real(ssmax_s) + ")";
    return name == "softmax" ? ssmax : name + "+" + ssmax;
  }
  return attn_scale_type == told_scale ? name : name + "+" + attn_scale_type;
}

void check_config(const DecoderConfig& config, const std::string& where) {
  check_size(config.vocab_size, kMaxSize, "vocab_size", where);
  check_size(config.hidden_size, kMaxSize, "hidden_size", where);
  check_size(config.intermediate_size, kMaxSize, "intermediate_size", where);
  check_size(config.num_layers, kMaxLayers, "num_hidden_layers", where);
  check_size(config.num_heads, kMaxSize, "num_attention_heads", where);
  check_size(config.num_kv_heads, kMaxSize, "num_key_value_heads", where);
  check_size(config.head_dim, kMaxSize, "head_dim", where);
  if (config.num_heads % config.num_kv_heads != 0) {
    throw Error(where + ": num_attention_heads (" + std::to_string(config.num_heads) +
                ") is not a multiple of num_key_value_heads (" + std::to_string(config.num_kv_heads) + ")");
  }
  if (config.num_heads > kMaxSize / config.head_dim) {
    throw Error(where + ": num_attention_heads (" + std::to_string(config.num_heads) + ") times head_dim (" +
                std::to_string(config.head_dim) + ") is too large");
  }
  check_blocks(config, where);
  check_positions(config, where);
  check_attention(config, where);
  if (config.item_classes != 0) check_set_model(config, where);
}

std::vector<TensorSpec> tensor_specs(const DecoderConfig& config) {
  if (config.item_classes > 0) return set_tensor_specs(config);
  const std::int64_t width = config.hidden_size, inner = config.intermediate_size;
  const std::int64_t queries = config.num_heads * config.head_dim, keys = config.num_kv_heads * config.head_dim;
  const std::int64_t scaled = config.num_scaled_heads();
  std::vector<TensorSpec> specs = {{"model.embed_tokens.weight", {config.vocab_size, width}}};
  const auto add_linear = [&](const std::string& name, std::int64_t out, std::int64_t in, bool with_bias) {
    specs.push_back({name + ".weight", {out, in}});
    if (with_bias) specs.push_back({name + ".bias", {out}});
  };
  const auto add_norm = [&](const std::string& name, std::int64_t size) {
    specs.push_back({name + ".weight", {size}});
    if (config.norm == NormKind::kLayer) specs.push_back({name + ".bias", {size}});
  };
  if (config.positions == "learned") specs.push_back({"model.embed_positions.weight", {config.max_positions, width}});
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
    const std::string block = "model.layers." + std::to_string(layer) + ".", attention = block + "self_attn.";
    add_norm(block + "input_layernorm", width);
    add_linear(attention + "q_proj", queries, width, config.qkv_bias);
    add_linear(attention + "k_proj", keys, width, config.qkv_bias);
    add_linear(attention + "v_proj", keys, width, config.qkv_bias);
    if (config.qk_norm) {
      specs.push_back({attention + "q_norm.weight", {config.head_dim}});
      specs.push_back({attention + "k_norm.weight", {config.head_dim}});
    }
    if (scaled > 0) {
      if (config.attn_scale_type == "nakanishi" || config.attn_scale_type == "learn") {
        specs.push_back({attention + "attn_scale_beta", {1, scaled, 1, 1}});
      }
      if (config.attn_scale_type == "learn") specs.push_back({attention + "attn_scale_gamma", {1, scaled, 1, 1}});
      if (config.attn_scale_type == "adapt-softplus-tanh") {
        for (const char* name : {"attn_scale_beta_proj", "attn_scale_gamma_proj"}) {
          add_linear(attention + name, scaled, width, config.attn_scale_proj_bias);
        }
      }
      if (config.attn_scale_type == "theta") specs.push_back({attention + "attn_scale_log_theta", {scaled}});
    }
    if (config.alpha_learnable) specs.push_back({attention + "entmax_alpha_logit", {config.num_heads}});
    add_linear(attention + "o_proj", width, queries, config.o_bias);
    if (config.post_norms) add_norm(block + "post_attention_layernorm", width);
    add_norm(block + "pre_feedforward_layernorm", width);
    if (config.gated_mlp) add_linear(block + "mlp.gate_proj", inner, width, config.mlp_bias);
    add_linear(block + "mlp.up_proj", inner, width, config.mlp_bias);
    add_linear(block + "mlp.down_proj", width, inner, config.mlp_bias);
    if (config.post_norms) add_norm(block + "post_feedforward_layernorm", width);
  }
  add_norm("model.norm", width);
  if (!config.tie_word_embeddings) specs.push_back({"lm_head.weight", {config.vocab_size, width}});
  return specs;
}

std::int64_t num_elements(const TensorSpec& spec) {
  std::int64_t elements = 1;
  for (const std::int64_t size : spec.shape) elements *= size;
  return elements;
}

std::int64_t num_parameters(const DecoderConfig& config) {
  std::int64_t total = 0;
  for (const TensorSpec& spec : tensor_specs(config)) total += num_elements(spec);
  return total;
}

std::vector<double> alibi_slopes(const DecoderConfig& config) {
  const std::int64_t heads = config.num_heads;
  std::vector<double> slopes(static_cast<std::size_t>(heads), 0.0);
  if (config.positions == "nape") {
    for (std::int64_t h = 0; h < config.alibi_num_heads; ++h) {
      slopes[static_cast<std::size_t>(h)] =
          config.alibi_slope_type == "exp" ? std::ldexp(1.0, -static_cast<int>(h)) : 1.0 / static_cast<double>(h + 1);
    }
  } else if (config.positions == "alibi") {
    // Press et al. 2022: a geometric sequence for the largest power of two, then every other one of twice as many.
    std::int64_t power = 1;
    while (power * 2 <= heads) power *= 2;
    for (std::int64_t h = 0; h < heads; ++h) {
      const double exponent = h < power ? 8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                                        : 4.0 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(power);
      slopes[static_cast<std::size_t>(h)] = std::exp2(-exponent);
    }
  }
  return slopes;
}

}  // namespace lenbench
