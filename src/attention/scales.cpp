// The table of query scales. Formulas: paper.md 1.2 and 1.3; n of a query at 0-based position i is i + 2.
#include "attention/scales.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tanh.h>

#include <stdexcept>

#include "base/error.h"
#include "base/names.h"

namespace lenbench {
namespace {

using Init = TransformParameter::Init;

constexpr const char* kBeta = "attn_scale_beta";
constexpr const char* kGamma = "attn_scale_gamma";
constexpr const char* kLogTheta = "attn_scale_log_theta";

// (ln n)^gamma as exp(gamma ln ln n): ln ln n is formed in double and is finite because n >= 2.
at::Tensor log_n_to_the(const at::Tensor& log_n_BT1, const at::Tensor& gamma) {
  return at::exp(gamma * at::log(log_n_BT1).to(gamma.scalar_type()));
}

std::vector<TransformParameter> nakanishi_parameters(const TransformSpec&, std::int64_t num_scaled, std::int64_t) {
  return {{kBeta, {1, num_scaled, 1, 1}, Init::kNormal, 1.0, 0.01}};
}

at::Tensor nakanishi_factor(const TransformSpec&, const TransformWeights& weights, const at::Tensor&,
                            const at::Tensor& log_n_BT1) {
  const at::Tensor beta_S = weight_named(weights, kBeta).reshape({-1});
  return beta_S * log_n_BT1.to(beta_S.scalar_type());
}

std::vector<TransformParameter> learn_parameters(const TransformSpec&, std::int64_t num_scaled, std::int64_t) {
  return {{kBeta, {1, num_scaled, 1, 1}, Init::kUniform, 0.1, 1.0},
          {kGamma, {1, num_scaled, 1, 1}, Init::kNormal, 0.0, 0.1}};
}

at::Tensor learn_factor(const TransformSpec& spec, const TransformWeights& weights, const at::Tensor&,
                        const at::Tensor& log_n_BT1) {
  const at::Tensor beta_S = weight_named(weights, kBeta).reshape({-1});
  const at::Tensor gamma_S = weight_named(weights, kGamma).reshape({-1});
  return beta_S * log_n_to_the(log_n_BT1, gamma_S) + spec.scale_delta;
}

std::vector<TransformParameter> adapt_parameters(const TransformSpec& spec, std::int64_t num_scaled,
                                                 std::int64_t hidden_size) {
  std::vector<TransformParameter> result;
  for (const char* name : {"attn_scale_beta_proj", "attn_scale_gamma_proj"}) {
    result.push_back({std::string(name) + ".weight", {num_scaled, hidden_size}, Init::kProjection, 0.0, 0.02});
    if (spec.scale_proj_bias) result.push_back({std::string(name) + ".bias", {num_scaled}, Init::kConstant, 0.0, 0.0});
  }
  return result;
}

at::Tensor project(const TransformSpec& spec, const TransformWeights& weights, const std::string& name,
                   const at::Tensor& hidden_BTE) {
  std::optional<at::Tensor> bias;
  if (spec.scale_proj_bias) bias = weight_named(weights, name + ".bias");
  return at::linear(hidden_BTE, weight_named(weights, name + ".weight"), bias);
}

at::Tensor adapt_factor(const TransformSpec& spec, const TransformWeights& weights, const at::Tensor& hidden_BTE,
                        const at::Tensor& log_n_BT1) {
  const at::Tensor beta_BTS = at::softplus(project(spec, weights, "attn_scale_beta_proj", hidden_BTE));
  const at::Tensor gamma_BTS =
      at::tanh(project(spec, weights, "attn_scale_gamma_proj", hidden_BTE)) * spec.scale_gamma_range;
  return beta_BTS * log_n_to_the(log_n_BT1, gamma_BTS) + spec.scale_delta;
}

std::vector<TransformParameter> theta_parameters(const TransformSpec&, std::int64_t num_scaled, std::int64_t) {
  return {{kLogTheta, {num_scaled}, Init::kConstant, 0.0, 0.0}};
}

at::Tensor theta_factor(const TransformSpec&, const TransformWeights& weights, const at::Tensor&,
                        const at::Tensor& log_n_BT1) {
  const at::Tensor inverse_S = at::exp(at::neg(weight_named(weights, kLogTheta).reshape({-1})));
  return inverse_S.expand({log_n_BT1.size(0), log_n_BT1.size(1), inverse_S.size(0)});
}

std::vector<TransformParameter> fixed_parameters(const TransformSpec&, std::int64_t, std::int64_t) { return {}; }

at::Tensor fixed_factor(const TransformSpec& spec, const TransformWeights&, const at::Tensor&,
                        const at::Tensor& log_n_BT1) {
  return log_n_BT1 * spec.scale_s;
}

const QueryScale kScales[] = {
    {"nakanishi", nakanishi_parameters, nakanishi_factor},
    {"learn", learn_parameters, learn_factor},
    {"adapt-softplus-tanh", adapt_parameters, adapt_factor},
    {"theta", theta_parameters, theta_factor},
    {"fixed", fixed_parameters, fixed_factor},
};

}  // namespace

const QueryScale* find_scale(const std::string& name) {
  if (name == "none") return nullptr;
  std::vector<std::string> known = {"none"};
  for (const QueryScale& scale : kScales) {
    if (name == scale.name) return &scale;
    known.push_back(scale.name);
  }
  throw Error("unknown attention scale '" + name + "'" + did_you_mean(name, known) +
              "; use one of: " + join(known, ", "));
}

const at::Tensor& weight_named(const TransformWeights& weights, const std::string& name) {
  const auto found = weights.find(name);
  if (found == weights.end()) throw std::invalid_argument("transform weight " + name + " is missing");
  return found->second;
}

}  // namespace lenbench
