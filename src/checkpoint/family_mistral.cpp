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
  read_windows(keys, config, read_window(keys, 4096), [](std::int64_t) { return true; });
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
