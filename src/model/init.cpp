// Fresh parameters for training from scratch.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/numbers.h"
#include "model/decoder.h"

namespace lenbench {
namespace {

constexpr double kLog2 = 0.6931471805599453;

void check_options(const DecoderConfig& config, const InitOptions& options) {
  const auto check = [](double value, const char* name) {
    if (!std::isfinite(value) || value < 0) {
      throw Error(std::string("initialisation: ") + name + " must be a finite number of at least 0");
    }
  };
  check(options.linear_std, "linear_std");
  check(options.embedding_std, "embedding_std");
  check(options.scaler_weight_std, "scaler_weight_std");
  if (!std::isfinite(options.scaler_beta) || options.scaler_beta <= 0) {
    throw Error("initialisation: scaler_beta must be a finite number above 0");
  }
  const bool has_bias = config.attn_scale_type == "adapt-softplus-tanh" && config.attn_scale_proj_bias;
  if (!has_bias && std::abs(options.scaler_beta - kLog2) > 1e-9) {
    throw Error("initialisation: scaler_beta " + format_real(options.scaler_beta) +
                " needs attn_scale_type adapt-softplus-tanh with attn_scale_proj_bias true");
  }
}

}  // namespace

std::vector<NamedTensor> initial_parameters(const DecoderConfig& config, std::uint64_t seed, const InitOptions& options,
                                            at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  check_config(config, "model");
  check_options(config, options);
  at::Generator generator = at::detail::createCPUGenerator(seed);

  const auto position = make_position(position_spec(config));
  const AttentionTransform transform(transform_spec(config), config.num_heads, config.hidden_size,
                                     position->scaled_heads());
  std::map<std::string, TransformParameter> transform_specs;
  for (const TransformParameter& spec : transform.parameters()) transform_specs[spec.name] = spec;

  std::vector<NamedTensor> parameters;
  for (const TensorSpec& spec : tensor_specs(config)) {
    at::Tensor tensor = at::empty(spec.shape, at::TensorOptions().dtype(dtype));
    const std::size_t block = spec.name.find(".self_attn.");
    const auto ours = block == std::string::npos
                          ? transform_specs.end()
                          : transform_specs.find(spec.name.substr(block + std::string(".self_attn.").size()));
    if (ours != transform_specs.end()) {
      if (ours->second.init == TransformParameter::Init::kProjection) {
        tensor.normal_(0.0, options.scaler_weight_std, generator);
      } else if (ours->first == "attn_scale_beta_proj.bias") {
        tensor.fill_(std::log(std::expm1(options.scaler_beta)));
      } else {
        fill_initial(tensor, ours->second, generator);
      }
    } else if (spec.name.ends_with("norm.weight") || spec.name.ends_with(".bias")) {
      tensor.zero_();
    } else if (spec.name == "model.embed_tokens.weight") {
      tensor.normal_(0.0, options.embedding_std, generator);
    } else if (options.linear == InitOptions::Linear::kNormal) {
      tensor.normal_(0.0, options.linear_std, generator);
    } else {
      const double bound = 1.0 / std::sqrt(static_cast<double>(spec.shape.back()));
      tensor.uniform_(-bound, bound, generator);
    }
    parameters.emplace_back(spec.name, std::move(tensor));
  }
  return parameters;
}

Decoder Decoder::initialise(const DecoderConfig& config, std::uint64_t seed, const InitOptions& options,
                            at::ScalarType dtype) {
  return Decoder(config, initial_parameters(config, seed, options, dtype));
}

}  // namespace lenbench
