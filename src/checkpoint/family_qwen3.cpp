// Qwen 3: Qwen 2 with RMSNorm of each head's queries and keys in place of the biases.
#include <nlohmann/json.hpp>

#include "checkpoint/config_keys.h"
#include "checkpoint/family.h"

namespace lenbench {
namespace {

DecoderConfig read(const nlohmann::ordered_json& json, const std::string& where) {
  ConfigKeys keys(json, where);
  DecoderConfig config = read_llama_like(keys, "qwen3");
  if (keys.find("head_dim") == nullptr) config.head_dim = 128;
  read_rope(keys, config);
  config.qkv_bias = config.o_bias = keys.flag("attention_bias", false);
  config.qk_norm = true;
  read_qwen_windows(keys, config);
  keys.finish();
  return config;
}

}  // namespace

Family family_qwen3() {
  Family family = family_llama();
  family.name = "qwen3";
  family.architectures = {"Qwen3ForCausalLM"};
  family.model_type = "qwen3";
  family.read = read;
  return family;
}

}  // namespace lenbench
