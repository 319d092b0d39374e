// Strict reading of configuration keys, and what the rotary families share.
#include "checkpoint/config_keys.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;

// Bookkeeping, generation defaults, training.
constexpr const char* kHarmless[] = {"_attn_implementation",
                                     "_attn_implementation_autoset",
                                     "_commit_hash",
                                     "_name_or_path",
                                     "architectures",
                                     "attention_dropout",
                                     "attn_pdrop",
                                     "auto_map",
                                     "bad_words_ids",
                                     "begin_suppress_tokens",
                                     "bos_token_id",
                                     "cache_implementation",
                                     "chunk_size_feed_forward",
                                     "classifier_dropout",
                                     "cls_token_id",
                                     "cross_attention_hidden_size",
                                     "decoder_start_token_id",
                                     "diversity_penalty",
                                     "do_sample",
                                     "dtype",
                                     "early_stopping",
                                     "embd_pdrop",
                                     "encoder_no_repeat_ngram_size",
                                     "eos_token_id",
                                     "exponential_decay_length_penalty",
                                     "finetuning_task",
                                     "forced_bos_token_id",
                                     "forced_eos_token_id",
                                     "gradient_checkpointing",
                                     "hidden_dropout",
                                     "id2label",
                                     "initializer_range",
                                     "is_causal",
                                     "is_decoder",
                                     "label2id",
                                     "length_penalty",
                                     "mask_token_id",
                                     "max_length",
                                     "max_new_tokens",
                                     "min_length",
                                     "model_type",
                                     "name_or_path",
                                     "no_repeat_ngram_size",
                                     "num_beam_groups",
                                     "num_beams",
                                     "num_labels",
                                     "num_return_sequences",
                                     "output_attentions",
                                     "output_hidden_states",
                                     "output_past",
                                     "output_scores",
                                     "pad_token_id",
                                     "prefix",
                                     "pretraining_tp",
                                     "problem_type",
                                     "remove_invalid_values",
                                     "remove_unused_columns",
                                     "repetition_penalty",
                                     "resid_pdrop",
                                     "return_dict",
                                     "return_dict_in_generate",
                                     "sep_token_id",
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
                                     "unk_token_id",
                                     "use_bfloat16",
                                     "use_cache"};

[[noreturn]] void refuse(const std::string& where, const std::string& key, const char* wanted, const Json& value) {
  throw Error(where + ": " + key + " must be " + wanted + ", got " + printable(value.dump()));
}

struct ActivationName {
  const char* name;
  Activation activation;
};
// transformers' names of the same function.
constexpr ActivationName kActivations[] = {
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"quick_gelu", Activation::kQuickGelu},
    {"relu", Activation::kRelu},
};

}  // namespace

ConfigKeys::ConfigKeys(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
  known_ = {"architectures", "model_type"};
  const auto one = json_.find("dtype"), other = json_.find("torch_dtype");
  if (one != json_.end() && other != json_.end() && !one->is_null() && !other->is_null() && *one != *other) {
    throw Error(where_ + ": dtype is " + printable(one->dump()) + " and torch_dtype " + printable(other->dump()) +
                "; they must agree");
  }
}

bool ConfigKeys::holds(const std::string& key) const { return json_.contains(key); }

const Json* ConfigKeys::find(const std::string& key) {
  known_.insert(key);
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> ConfigKeys::size(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer()) refuse(where_, key, "an integer", *value);
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse(where_, key, "below 2^63", *value);
  }
  return value->get<std::int64_t>();
}

std::int64_t ConfigKeys::required_size(const std::string& key) {
  const std::optional<std::int64_t> value = size(key);
  if (!value) throw Error(where_ + ": '" + key + "' is missing");
  return *value;
}

std::optional<double> ConfigKeys::real(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse(where_, key, "a number", *value);
  return value->get<double>();
}

bool ConfigKeys::flag(const std::string& key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse(where_, key, "true or false", *value);
  return value->get<bool>();
}

std::optional<std::string> ConfigKeys::text(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(where_, key, "a string", *value);
  return value->get<std::string>();
}

void ConfigKeys::ignore(std::initializer_list<const char*> keys) {
  for (const char* key : keys) known_.insert(key);
}

void ConfigKeys::refuse_unless_off(const std::string& key, const std::string& why) {
  const Json* value = find(key);
  if (value == nullptr || says_no(*value)) return;
  throw Error(where_ + ": " + key + " is " + printable(value->dump()) + "; " + why);
}

void ConfigKeys::finish() {
  for (const char* key : {"add_cross_attention", "is_encoder_decoder", "pruned_heads"}) {
    refuse_unless_off(key, "only decoders with self-attention are supported");
  }
  refuse_unless_off("quantization_config", "quantized weights are not supported; convert them to F32, F16 or BF16");
  for (const auto& item : json_.items()) {
    if (known_.contains(item.key()) || is_harmless_key(item.key())) continue;
    throw Error(where_ + ": key '" + printable(item.key()) + "' (" + printable(item.value().dump()) +
                ") is not known for this family" +
                did_you_mean(item.key(), std::vector<std::string>(known_.begin(), known_.end())) +
                "; it may change what the model computes, so remove it only if it does not");
  }
}

bool says_no(const Json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
         ((value.is_object() || value.is_array()) && value.empty());
}

bool is_harmless_key(const std::string& key) {
  return std::any_of(std::begin(kHarmless), std::end(kHarmless), [&](const char* name) { return key == name; });
}

Activation parse_activation(const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  for (const ActivationName& row : kActivations) {
    if (name == row.name) return row.activation;
    known.emplace_back(row.name);
  }
  throw Error(where + ": activation '" + printable(name) + "' is not supported" + did_you_mean(name, known) +
              "; known are " + join(known, ", "));
}

}  // namespace lenbench
