// The catalogue of transforms: specs, their parameters, query scales and normalizers.
#include "attention/transform.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/log.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <array>
#include <cmath>
#include <string>

#include "attention/scales.h"
#include "base/error.h"
#include "base/names.h"

namespace lenbench {
namespace {

constexpr const char* kAlphaLogit = "entmax_alpha_logit";
constexpr std::array<double, 5> kAdaptivePolynomial = {-0.037, 0.481, -2.3, 4.917, -1.791};  // highest degree first
constexpr double kAdaptiveMinEntropy = 0.5;

void check(const TransformSpec& spec, bool ok, const std::string& what) {
  if (!ok) throw Error("attention transform " + spec.name + ": " + what);
}

}  // namespace

const std::vector<TransformInfo>& transform_catalog() {
  static const std::vector<TransformInfo> catalog = [] {
    std::vector<TransformInfo> result;
    const auto add = [&](const char* name, const char* scale, Normalizer::Kind kind, double alpha, bool learnable,
                         std::int64_t topk, bool adaptive, const char* summary) {
      TransformSpec spec;
      spec.name = name;
      spec.scale = scale;
      spec.scale_proj_bias = spec.scale == "adapt-softplus-tanh";  // every recipe of the reference sets it
      spec.normalizer = kind;
      spec.alpha = alpha;
      spec.alpha_learnable = learnable;
      spec.topk = topk;
      spec.adaptive = adaptive;
      result.push_back({name, summary, spec});
    };
#define LENBENCH_TRANSFORM(name, scale, kind, alpha, learnable, topk, adaptive, summary) \
  add(name, scale, Normalizer::Kind::kind, alpha, learnable, topk, adaptive, summary);
#include "attention/transforms.def"
#undef LENBENCH_TRANSFORM
    return result;
  }();
  return catalog;
}

TransformSpec transform_spec(const std::string& name) {
  std::vector<std::string> known;
  for (const TransformInfo& info : transform_catalog()) {
    if (info.name == name) return info.spec;
    known.push_back(info.name);
  }
  throw Error("unknown attention transform '" + name + "'" + did_you_mean(name, known) +
              "; use one of: " + join(known, ", "));
}

void fill_initial(at::Tensor& tensor, const TransformParameter& spec, std::optional<at::Generator> generator) {
  at::NoGradGuard no_grad;
  switch (spec.init) {
    case TransformParameter::Init::kConstant:
      tensor.fill_(spec.a);
      break;
    case TransformParameter::Init::kNormal:
    case TransformParameter::Init::kProjection:
      tensor.normal_(spec.a, spec.b, generator);
      break;
    case TransformParameter::Init::kUniform:
      tensor.uniform_(spec.a, spec.b, generator);
      break;
  }
}

AttentionTransform::AttentionTransform(TransformSpec spec, std::int64_t num_heads, std::int64_t hidden_size,
                                       std::vector<std::int64_t> scaled_heads)
    : spec_(std::move(spec)), num_heads_(num_heads), hidden_size_(hidden_size), scaled_heads_(std::move(scaled_heads)) {
  find_scale(spec_.scale);
  check(spec_, num_heads_ >= 1 && hidden_size_ >= 1,
        "heads and hidden size must be at least 1, got " + std::to_string(num_heads_) + " and " +
            std::to_string(hidden_size_));
  for (std::size_t s = 0; s < scaled_heads_.size(); ++s) {
    check(spec_, scaled_heads_[s] >= (s == 0 ? 0 : scaled_heads_[s - 1] + 1) && scaled_heads_[s] < num_heads_,
          "scaled heads must be ascending and below " + std::to_string(num_heads_));
  }
  check(spec_, std::isfinite(spec_.scale_delta) && std::isfinite(spec_.scale_gamma_range),
        "scale delta and gamma range must be finite");
  check(spec_, std::isfinite(spec_.scale_s) && spec_.scale_s > 0, "scale s must be finite and above 0");
  const bool entmax = spec_.normalizer == Normalizer::Kind::kEntmax;
  const double top = spec_.alpha_learnable ? std::nextafter(2.0, 1.0) : 2.0;
  check(spec_, !entmax || (spec_.alpha > 1.0 && spec_.alpha <= top),
        std::string("alpha must be above 1 and ") + (spec_.alpha_learnable ? "below 2 when learnable" : "at most 2") +
            ", got " + std::to_string(spec_.alpha) + " (alpha 1 is softmax)");
  check(spec_, entmax || !spec_.alpha_learnable, "alpha can be learnable with entmax only");
  check(spec_, spec_.normalizer != Normalizer::Kind::kTopK || spec_.topk >= 1,
        "topk must be at least 1, got " + std::to_string(spec_.topk));
  check(spec_, !spec_.adaptive || spec_.normalizer == Normalizer::Kind::kSoftmax,
        "adaptive temperature works with softmax only");
}

std::vector<TransformParameter> AttentionTransform::parameters() const {
  std::vector<TransformParameter> result;
  const QueryScale* scale = find_scale(spec_.scale);
  if (scale && !scaled_heads_.empty()) {
    result = scale->parameters(spec_, static_cast<std::int64_t>(scaled_heads_.size()), hidden_size_);
  }
  if (spec_.alpha_learnable) {
    const double initial = std::log((spec_.alpha - 1.0) / (2.0 - spec_.alpha));
    result.push_back({kAlphaLogit, {num_heads_}, TransformParameter::Init::kConstant, initial, 0.0});
  }
  return result;
}

at::Tensor AttentionTransform::query_scale(const TransformWeights& weights, const at::Tensor& hidden_BTE,
                                           const at::Tensor& positions_BT) const {
  const QueryScale* scale = find_scale(spec_.scale);
  if (!scale || scaled_heads_.empty()) return {};
  const at::Tensor log_n_BT1 = at::log(positions_BT.clamp_min(0).to(at::kDouble) + 2.0).unsqueeze(-1);
  const at::Tensor factor_BST = scale->factor(spec_, weights, hidden_BTE, log_n_BT1)
                                    .transpose(1, 2)
                                    .expand({-1, std::ssize(scaled_heads_), -1})
                                    .to(hidden_BTE.scalar_type());
  if (factor_BST.size(1) == num_heads_) return factor_BST;
  const at::Tensor heads = at::tensor(scaled_heads_, at::TensorOptions(at::kLong)).to(hidden_BTE.device());
  const at::Tensor ones_BHT = at::ones({factor_BST.size(0), num_heads_, factor_BST.size(2)}, factor_BST.options());
  return at::index_copy(ones_BHT, 1, heads, factor_BST);
}

Normalizer AttentionTransform::normalizer(const TransformWeights& weights) const {
  Normalizer result;
  result.kind = spec_.normalizer;
  result.alpha = spec_.alpha;
  result.topk = spec_.topk;
  result.adaptive = spec_.adaptive;
  if (spec_.alpha_learnable) result.alpha_minus_one_H = at::sigmoid(weight_named(weights, kAlphaLogit).reshape({-1}));
  return result;
}

at::Tensor adaptive_factor(const at::Tensor& entropy) {
  at::Tensor value = at::full_like(entropy, kAdaptivePolynomial[0]);
  for (std::size_t i = 1; i < kAdaptivePolynomial.size(); ++i) value = value * entropy + kAdaptivePolynomial[i];
  return at::where(entropy > kAdaptiveMinEntropy, at::clamp_min(value, 1.0), 1.0);
}

double adaptive_factor(double entropy) {
  if (!(entropy > kAdaptiveMinEntropy)) return 1.0;
  double value = 0;
  for (double coefficient : kAdaptivePolynomial) value = value * entropy + coefficient;
  return std::max(value, 1.0);
}

}  // namespace lenbench
