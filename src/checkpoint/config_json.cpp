// DecoderConfig from and to the text of a config.json.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "checkpoint/config.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReferenceArchitecture = "SparseGemma2ForCausalLM";
constexpr const char* kOwnArchitecture = "LenbenchForCausalLM";

// The keys that decide the computation, with the reference's names and defaults. Where none is allowed it stands for
// the default, as in files saved by Hugging Face.
struct ComputationKeys {
  std::int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
  std::optional<std::string> hidden_activation;
  std::optional<double> rms_norm_eps;
  std::optional<bool> tie_word_embeddings, attention_bias;
  std::optional<double> final_logit_softcapping;
  std::optional<bool> apply_rotary, apply_nape;
  std::optional<double> rope_theta;
  std::optional<std::int64_t> alibi_num_heads;
  std::optional<std::string> alibi_slope_type;
  std::optional<std::string> attn_type;
  double entmax_alpha = 1;
  std::optional<std::string> attn_scale_type;
  std::optional<double> attn_scale_delta, attn_scale_gamma_range;
  std::optional<bool> attn_scale_proj_bias;
  std::optional<bool> poly_fit;
  std::optional<std::int64_t> topk_size;
  std::optional<std::string> topk_length_rule;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("vocab_size", self.vocab_size);
    visit("hidden_size", self.hidden_size);
    visit("intermediate_size", self.intermediate_size);
    visit("num_hidden_layers", self.num_hidden_layers);
    visit("num_attention_heads", self.num_attention_heads);
    visit("num_key_value_heads", self.num_key_value_heads);
    visit("head_dim", self.head_dim);
    visit("hidden_activation", self.hidden_activation);
    visit("rms_norm_eps", self.rms_norm_eps);
    visit("tie_word_embeddings", self.tie_word_embeddings);
    visit("attention_bias", self.attention_bias);
    visit("final_logit_softcapping", self.final_logit_softcapping);
    visit("apply_rotary", self.apply_rotary);
    visit("apply_nape", self.apply_nape);
    visit("rope_theta", self.rope_theta);
    visit("alibi_num_heads", self.alibi_num_heads);
    visit("alibi_slope_type", self.alibi_slope_type);
    visit("attn_type", self.attn_type);
    visit("entmax_alpha", self.entmax_alpha);
    visit("attn_scale_type", self.attn_scale_type);
    visit("attn_scale_delta", self.attn_scale_delta);
    visit("attn_scale_gamma_range", self.attn_scale_gamma_range);
    visit("attn_scale_proj_bias", self.attn_scale_proj_bias);
    visit("poly_fit", self.poly_fit);
    visit("topk_size", self.topk_size);
    visit("topk_length_rule", self.topk_length_rule);
  }
};

// The `lenbench` object.
struct OwnKeys {
  bool apply_alibi = false, alpha_learnable = false, theta = false, adaptive_temperature = false;
  std::int64_t item_classes = 0;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("apply_alibi", self.apply_alibi);
    visit.defaulted("alpha_learnable", self.alpha_learnable);
    visit.defaulted("theta", self.theta);
    visit.defaulted("adaptive_temperature", self.adaptive_temperature);
    visit.defaulted("item_classes", self.item_classes);
  }
};

