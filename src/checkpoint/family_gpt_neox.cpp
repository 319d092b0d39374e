// GPT-NeoX and Pythia: LayerNorm, partly rotating heads, attention and MLP side by side or one after the other,
// queries, keys and values of a head fused into one matrix.
#include <nlohmann/json.hpp>

#include "checkpoint/config_keys.h"
#include "checkpoint/family.h"

namespace lenbench {
namespace {

DecoderConfig read(const nlohmann::ordered_json& json, const std::string& where) {
  ConfigKeys keys(json, where);
  DecoderConfig config = read_sizes(keys, "gpt_neox");
  read_rope(keys, config, 0.25);
  config.norm = NormKind::kLayer;
  config.norm_eps = keys.real("layer_norm_eps", 1e-5);
  config.parallel_residual = keys.flag("use_parallel_residual", true);
  config.activation = parse_activation(keys.text("hidden_act", "gelu"), where + ": hidden_act");
  config.gated_mlp = false;
  config.qkv_bias = config.o_bias = keys.flag("attention_bias", true);
  config.mlp_bias = true;
  keys.finish();
  return config;
}

}  // namespace

Family family_gpt_neox() {
  Family family;
  family.name = "gpt_neox";
  family.architectures = {"GPTNeoXForCausalLM"};
  family.model_type = "gpt_neox";
  family.prefix = "gpt_neox.";
  family.names = {{"model.embed_tokens", "gpt_neox.embed_in"},
                  {"model.norm", "gpt_neox.final_layer_norm"},
                  {"lm_head", "embed_out"},
                  {"self_attn.q_proj", "attention.query_key_value", Layout::kQkvByHead},
                  {"self_attn.k_proj", "attention.query_key_value", Layout::kQkvByHead},
                  {"self_attn.v_proj", "attention.query_key_value", Layout::kQkvByHead},
                  {"self_attn.o_proj", "attention.dense"},
                  {"pre_feedforward_layernorm", "post_attention_layernorm"},
                  {"mlp.up_proj", "mlp.dense_h_to_4h"},
                  {"mlp.down_proj", "mlp.dense_4h_to_h"}};
  family.not_weights = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"};
  family.read = read;
  return family;
}

}  // namespace lenbench
