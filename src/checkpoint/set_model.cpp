// Shapes and sizes of a model of sets.
#include "checkpoint/set_model.h"

#include "base/error.h"

namespace lenbench {

void check_set_model(const DecoderConfig& config, const std::string& where) {
  const auto refuse = [&](const std::string& what) { throw Error(where + ": item_classes is above 0: " + what); };
  if (config.item_classes < 2 || config.item_classes >= config.vocab_size) {
    refuse("it must be at least 2 and below vocab_size, not " + std::to_string(config.item_classes));
  }
  if (config.num_layers != 1) refuse("num_hidden_layers must be 1, not " + std::to_string(config.num_layers));
  if (config.positions != "nope") refuse("a set has no positions, so '" + config.positions + "' must be switched off");
  if (config.tie_word_embeddings) refuse("tie_word_embeddings must be false, because there is no embedding");
}

std::vector<TensorSpec> set_tensor_specs(const DecoderConfig& config) {
  const std::int64_t width = config.hidden_size, inner = config.intermediate_size;
  std::vector<TensorSpec> specs;
  const auto add = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    const std::int64_t sizes[] = {in, inner, out};
    for (int i = 0; i < 2; ++i) {
      const std::string layer = name + "." + std::to_string(i);
      specs.push_back({layer + ".weight", {sizes[i + 1], sizes[i]}});
      specs.push_back({layer + ".bias", {sizes[i + 1]}});
    }
  };
  add("item_encoder", config.item_classes + 1, width);
  add("query_encoder", 1, width);
  DecoderConfig decoder = config;
  decoder.item_classes = 0;
  for (TensorSpec& spec : tensor_specs(decoder)) {
    if (spec.name.find(".self_attn.") != std::string::npos) specs.push_back(std::move(spec));
  }
  add("classifier", width, config.item_classes);
  return specs;
}

std::int64_t predicted_set_bytes(const DecoderConfig& config, std::int64_t element_bytes, std::int64_t batch,
                                 std::int64_t tokens) {
  const std::int64_t items = tokens / 2, attended = config.num_heads * config.head_dim;
  // Ids twice; of each item: what the encoder reads and makes, keys and values, and a row of scores with its weights.
  const std::int64_t of_items =
      2 * (config.item_classes + 1) + 2 * config.intermediate_size + config.hidden_size + 2 * attended;
  constexpr std::int64_t kConstantBytes = std::int64_t{8} << 20;
  return batch * (16 * tokens + items * (element_bytes * of_items + 32 * config.num_heads)) + kConstantBytes;
}

}  // namespace lenbench
