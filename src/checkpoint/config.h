// What a decoder computes, whichever family it is of, read strictly from a Hugging Face config.json.
//
// Families are listed in families.def, one file each: family.h has what a family says of itself. Keys that change
// nothing are accepted; any other key that is not known is refused, because it might change the computation. The
// defaults of DecoderConfig are those of lenbench's own family (family_lenbench.cpp).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/rope_scaling.h"

namespace lenbench {

// Keeps the number of parameters of any accepted configuration within 63 bits.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxLayers = 1000;

enum class NormKind {
  kRmsOffset,  // x / rms(x) * (1 + w)
  kRms,        // x / rms(x) * w
  kLayer,      // (x - mean(x)) / std(x) * w + b
};

enum class Activation {
  kGeluTanh,   // GELU, tanh approximation
  kGelu,       // x Phi(x)
  kQuickGelu,  // x sigmoid(1.702 x)
  kSilu,       // x sigmoid(x)
  kRelu,
};

struct DecoderConfig {
  std::string family = "lenbench";  // a name of families.def

  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;  // divides num_heads
  std::int64_t head_dim = 0;
  bool tie_word_embeddings = false;

  NormKind norm = NormKind::kRmsOffset;
  double norm_eps = 1e-6;
  bool post_norms = true;          // further norms behind attention and MLP, before the residual sum
  bool parallel_residual = false;  // x + attention(norm(x)) + mlp(norm'(x)); else one after the other
  bool scale_embedding = true;     // by sqrt(hidden_size)
  Activation activation = Activation::kGeluTanh;
  bool gated_mlp = true;  // down(activation(gate x) * up x); else down(activation(up x))
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;               // RMSNorm of each head's queries and keys, before rotation
  double score_scale = 0;             // of q . k; 0: 1/sqrt(head_dim)
  bool score_scale_by_layer = false;  // divided by the layer's number, counted from 1
  double score_softcap = 0;           // > 0: scores become c tanh(score / c), before bias and mask
  double logit_softcap = 0;           // the same of the logits
  std::vector<std::int64_t> windows;  // [layers]: keys that a row sees, itself included; 0: all. Empty: all
  std::int64_t context = 0;           // tokens the model is made for, as its configuration says; 0: not said

  std::string positions = "rope";           // "nope", "rope", "alibi", "nape", "learned": as in attention/position.h
  double rope_theta = 10000.0;              // rope
  std::int64_t rotary_dim = 0;              // rope: the first channels of a head that rotate; 0: all
  RopeScaling rope_scaling;                 // rope
  std::int64_t max_positions = 0;           // learned: rows of the table
  std::int64_t alibi_num_heads = 0;         // nape: the first heads carry a bias; the reader resolves "half"
  std::string alibi_slope_type = "linear";  // nape: "linear" or "exp"

  std::string attn_scale_type = "none";  // "none", "nakanishi", "learn", "adapt-softplus-tanh", "theta", "fixed"
  double attn_scale_delta = 1.0;
  double attn_scale_gamma_range = 2.0;
  bool attn_scale_proj_bias = false;

  double entmax_alpha = 1.0;  // 1: softmax; else entmax in (1, 2]
  bool alpha_learnable = false;
  bool adaptive_temperature = false;
  std::int64_t topk_size = 0;  // > 0: softmax over the K largest scores; entmax_alpha is then 1
  double ssmax_s = 0;          // attn_scale_type "fixed": queries times s ln(i + 2), i the 0-based position

  std::int64_t item_classes = 0;  // > 0: no decoder but a model of sets (set_model.h), with so many classes

  bool operator==(const DecoderConfig&) const = default;

  // Ids that the model can answer with: all, or the classes of a model of sets.
  std::int64_t num_outputs() const { return item_classes > 0 ? item_classes : vocab_size; }
  // Heads that the length scale or theta applies to: under nape those without a bias, else all.
  std::int64_t num_scaled_heads() const;
  std::int64_t rotated_channels() const { return rotary_dim > 0 ? rotary_dim : head_dim; }
  std::int64_t window(std::int64_t layer) const;  // 0: none
  double scale_of_scores(std::int64_t layer) const;
  // True where a row's logits depend on the length of the whole text (dynamic RoPE scaling), so that one pass over
  // prompt and answer is not what decoding would give.
  bool rows_depend_on_length() const { return positions == "rope" && rope_scaling.kind == RopeScaling::Kind::kDynamic; }
  // "rope", "rope+linear(factor=4)": the encoding with all that changes it.
  std::string positions_name() const;
  // The name of the attention transform as in `lenbench list transforms`, e.g. "asentmax", with what that name leaves
  // open in brackets, e.g. "entmax(alpha=1.7)", and a scale that it does not imply after a plus sign.
  std::string transform_name() const;
};

// Throws Error opening with `where` for sizes below 1 or beyond 2^24, heads not divisible by key/value heads, numbers
// out of range, combinations that have no meaning.
void check_config(const DecoderConfig& config, const std::string& where);

// Reads the text of a config.json. Throws Error opening with `where`, naming the key and the value.
DecoderConfig parse_config(std::string_view text, const std::string& where);

// The config.json that parse_config turns back into an equal DecoderConfig. lenbench's own family only;
// std::invalid_argument otherwise.
nlohmann::ordered_json config_to_json(const DecoderConfig& config);

// Name and shape of every parameter of the model, in the order of the computation; `lm_head.weight` only if untied. The
// names are those of lenbench's own family; what a family calls them in its files says family.h.
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
};
std::vector<TensorSpec> tensor_specs(const DecoderConfig& config);
std::int64_t num_elements(const TensorSpec& spec);

std::int64_t num_parameters(const DecoderConfig& config);

// ALiBi slopes per head; 0: no bias. For `inspect`; the model takes them from attention/position.h.
std::vector<double> alibi_slopes(const DecoderConfig& config);

}  // namespace lenbench
