// Llama 1 to 3: RMSNorm, rotary positions with any scaling, grouped key/value heads, SiLU-gated MLP.
#include <nlohmann/json.hpp>

#include "checkpoint/config_keys.h"
#include "checkpoint/family.h"

namespace lenbench {
namespace {

DecoderConfig read(const nlohmann::ordered_json& json, const std::string& where) {
  ConfigKeys keys(json, where);
  DecoderConfig config = read_llama_like(keys, "llama");
  read_rope(keys, config);
  config.qkv_bias = config.o_bias = keys.flag("attention_bias", false);
  config.mlp_bias = keys.flag("mlp_bias", false);
  keys.finish();
  return config;
}

}  // namespace

Family family_llama() {
  Family family;
  family.name = "llama";
  family.architectures = {"LlamaForCausalLM"};
  family.model_type = "llama";
  family.names = {{"pre_feedforward_layernorm", "post_attention_layernorm"}};
  family.not_weights = {".rotary_emb.inv_freq"};
  family.read = read;
  return family;
}

}  // namespace lenbench