// Keys that change nothing: bookkeeping, generation defaults, training, and what the reference's code ignores
// (query_pre_attn_scalar, sliding_window and attn_logit_softcapping: paper.md 3.1).
constexpr const char* kHarmless[] = {"_attn_implementation",
                                     "_attn_implementation_autoset",
                                     "_commit_hash",
                                     "_name_or_path",
                                     "architectures",
                                     "attention_dropout",
                                     "attn_logit_softcapping",
                                     "auto_map",
                                     "bad_words_ids",
                                     "begin_suppress_tokens",
                                     "bos_token_id",
                                     "cache_implementation",
                                     "chunk_size_feed_forward",
                                     "cross_attention_hidden_size",
                                     "decoder_start_token_id",
                                     "diversity_penalty",
                                     "do_sample",
                                     "dtype",
                                     "early_stopping",
                                     "encoder_no_repeat_ngram_size",
                                     "eos_token_id",
                                     "exponential_decay_length_penalty",
                                     "finetuning_task",
                                     "forced_bos_token_id",
                                     "forced_eos_token_id",
                                     "id2label",
                                     "initializer_range",
                                     "is_decoder",
                                     "label2id",
                                     "length_penalty",
                                     "max_length",
                                     "max_position_embeddings",
                                     "min_length",
                                     "model_type",
                                     "no_repeat_ngram_size",
                                     "num_beam_groups",
                                     "num_beams",
                                     "num_return_sequences",
                                     "output_attentions",
                                     "output_hidden_states",
                                     "output_scores",
                                     "pad_token_id",
                                     "prefix",
                                     "problem_type",
                                     "query_pre_attn_scalar",
                                     "remove_invalid_values",
                                     "repetition_penalty",
                                     "return_dict",
                                     "return_dict_in_generate",
                                     "sep_token_id",
                                     "sliding_window",
                                     "suppress_tokens",
                                     "task_specific_params",
                                     "temperature",
                                     "tf_legacy_loss",
                                     "tie_encoder_decoder",
                                     "tokenizer_class",
                                     "top_k",
                                     "top_p",
                                     "torch_dtype",
                                     "torchscript",
                                     "transformers_version",
                                     "typical_p",
                                     "use_bfloat16",
                                     "use_cache",
                                     "use_fast_attn"};

// Keys that change nothing as long as they say "no".
constexpr const char* kHarmlessIfEmpty[] = {"add_cross_attention", "is_encoder_decoder", "pruned_heads"};

bool is_empty(const Json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
         ((value.is_object() || value.is_array()) && value.empty());
}

// True for the `lenbench` architecture, false for the reference's.
bool check_architecture(const Json& json, const std::string& where) {
  const std::string wanted = std::string("[\"") + kReferenceArchitecture + "\"] or [\"" + kOwnArchitecture + "\"]";
  const auto found = json.find("architectures");
  if (found == json.end()) throw Error(where + ": 'architectures' is missing; it must be " + wanted);
  if (!found->is_array() || found->size() != 1 || !(*found)[0].is_string()) {
    throw Error(where + ": architectures must be " + wanted + ", got " + printable(found->dump()));
  }
  const auto& name = (*found)[0].get_ref<const std::string&>();
  if (name != kReferenceArchitecture && name != kOwnArchitecture) {
    throw Error(where + ": architecture '" + printable(name) + "' is not supported" +
                did_you_mean(name, {kReferenceArchitecture, kOwnArchitecture}) + "; supported are " + wanted);
  }
  const auto type = json.find("model_type");
  if (type != json.end() && *type != "gemma2") {
    throw Error(where + ": model_type must be \"gemma2\", got " + printable(type->dump()));
  }
  return name == kOwnArchitecture;
}

void check_rope_scaling(const Json& value, const std::string& where) {
  if (value.is_null()) return;
  bool is_default = value.is_object();
  if (is_default) {
    for (const auto& item : value.items()) {
      is_default = is_default && (item.key() == "rope_type" || item.key() == "type") && item.value() == "default";
    }
  }
  if (!is_default) {
    throw Error(where + ": rope_scaling must be null or {\"rope_type\": \"default\"}, got " + printable(value.dump()));
  }
}

// Removes what changes nothing; what is left must be ComputationKeys.
Json computation_only(const Json& json, const std::string& where) {
  Json left = Json::object();
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    const auto is_key = [&](const char* name) { return key == name; };
    if (std::any_of(std::begin(kHarmless), std::end(kHarmless), is_key)) continue;
    if (std::any_of(std::begin(kHarmlessIfEmpty), std::end(kHarmlessIfEmpty), is_key)) {
      if (is_empty(item.value())) continue;
      throw Error(where + ": " + key + " is not supported, got " + printable(item.value().dump()));
    }
    if (key == "rope_scaling") {
      check_rope_scaling(item.value(), where);
      continue;
    }
    if (key == "lenbench") continue;
    left[key] = item.value();
  }
  return left;
}

