// What a decoder of the reference family computes, read strictly from a Hugging Face config.json.
//
// The family: Gemma-2 blocks with sparse attention, `architectures: ["SparseGemma2ForCausalLM"]`, as saved by the code
// of "Long-Context Generalization with Sparse Attention" (arXiv 2506.16640). Keys that change nothing are accepted;
// any other key that is not known is refused, because it might change the computation.
//
// What that code cannot express is saved with `architectures: ["LenbenchForCausalLM"]` and one more object, `lenbench`,
// with these keys (all optional):
//   apply_alibi           true: geometric ALiBi slopes on every head (false); needs apply_rotary and apply_nape false
//   alpha_learnable       true: alpha_h = 1 + sigmoid(self_attn.entmax_alpha_logit[h]) (false); entmax_alpha, in
//                         (1, 2), is then the value training started from
//   theta                 true: scores of scaled heads are divided by exp(self_attn.attn_scale_log_theta) (false)
//   adaptive_temperature  true: softmax with adaptive temperature (false); entmax_alpha must be 1
//   item_classes          above 0: a model of sets with so many classes, see set_model.h (0)
// A file with one of these set is not a model of the reference, so its architecture name differs and the reference's
// own loader refuses it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lenbench {

struct DecoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;  // divides num_heads
  std::int64_t head_dim = 0;
  bool tie_word_embeddings = false;
  double rms_norm_eps = 1e-6;

  std::string positions = "rope";           // "nope", "rope", "alibi", "nape": names of attention/position.h
  double rope_theta = 10000.0;              // rope
  std::int64_t alibi_num_heads = 0;         // nape: the first heads carry a bias; the reader resolves "half"
  std::string alibi_slope_type = "linear";  // nape: "linear" or "exp"

  std::string attn_scale_type = "none";  // "none", "nakanishi", "learn", "adapt-softplus-tanh", "theta"
  double attn_scale_delta = 1.0;
  double attn_scale_gamma_range = 2.0;
  bool attn_scale_proj_bias = false;

  double entmax_alpha = 1.0;  // 1: softmax; else entmax in (1, 2]
  bool alpha_learnable = false;
  bool adaptive_temperature = false;
  std::int64_t item_classes = 0;  // > 0: no decoder but a model of sets (set_model.h), with so many classes
  std::int64_t topk_size = 0;     // > 0: softmax over the K largest scores; entmax_alpha is then 1

  bool operator==(const DecoderConfig&) const = default;

  // Ids that the model can answer with: all, or the classes of a model of sets.
  std::int64_t num_outputs() const { return item_classes > 0 ? item_classes : vocab_size; }
  // Heads that the length scale or theta applies to: under nape those without a bias, else all.
  std::int64_t num_scaled_heads() const;
  // The name of the attention transform as in `lenbench list transforms`, e.g. "asentmax", with what that name leaves
  // open in brackets, e.g. "entmax(alpha=1.7)", and a scale that it does not imply after a plus sign.
  std::string transform_name() const;
};

// Throws Error opening with `where` for sizes below 1 or beyond 2^24, heads not divisible by key/value heads, numbers
// out of range, combinations that have no meaning.
void check_config(const DecoderConfig& config, const std::string& where);

// Reads the text of a config.json. Throws Error opening with `where`, naming the key and the value.
DecoderConfig parse_config(std::string_view text, const std::string& where);

// The config.json that parse_config turns back into an equal DecoderConfig.
nlohmann::ordered_json config_to_json(const DecoderConfig& config);

// Name and shape of every tensor of the model, in the order of the computation; `lm_head.weight` only if untied.
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
};
std::vector<TensorSpec> tensor_specs(const DecoderConfig& config);

std::int64_t num_parameters(const DecoderConfig& config);

// ALiBi slopes per head; 0: no bias. For `inspect`; the model takes them from attention/position.h.
std::vector<double> alibi_slopes(const DecoderConfig& config);

}  // namespace lenbench
