// Mistral: Llama's blocks with a sliding window in every layer.
#include <nlohmann/json.hpp>

#include "checkpoint/config_keys.h"
#include "checkpoint/family.h"

namespace lenbench {
namespace {

DecoderConfig read(const nlohmann::ordered_json& json, const std::string& where) {
  ConfigKeys keys(json, where);
  DecoderConfig config = read_llama_like(keys, "mistral");
  if (!json.contains("num_key_value_heads")) config.num_kv_heads = 8;
  read_rope(keys, config);
  // Absent is transformers' default, null is no window.
  const std::int64_t window = json.contains("sliding_window") ? keys.size("sliding_window", 0) : 4096;
  read_windows(keys, config, window, [](std::int64_t) { return true; });
  keys.finish();
  return config;
}

}  // namespace

Family family_mistral() {
  Family family = family_llama();
  family.name = "mistral";
  family.architectures = {"MistralForCausalLM"};
  family.model_type = "mistral";
  family.read = read;
  return family;
}

}  // namespace lenbench