void refuse_unsupported(const ComputationKeys& keys, const Json& json, const std::string& where) {
  const std::string activation = keys.hidden_activation.value_or("gelu_pytorch_tanh");
  if (activation != "gelu_pytorch_tanh") {
    throw Error(where + ": hidden_activation '" + printable(activation) + "' is not supported; only gelu_pytorch_tanh");
  }
  if (keys.attention_bias.value_or(false)) throw Error(where + ": attention_bias true is not supported");
  if (!json.contains("final_logit_softcapping")) {
    throw Error(where +
                ": final_logit_softcapping is missing, and Gemma-2's default of 30 is not supported; write null if the "
                "model was trained without it");
  }
  if (keys.final_logit_softcapping) {
    throw Error(where + ": final_logit_softcapping " + format_real(*keys.final_logit_softcapping) +
                " is not supported; only null");
  }
  if (keys.poly_fit.value_or(false)) {
    throw Error(where +
                ": poly_fit true is not supported: the reference applies adaptive temperature with its coefficients "
                "reversed; set it to false and use --transform adaptive-temperature");
  }
  const std::string attention = keys.attn_type.value_or("regular");
  if (attention != "regular" && attention != "topk") {
    throw Error(where + ": attn_type '" + printable(attention) + "' is not supported; use regular or topk" +
                did_you_mean(attention, {"regular", "topk"}));
  }
  if (attention == "topk" && !keys.topk_size) throw Error(where + ": attn_type topk needs topk_size");
  if (attention == "topk" && keys.topk_length_rule) {
    throw Error(where + ": topk_length_rule '" + printable(*keys.topk_length_rule) +
                "' is not supported: a row would depend on the length of the whole text; only null");
  }
}

std::string positions_of(const ComputationKeys& keys, const OwnKeys& own, const std::string& where) {
  const bool rotary = keys.apply_rotary.value_or(true), nape = keys.apply_nape.value_or(false);
  if (rotary + nape + own.apply_alibi > 1) {
    throw Error(where + ": more than one position encoding is on (apply_rotary " + (rotary ? "true" : "false") +
                (keys.apply_rotary ? "" : " by default") + ", apply_nape " + (nape ? "true" : "false") +
                ", apply_alibi " + (own.apply_alibi ? "true" : "false") + "); set all but one to false");
  }
  return rotary ? "rope" : nape ? "nape" : own.apply_alibi ? "alibi" : "nope";
}

}  // namespace

