// What a decoder configuration means: ranges, names, tensors.
#include "checkpoint/config.h"

#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "checkpoint/set_model.h"

namespace lenbench {
namespace {

// Keeps the number of parameters of any accepted configuration within 63 bits.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
constexpr std::int64_t kMaxLayers = 1000;

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
  if (name != "nope" && name != "rope" && name != "alibi" && name != "nape") {
    throw Error(where + ": unknown position encoding '" + name + "'; known are nope, rope, alibi, nape");
  }
  if (name == "rope") {
    if (config.head_dim % 2 != 0) {
      throw Error(where + ": head_dim is " + std::to_string(config.head_dim) + "; rotary positions need an even one");
    }
    if (!std::isfinite(config.rope_theta) || config.rope_theta <= 0) {
      throw Error(where + ": rope_theta must be a finite number above 0");
    }
  }
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
      scale != "theta") {
    throw Error(where + ": attn_scale_type '" + scale +
                "' is not known; use nakanishi, learn, adapt-softplus-tanh or null");
  }
  check_finite(config.attn_scale_delta, "attn_scale_delta", where);
  check_finite(config.attn_scale_gamma_range, "attn_scale_gamma_range", where);
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

}  // namespace

std::int64_t DecoderConfig::num_scaled_heads() const {
  return positions == "nape" ? num_heads - alibi_num_heads : num_heads;
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
  if (!std::isfinite(config.rms_norm_eps) || config.rms_norm_eps < 0) {
    throw Error(where + ": rms_norm_eps must be a finite number of at least 0");
  }
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
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
      specs.push_back({prefix + name + ".weight", std::move(shape)});
    };
    const auto add_exact = [&](const char* name, std::vector<std::int64_t> shape) {
      specs.push_back({prefix + "self_attn." + name, std::move(shape)});
    };
    add("input_layernorm", {width});
    add("self_attn.q_proj", {queries, width});
    add("self_attn.k_proj", {keys, width});
    add("self_attn.v_proj", {keys, width});
    if (scaled > 0) {
      if (config.attn_scale_type == "nakanishi" || config.attn_scale_type == "learn") {
        add_exact("attn_scale_beta", {1, scaled, 1, 1});
      }
      if (config.attn_scale_type == "learn") add_exact("attn_scale_gamma", {1, scaled, 1, 1});
      if (config.attn_scale_type == "adapt-softplus-tanh") {
        for (const std::string name : {"attn_scale_beta_proj", "attn_scale_gamma_proj"}) {
          add_exact((name + ".weight").c_str(), {scaled, width});
          if (config.attn_scale_proj_bias) add_exact((name + ".bias").c_str(), {scaled});
        }
      }
      if (config.attn_scale_type == "theta") add_exact("attn_scale_log_theta", {scaled});
    }
    if (config.alpha_learnable) add_exact("entmax_alpha_logit", {config.num_heads});
    add("self_attn.o_proj", {width, queries});
    add("post_attention_layernorm", {width});
    add("pre_feedforward_layernorm", {width});
    add("mlp.gate_proj", {inner, width});
    add("mlp.up_proj", {inner, width});
    add("mlp.down_proj", {width, inner});
    add("post_feedforward_layernorm", {width});
  }
  specs.push_back({"model.norm.weight", {width}});
  if (!config.tie_word_embeddings) specs.push_back({"lm_head.weight", {config.vocab_size, width}});
  return specs;
}

std::int64_t num_parameters(const DecoderConfig& config) {
  std::int64_t total = 0;
  for (const TensorSpec& spec : tensor_specs(config)) {
    std::int64_t elements = 1;
    for (const std::int64_t size : spec.shape) elements *= size;
    total += elements;
  }
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
