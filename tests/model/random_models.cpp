// Draws the random models.
#include "random_models.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace lenbench {

DecoderConfig random_config(int index, bool reference_only) {
  std::mt19937 random(static_cast<unsigned>(977 * index + 13));
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  DecoderConfig config;
  config.vocab_size = 11 + pick(20);
  config.hidden_size = 8 + 4 * pick(5);
  config.intermediate_size = 5 + pick(20);
  config.num_layers = 1 + pick(3);
  config.num_kv_heads = 1 + pick(3);
  config.num_heads = config.num_kv_heads * (1 + pick(3));
  config.head_dim = 2 * (1 + pick(6));
  config.tie_word_embeddings = pick(3) == 0;
  config.norm_eps = pick(2) == 0 ? 1e-6 : 1e-3;

  const char* positions[] = {"nope", "rope", "nape", "alibi"};
  config.positions = positions[index % (reference_only ? 3 : 4)];
  if (config.positions == "rope" && pick(2) == 0) config.rope_theta = 333.0;
  if (config.positions == "nape") {
    config.alibi_num_heads = pick(static_cast<int>(config.num_heads) + 1);
    config.alibi_slope_type = pick(2) == 0 ? "linear" : "exp";
  }
  const char* scales[] = {"adapt-softplus-tanh", "none", "nakanishi", "learn", "theta"};
  config.attn_scale_type = scales[index % (reference_only ? 4 : 5)];
  if (config.attn_scale_type == "learn" || config.attn_scale_type == "adapt-softplus-tanh") {
    config.attn_scale_delta = 0.25 * pick(6);
  }
  if (config.attn_scale_type == "adapt-softplus-tanh") {
    config.attn_scale_gamma_range = 0.5 + pick(3);
    config.attn_scale_proj_bias = pick(2) == 0;
  }
  const double alphas[] = {1.5, 1.0, 2.0, 1.25, 1.8};
  config.entmax_alpha = alphas[pick(5)];
  if (reference_only) return config;
  const int normalizer = (index / 4) % 4;
  if (normalizer == 1) {
    config.entmax_alpha = 1.3;
    config.alpha_learnable = true;
  } else if (normalizer == 2) {
    config.entmax_alpha = 1.0;
    config.adaptive_temperature = true;
  } else if (normalizer == 3) {
    config.entmax_alpha = 1.0;
    config.topk_size = 1 + pick(6);
  }
  return config;
}

Decoder random_decoder(const DecoderConfig& config, std::uint64_t seed, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  std::vector<NamedTensor> parameters;
  for (const TensorSpec& spec : tensor_specs(config)) {
    at::Tensor tensor = at::empty(spec.shape, at::TensorOptions().dtype(at::kDouble));
    const bool matrix = spec.shape.size() == 2;
    tensor.normal_(0.0, matrix ? 1.2 / std::sqrt(static_cast<double>(spec.shape[1])) : 0.3, generator);
    parameters.emplace_back(spec.name, tensor.to(dtype));
  }
  return Decoder(config, std::move(parameters));
}

PlainWeights plain_weights(const Decoder& decoder) {
  PlainWeights weights;
  for (const auto& [name, parameter] : decoder.parameters()) {
    const at::Tensor values = parameter.detach().to(at::kDouble).contiguous();
    const double* data = values.const_data_ptr<double>();
    weights[name].assign(data, data + values.numel());
  }
  return weights;
}

std::vector<std::int32_t> random_tokens(std::int64_t length, std::int64_t vocab, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> tokens;
  for (std::int64_t t = 0; t < length; ++t) {
    tokens.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab)));
  }
  return tokens;
}

at::Tensor tokens_tensor(const std::vector<std::int32_t>& tokens) {
  at::Tensor tensor = at::empty({1, std::ssize(tokens)}, at::TensorOptions().dtype(at::kLong));
  std::copy(tokens.begin(), tokens.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

}  // namespace lenbench