DecoderConfig parse_config(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where);
  if (!json.is_object()) throw Error(where + ": must hold a JSON object");
  const bool is_own = check_architecture(json, where);
  OwnKeys own;
  if (json.contains("lenbench")) {
    if (!is_own) {
      throw Error(where + ": key 'lenbench' needs architectures [\"" + kOwnArchitecture + "\"]");
    }
    read_fields(json["lenbench"], own, where + ": lenbench");
  }
  ComputationKeys keys;
  read_fields(computation_only(json, where), keys, where);
  refuse_unsupported(keys, json, where);

  DecoderConfig config;
  config.vocab_size = keys.vocab_size;
  config.hidden_size = keys.hidden_size;
  config.intermediate_size = keys.intermediate_size;
  config.num_layers = keys.num_hidden_layers;
  config.num_heads = keys.num_attention_heads;
  config.num_kv_heads = keys.num_key_value_heads;
  config.head_dim = keys.head_dim;
  config.tie_word_embeddings = keys.tie_word_embeddings.value_or(false);
  config.rms_norm_eps = keys.rms_norm_eps.value_or(1e-6);
  config.positions = positions_of(keys, own, where);
  if (config.positions == "rope") config.rope_theta = keys.rope_theta.value_or(10000.0);
  if (config.positions == "nape") {
    config.alibi_num_heads = keys.alibi_num_heads.value_or(config.num_heads / 2);
    config.alibi_slope_type = keys.alibi_slope_type.value_or("linear");
  }
  config.attn_scale_type = keys.attn_scale_type.value_or("none");
  if (own.theta || config.attn_scale_type == "theta") {
    if (!own.theta || keys.attn_scale_type) {
      throw Error(where + ": theta is set in the lenbench object, and attn_scale_type must then be null");
    }
    config.attn_scale_type = "theta";
  }
  if (config.attn_scale_type == "learn" || config.attn_scale_type == "adapt-softplus-tanh") {
    config.attn_scale_delta = keys.attn_scale_delta.value_or(1.0);
  }
  if (config.attn_scale_type == "adapt-softplus-tanh") {
    config.attn_scale_gamma_range = keys.attn_scale_gamma_range.value_or(2.0);
    config.attn_scale_proj_bias = keys.attn_scale_proj_bias.value_or(false);
  }
  config.entmax_alpha = keys.entmax_alpha;
  config.alpha_learnable = own.alpha_learnable;
  config.adaptive_temperature = own.adaptive_temperature;
  config.item_classes = own.item_classes;
  if (keys.attn_type.value_or("regular") == "topk") {
    config.topk_size = *keys.topk_size;
    if (config.topk_size < 1) throw Error(where + ": topk_size must be at least 1");
  }
  check_config(config, where);
  return config;
}

Json config_to_json(const DecoderConfig& config) {
  check_config(config, "configuration");
  const OwnKeys own{config.positions == "alibi", config.alpha_learnable, config.attn_scale_type == "theta",
                    config.adaptive_temperature, config.item_classes};
  const bool is_own = !fields_equal(own, OwnKeys{});
  ComputationKeys keys;
  keys.vocab_size = config.vocab_size;
  keys.hidden_size = config.hidden_size;
  keys.intermediate_size = config.intermediate_size;
  keys.num_hidden_layers = config.num_layers;
  keys.num_attention_heads = config.num_heads;
  keys.num_key_value_heads = config.num_kv_heads;
  keys.head_dim = config.head_dim;
  keys.hidden_activation = "gelu_pytorch_tanh";
  keys.rms_norm_eps = config.rms_norm_eps;
  keys.tie_word_embeddings = config.tie_word_embeddings;
  keys.attention_bias = false;
  keys.apply_rotary = config.positions == "rope";
  keys.apply_nape = config.positions == "nape";
  if (config.positions == "rope") keys.rope_theta = config.rope_theta;
  if (config.positions == "nape") {
    keys.alibi_num_heads = config.alibi_num_heads;
    keys.alibi_slope_type = config.alibi_slope_type;
  }
  keys.attn_type = config.topk_size > 0 ? "topk" : "regular";
  if (config.topk_size > 0) keys.topk_size = config.topk_size;
  keys.entmax_alpha = config.entmax_alpha;
  if (config.attn_scale_type != "none" && config.attn_scale_type != "theta") {
    keys.attn_scale_type = config.attn_scale_type;
    keys.attn_scale_delta = config.attn_scale_delta;
    keys.attn_scale_gamma_range = config.attn_scale_gamma_range;
    keys.attn_scale_proj_bias = config.attn_scale_proj_bias;
  }
  keys.poly_fit = false;

  Json json = Json::object();
  json["architectures"] = {is_own ? kOwnArchitecture : kReferenceArchitecture};
  json["model_type"] = "gemma2";
  json.update(write_fields(keys));
  // Read by a plain Gemma-2 loader; ignored by the reference's code and here.
  json["attn_logit_softcapping"] = nullptr;
  if (is_own) json["lenbench"] = write_fields(own);
  return json;
}

}  // namespace lenbench
