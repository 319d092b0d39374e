// Qwen 2 and 2.5: Llama's blocks with biases on queries, keys and values, and windows in the later layers if switched
// on.
#include <nlohmann/json.hpp>

#include "checkpoint/config_keys.h"
#include "checkpoint/family.h"

namespace lenbench {
namespace {

DecoderConfig read(const nlohmann::ordered_json& json, const std::string& where) {
  ConfigKeys keys(json, where);
  DecoderConfig config = read_llama_like(keys, "qwen2");
  read_rope(keys, config);
  config.qkv_bias = true;
  read_qwen_windows(keys, config);
  keys.finish();
  return config;
}

}  // namespace

Family family_qwen2() {
  Family family = family_llama();
  family.name = "qwen2";
  family.architectures = {"Qwen2ForCausalLM"};
  family.model_type = "qwen2";
  family.read = read;
  return family;
}

}  // namespace lenbench
