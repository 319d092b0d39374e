// GPT-2: LayerNorm, a table of positions, weights stored [in, out] (Conv1D), queries, keys and values side by side.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/config_keys.h"
#include "checkpoint/family.h"

namespace lenbench {
namespace {

DecoderConfig read(const nlohmann::ordered_json& json, const std::string& where) {
  ConfigKeys keys(json, where);
  DecoderConfig config;
  config.family = "gpt2";
  config.vocab_size = keys.required_size("vocab_size");
  config.hidden_size = keys.required_size("n_embd");
  config.num_layers = keys.required_size("n_layer");
  config.num_heads = config.num_kv_heads = keys.required_size("n_head");
  if (config.num_heads < 1 || config.hidden_size % config.num_heads != 0) {
    throw Error(where + ": n_embd (" + std::to_string(config.hidden_size) + ") is not a multiple of n_head (" +
                std::to_string(config.num_heads) + ")");
  }
  config.head_dim = config.hidden_size / config.num_heads;
  config.intermediate_size = keys.size("n_inner", 0);
  if (config.intermediate_size == 0 && config.hidden_size < kMaxSize) config.intermediate_size = 4 * config.hidden_size;
  config.positions = "learned";
  config.max_positions = config.context = keys.required_size("n_positions");
  config.norm = NormKind::kLayer;
  config.norm_eps = keys.real("layer_norm_epsilon", 1e-5);
  config.post_norms = false;
  config.scale_embedding = false;
  config.activation = parse_activation(keys.text("activation_function", "gelu_new"), where + ": activation_function");
  config.gated_mlp = false;
  config.qkv_bias = config.o_bias = config.mlp_bias = true;
  if (!keys.flag("scale_attn_weights", true)) config.score_scale = 1;
  config.score_scale_by_layer = keys.flag("scale_attn_by_inverse_layer_idx", false);
  config.tie_word_embeddings = keys.flag("tie_word_embeddings", true);
  // reorder_and_upcast_attn: an order of operations for half precision. n_ctx: the older name of n_positions, unread.
  keys.ignore({"n_ctx", "reorder_and_upcast_attn", "summary_activation", "summary_first_dropout",
               "summary_proj_to_labels", "summary_type", "summary_use_proj"});
  keys.finish();
  return config;
}

}  // namespace

Family family_gpt2() {
  Family family;
  family.name = "gpt2";
  family.architectures = {"GPT2LMHeadModel"};
  family.model_type = "gpt2";
  family.prefix = "transformer.";
  family.layers = "h.";
  family.names = {{"model.embed_tokens", "transformer.wte"},
                  {"model.embed_positions", "transformer.wpe"},
                  {"model.norm", "transformer.ln_f"},
                  {"input_layernorm", "ln_1"},
                  {"self_attn.q_proj", "attn.c_attn", Layout::kQkvColumns},
                  {"self_attn.k_proj", "attn.c_attn", Layout::kQkvColumns},
                  {"self_attn.v_proj", "attn.c_attn", Layout::kQkvColumns},
                  {"self_attn.o_proj", "attn.c_proj", Layout::kTransposed},
                  {"pre_feedforward_layernorm", "ln_2"},
                  {"mlp.up_proj", "mlp.c_fc", Layout::kTransposed},
                  {"mlp.down_proj", "mlp.c_proj", Layout::kTransposed}};
  family.not_weights = {".attn.bias", ".attn.masked_bias"};
  family.read = read;
  return family;
}

}  // namespace lenbench
