// Gemma 2 as Google trained it: norms before and after attention and MLP with 1 + w, scaled embeddings, capped scores
// and logits, a window in every second layer. (lenbench's own family has the same blocks without capping and windows.)
#include <nlohmann/json.hpp>

#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/config_keys.h"
#include "checkpoint/family.h"

namespace lenbench {
namespace {

// A cap: absent is transformers' default, null is none.
double read_cap(ConfigKeys& keys, const nlohmann::ordered_json& json, const char* key, double fallback) {
  return json.contains(key) ? keys.real(key, 0) : fallback;
}

DecoderConfig read(const nlohmann::ordered_json& json, const std::string& where) {
  ConfigKeys keys(json, where);
  DecoderConfig config = read_llama_like(keys, "gemma2");
  if (!json.contains("num_key_value_heads")) config.num_kv_heads = 4;
  if (keys.find("head_dim") == nullptr) config.head_dim = 256;
  read_rope(keys, config);
  config.norm = NormKind::kRmsOffset;
  config.post_norms = true;
  config.scale_embedding = true;
  // hidden_act is written too, and not read.
  config.activation =
      parse_activation(keys.text("hidden_activation", "gelu_pytorch_tanh"), where + ": hidden_activation");
  config.tie_word_embeddings = keys.flag("tie_word_embeddings", true);
  config.qkv_bias = config.o_bias = keys.flag("attention_bias", false);
  const double scalar = keys.real("query_pre_attn_scalar", 256);
  if (!(scalar > 0) || !std::isfinite(scalar)) {
    throw Error(where + ": query_pre_attn_scalar is " + format_real(scalar) + "; it must be above 0");
  }
  config.score_scale = 1.0 / std::sqrt(scalar);
  config.score_softcap = read_cap(keys, json, "attn_logit_softcapping", 50);
  config.logit_softcap = read_cap(keys, json, "final_logit_softcapping", 30);
  read_windows(keys, config, read_window(keys, 4096), [](std::int64_t layer) { return layer % 2 == 0; });
  keys.refuse_unless_off("use_bidirectional_attention", "only causal attention is supported");
  keys.ignore({"hidden_act"});
  keys.finish();
  return config;
}

}  // namespace

Family family_gemma2() {
  Family family;
  family.name = "gemma2";
  family.architectures = {"Gemma2ForCausalLM"};
  family.model_type = "gemma2";
  family.not_weights = {".rotary_emb.inv_freq"};
  family.read = read;
  return family;
}

}  // namespace lenbench
