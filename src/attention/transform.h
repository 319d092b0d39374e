// Attention transforms: how scores become weights. A transform is a query scale (what multiplies q before the scores)
// and a normalizer (what maps a row of scores to the simplex). Sources: paper.md 1.1 to 1.4 (arXiv 2506.16640).
// Letters: B rows of a batch, T tokens, E width of the block input, H query heads, S scaled heads.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lenbench {

// The map of complete rows of scores to weights.
struct Normalizer {
  enum class Kind { kSoftmax, kEntmax, kTopK };
  Kind kind = Kind::kSoftmax;
  double alpha = 1.0;            // kEntmax: in (1, 2], the same for every head, unless alpha_minus_one_H is defined
  at::Tensor alpha_minus_one_H;  // kEntmax: learnable, [H] in (0, 1), carries the gradient; undefined: fixed alpha
  std::int64_t topk = 0;         // kTopK: softmax over the K largest scores of a row (all, if it has fewer)
  bool adaptive = false;         // kSoftmax, inference only: scores times max(P(entropy), 1) where entropy > 0.5 nats
};

// Everything that fixes a transform. A named transform (transform_spec) fills it; a checkpoint may combine freely.
struct TransformSpec {
  std::string name = "softmax";  // display name
  // "none"; "nakanishi" (SSMax): s_h ln(i+2); "learn": delta + beta_h ln(i+2)^gamma_h;
  // "adapt-softplus-tanh" (ASEntmax): delta + softplus(W_b h + b_b) ln(i+2)^(gamma_range tanh(W_g h + b_g));
  // "theta": 1/theta_h with theta = exp(log theta); "fixed": scale_s ln(i+2), the same for every head, nothing trained.
  // i is the 0-based absolute position of the query.
  std::string scale = "none";
  double scale_delta = 1.0;
  double scale_gamma_range = 2.0;
  bool scale_proj_bias = false;
  double scale_s = 1.0;
  Normalizer::Kind normalizer = Normalizer::Kind::kSoftmax;
  double alpha = 1.0;  // kEntmax: fixed value, or the initial one (in (1, 2), exclusive) if alpha_learnable
  bool alpha_learnable = false;
  std::int64_t topk = 0;
  bool adaptive = false;
};

struct TransformInfo {
  std::string name;
  std::string summary;  // one line for `list transforms`
  TransformSpec spec;   // defaults of the named transform
};
// softmax, ssmax, adaptive-temperature, entmax, entmax-learned-alpha, asentmax, asentmax-learned-alpha,
// learned-scale, entmax-theta, entmax-theta-learned-alpha, topk.
const std::vector<TransformInfo>& transform_catalog();
// Throws Error with did-you-mean for an unknown name.
TransformSpec transform_spec(const std::string& name);

// A tensor that a transform reads, by its name in a checkpoint below `model.layers.N.self_attn.`.
struct TransformParameter {
  enum class Init {
    kConstant,    // a everywhere
    kNormal,      // mean a, standard deviation b
    kUniform,     // [a, b)
    kProjection,  // weight of a linear map: the trainer's rule for scaler projections; reference: N(0, b = 0.02)
  };
  std::string name;
  std::vector<std::int64_t> shape;
  Init init = Init::kConstant;
  double a = 0, b = 0;
};
// Fills `tensor` in place (no gradient recorded) with the initial value that the spec names.
void fill_initial(at::Tensor& tensor, const TransformParameter& spec, std::optional<at::Generator> generator);

// Parameters of one layer by relative name.
using TransformWeights = std::map<std::string, at::Tensor>;

// A transform with its sizes and scaled heads fixed; weights are passed in, so one object serves every layer.
class AttentionTransform {
 public:
  // `scaled_heads` ascending, from PositionEncoding::scaled_heads(). Throws Error naming the field for a value out of
  // range (alpha outside (1, 2], topk < 1, unknown scale, adaptive with anything but softmax, ...).
  AttentionTransform(TransformSpec spec, std::int64_t num_heads, std::int64_t hidden_size,
                     std::vector<std::int64_t> scaled_heads);
  const TransformSpec& spec() const { return spec_; }
  const std::vector<std::int64_t>& scaled_heads() const { return scaled_heads_; }

  // Names, shapes and initial values; S = scaled_heads().size(); nothing for a scale when S is 0.
  //   nakanishi            attn_scale_beta [1, S, 1, 1]
  //   learn                attn_scale_beta, attn_scale_gamma [1, S, 1, 1]
  //   adapt-softplus-tanh  attn_scale_{beta,gamma}_proj.weight [S, E], .bias [S] if scale_proj_bias
  //   theta                attn_scale_log_theta [S]                 (ours)
  //   learnable alpha      entmax_alpha_logit [H], alpha = 1 + sigmoid(logit)   (ours)
  std::vector<TransformParameter> parameters() const;

  // What multiplies q of head h at row t: [B, H, T] (or [1, H, T]) in hidden's type, exactly 1 for heads that are not
  // scaled; undefined when no head is scaled. hidden_BTE is the attention block's input (after the pre-attention norm);
  // positions int64 [B, T] or [1, T]. Apply after rotation. Differentiable.
  at::Tensor query_scale(const TransformWeights& weights, const at::Tensor& hidden_BTE,
                         const at::Tensor& positions_BT) const;

  // The normalizer with this layer's learnable alpha, if any.
  Normalizer normalizer(const TransformWeights& weights) const;

 private:
  TransformSpec spec_;
  std::int64_t num_heads_, hidden_size_;
  std::vector<std::int64_t> scaled_heads_;
};

// Applied factor max(P(H), 1) where H > 0.5, else 1, of adaptive temperature (arXiv 2410.01104; paper.md 1.4), with
// P's coefficients highest degree first. `entropy` in nats, any shape.
at::Tensor adaptive_factor(const at::Tensor& entropy);
double adaptive_factor(double entropy);

}  // namespace lenbench
