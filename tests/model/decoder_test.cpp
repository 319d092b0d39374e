// The decoder against the plain one, and against itself: training pass, evaluation pass, chunks, gradients.
#include "model/decoder.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "model/rms_norm.h"
#include "random_models.h"

namespace lenbench {
namespace {

double largest(const at::Tensor& tensor) { return tensor.abs().max().item<double>(); }

// Logits of every row [T, V] through the evaluation pass.
at::Tensor evaluated_logits(const Decoder& decoder, const at::Tensor& tokens_1T, AttentionPath path,
                            std::vector<HeadStats>* stats = nullptr) {
  EvaluationRequest request;
  request.tokens_BT = tokens_1T;
  request.positions_BQ = at::arange(tokens_1T.size(1), tokens_1T.options()).unsqueeze(0);
  request.path = path;
  if (stats != nullptr) {
    request.probe = ProbeRows::kAll;
    request.lengths = {tokens_1T.size(1)};
    request.stats = stats;
  }
  return decoder.logits(decoder.hidden(request).squeeze(0));
}

at::Tensor plain_logits(const PlainResult& plain) {
  const auto rows = std::ssize(plain.logits), vocab = std::ssize(plain.logits[0]);
  at::Tensor logits = at::full({rows, vocab}, 0.0, at::TensorOptions().dtype(at::kDouble));
  for (std::int64_t t = 0; t < rows; ++t) {
    std::copy(plain.logits[static_cast<std::size_t>(t)].begin(), plain.logits[static_cast<std::size_t>(t)].end(),
              logits.mutable_data_ptr<double>() + t * vocab);
  }
  return logits;
}

class RandomModel : public testing::TestWithParam<int> {};

TEST_P(RandomModel, AgreesWithThePlainDecoder) {
  const DecoderConfig config = random_config(GetParam());
  SCOPED_TRACE(config.transform_name() + " " + config.positions + " " + config.attn_scale_type);
  const Decoder decoder = random_decoder(config, 7, at::kDouble);
  const std::vector<std::int32_t> tokens = random_tokens(37, config.vocab_size, 3);
  const PlainResult plain = plain_forward(config, plain_weights(decoder), tokens);
  const at::Tensor expected = plain_logits(plain);

  const at::Tensor trained = decoder.forward(tokens_tensor(tokens), at::arange(37));
  EXPECT_LT(largest(trained - expected), 1e-8);
  std::vector<HeadStats> stats(static_cast<std::size_t>(config.num_layers * config.num_heads));
  EXPECT_LT(largest(evaluated_logits(decoder, tokens_tensor(tokens), AttentionPath::kReference, &stats) - expected),
            1e-8);
  std::size_t next = 0;
  for (std::size_t l = 0; l < plain.entropy.size(); ++l) {
    for (std::size_t h = 0; h < plain.entropy[l].size(); ++h) {
      double entropy = 0, normalized = 0, support = 0;
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        entropy += plain.entropy[l][h][t];
        if (t > 0) normalized += plain.entropy[l][h][t] / std::log(static_cast<double>(t + 1));
        support += plain.support[l][h][t];
      }
      const HeadStats& head = stats[next++];
      EXPECT_EQ(head.rows, 37);
      EXPECT_EQ(head.normalized_rows, 36);
      EXPECT_NEAR(head.entropy, entropy, 1e-6);
      EXPECT_NEAR(head.normalized_entropy, normalized, 1e-6);
      EXPECT_NEAR(head.support, support, 1.5);
    }
  }

  std::vector<NamedTensor> single;
  for (const auto& [name, parameter] : decoder.parameters()) single.emplace_back(name, parameter.to(at::kFloat));
  const Decoder fast(config, std::move(single));
  EXPECT_LT(largest(evaluated_logits(fast, tokens_tensor(tokens), AttentionPath::kAuto).to(at::kDouble) - expected),
            2e-4);
}

INSTANTIATE_TEST_SUITE_P(Family, RandomModel, testing::Range(0, 40));

class ReferenceFamily : public testing::TestWithParam<int> {};

TEST_P(ReferenceFamily, LongerInputAgreesOnBothPaths) {
  const DecoderConfig config = random_config(GetParam(), true);
  SCOPED_TRACE(config.transform_name() + " " + config.positions + " " + config.attn_scale_type);
  const Decoder decoder = random_decoder(config, 11, at::kFloat);
  const std::vector<std::int32_t> tokens = random_tokens(150, config.vocab_size, 5);
  const at::Tensor expected = plain_logits(plain_forward(config, plain_weights(decoder), tokens));
  for (const AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
    EXPECT_LT(largest(evaluated_logits(decoder, tokens_tensor(tokens), path).to(at::kDouble) - expected), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Family, ReferenceFamily, testing::Range(100, 112));

TEST(RandomConfigs, CoverTheFamily) {
  std::set<std::string> positions, scales, normalizers;
  for (int i = 0; i < 40; ++i) {
    const DecoderConfig config = random_config(i);
    positions.insert(config.positions);
    scales.insert(config.attn_scale_type);
    normalizers.insert(config.topk_size > 0          ? "topk"
                       : config.adaptive_temperature ? "adaptive"
                       : config.alpha_learnable      ? "learnt"
                       : config.entmax_alpha > 1     ? "entmax"
                                                     : "softmax");
  }
  EXPECT_EQ(positions.size(), 4u);
  EXPECT_EQ(scales.size(), 5u);
  EXPECT_EQ(normalizers.size(), 5u);
}

TEST(Decoder, ParametersOfTheTransformAreThoseOfTheConfiguration) {
  for (int i = 0; i < 40; ++i) {
    const DecoderConfig config = random_config(i);
    const AttentionTransform transform(transform_spec(config), config.num_heads, config.hidden_size,
                                       make_position(position_spec(config))->scaled_heads());
    std::map<std::string, std::vector<std::int64_t>> ours, theirs;
    const std::string prefix = "model.layers.0.self_attn.";
    for (const TensorSpec& spec : tensor_specs(config)) {
      const bool shared = spec.name.ends_with("q_proj.weight") || spec.name.ends_with("k_proj.weight") ||
                          spec.name.ends_with("v_proj.weight") || spec.name.ends_with("o_proj.weight");
      if (spec.name.starts_with(prefix) && !shared) ours[spec.name.substr(prefix.size())] = spec.shape;
    }
    for (const TransformParameter& spec : transform.parameters()) theirs[spec.name] = spec.shape;
    EXPECT_EQ(ours, theirs) << config.attn_scale_type;
    EXPECT_EQ(make_position(position_spec(config))->slopes(), alibi_slopes(config)) << config.positions;
  }
}

TEST(Decoder, EveryNamedTransformKeepsItsName) {
  for (const TransformInfo& info : transform_catalog()) {
    DecoderConfig config = random_config(0);
    config.attn_scale_type = info.spec.scale;
    config.entmax_alpha = info.spec.alpha;
    config.alpha_learnable = info.spec.alpha_learnable;
    config.adaptive_temperature = info.spec.adaptive;
    config.topk_size = info.spec.topk;
    check_config(config, info.name);
    EXPECT_EQ(config.transform_name(), info.name == "topk" ? "topk(k=32)" : info.name);
  }
}

TEST(Decoder, OnlyWantedRowsGiveTheSameAsAllRows) {
  const DecoderConfig config = random_config(0);
  const Decoder decoder = random_decoder(config, 1, at::kDouble);
  const at::Tensor tokens = at::cat(
      {tokens_tensor(random_tokens(50, config.vocab_size, 1)), tokens_tensor(random_tokens(50, config.vocab_size, 2))});
  EvaluationRequest request;
  request.tokens_BT = tokens;
  request.positions_BQ = at::tensor({3, 48, 49, 20, -1, -1}, at::TensorOptions().dtype(at::kLong)).view({2, 3});
  const at::Tensor hidden = decoder.hidden(request);
  const at::Tensor first = evaluated_logits(decoder, tokens.slice(0, 0, 1), AttentionPath::kAuto);
  const at::Tensor second = evaluated_logits(decoder, tokens.slice(0, 1, 2), AttentionPath::kAuto);
  EXPECT_LT(largest(decoder.logits(hidden[0]) - first.index_select(0, request.positions_BQ[0])), 1e-10);
  EXPECT_LT(largest(decoder.logits(hidden[1].slice(0, 0, 1)) - second.slice(0, 20, 21)), 1e-10);
  const at::Tensor rows = at::tensor({3, 48, 49, 70}, at::TensorOptions().dtype(at::kLong));
  const at::Tensor trained = decoder.forward(tokens, rows);
  EXPECT_LT(largest(trained.slice(0, 0, 3) - decoder.logits(hidden[0])), 1e-10);
  EXPECT_LT(largest(trained.slice(0, 3, 4) - decoder.logits(hidden[1].slice(0, 0, 1))), 1e-10);
}

TEST(Decoder, ChunksChangeNothing) {
  DecoderConfig config = random_config(2);
  config.intermediate_size = 3000;
  const Decoder decoder = random_decoder(config, 1, at::kDouble);
  const std::int64_t length = 2 * decoder.chunk_tokens(1) + 5;
  const at::Tensor tokens = tokens_tensor(random_tokens(length, config.vocab_size, 9));
  const at::Tensor last = at::tensor({length - 1, length - 700}, at::TensorOptions().dtype(at::kLong));
  EvaluationRequest request;
  request.tokens_BT = tokens;
  request.positions_BQ = last.unsqueeze(0);
  EXPECT_LT(largest(decoder.logits(decoder.hidden(request)[0]) - decoder.forward(tokens, last)), 1e-9);
}

TEST(Decoder, ProbeCountsTheAskedRows) {
  const DecoderConfig config = random_config(0);
  const Decoder decoder = random_decoder(config, 1, at::kDouble);
  const at::Tensor tokens = tokens_tensor(random_tokens(30, config.vocab_size, 1));
  EvaluationRequest request;
  request.tokens_BT = at::cat({tokens, tokens});
  request.positions_BQ = at::tensor({0, 12, 29, 7, -1, -1}, at::TensorOptions().dtype(at::kLong)).view({2, 3});
  request.probe = ProbeRows::kAnswer;
  std::vector<HeadStats> stats(static_cast<std::size_t>(config.num_layers * config.num_heads));
  request.stats = &stats;
  decoder.hidden(request);
  for (const HeadStats& head : stats) {
    EXPECT_EQ(head.rows, 4);
    EXPECT_EQ(head.normalized_rows, 3);
  }
  request.probe = ProbeRows::kAll;
  request.lengths = {30, 11};
  stats.assign(stats.size(), {});
  decoder.hidden(request);
  for (const HeadStats& head : stats) {
    EXPECT_EQ(head.rows, 41);
    EXPECT_EQ(head.normalized_rows, 39);
  }
}

TEST(Decoder, GradientsAgreeWithFiniteDifferences) {
  for (const int index : {0, 3, 4, 5, 21}) {
    const DecoderConfig config = random_config(index);
    if (config.adaptive_temperature) continue;
    SCOPED_TRACE(std::to_string(index) + " " + config.transform_name() + " " + config.positions);
    const Decoder decoder = random_decoder(config, 5, at::kDouble);
    const at::Tensor tokens = tokens_tensor(random_tokens(12, config.vocab_size, 1));
    const at::Tensor rows = at::tensor({5, 11}, at::TensorOptions().dtype(at::kLong));
    const auto loss = [&] { return decoder.forward(tokens, rows).log_softmax(-1).select(1, 1).sum(); };
    for (const auto& item : decoder.parameters()) at::Tensor(item.second).requires_grad_(true);
    loss().backward();
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : decoder.parameters()) {
      ASSERT_TRUE(parameter.grad().defined()) << name;
      at::Tensor flat = parameter.detach().view(-1);
      const std::int64_t element = flat.numel() / 2;
      const double step = 1e-5, before = flat[element].item<double>();
      flat[element].fill_(before + step);
      const double above = loss().item<double>();
      flat[element].fill_(before - step);
      const double below = loss().item<double>();
      flat[element].fill_(before);
      const double numeric = (above - below) / (2 * step), exact = parameter.grad().view(-1)[element].item<double>();
      EXPECT_NEAR(exact, numeric, 1e-5 * std::max(1.0, std::abs(numeric))) << name;
    }
  }
}

TEST(Decoder, InitialisationIsAPureFunctionOfTheSeed) {
  DecoderConfig config = random_config(0);
  config.attn_scale_type = "adapt-softplus-tanh";
  config.attn_scale_proj_bias = true;
  config.hidden_size = 256;
  config.vocab_size = 300;
  InitOptions options;
  options.embedding_std = 0.05;
  options.scaler_weight_std = 0;
  options.scaler_beta = 0.05;
  const Decoder one = Decoder::initialise(config, 3, options), same = Decoder::initialise(config, 3, options);
  const Decoder other = Decoder::initialise(config, 4, options);
  for (std::size_t i = 0; i < one.parameters().size(); ++i) {
    EXPECT_TRUE(one.parameters()[i].second.equal(same.parameters()[i].second));
  }
  const std::string q = "model.layers.0.self_attn.q_proj.weight", scaler = "model.layers.0.self_attn.attn_scale_";
  EXPECT_FALSE(one.parameter(q).equal(other.parameter(q)));
  EXPECT_NEAR(one.parameter("model.embed_tokens.weight").std().item<double>(), 0.05, 0.001);
  EXPECT_LE(largest(one.parameter(q)), 1.0 / 16);
  EXPECT_GT(largest(one.parameter(q)), 0.9 / 16);
  EXPECT_EQ(largest(one.parameter("model.norm.weight")), 0);
  EXPECT_EQ(largest(one.parameter(scaler + "beta_proj.weight")), 0);
  EXPECT_NEAR(one.parameter(scaler + "beta_proj.bias").exp().log1p().max().item<double>(), 0.05, 1e-6);
  options.linear = InitOptions::Linear::kNormal;
  options.linear_std = 0.3;
  EXPECT_NEAR(Decoder::initialise(config, 3, options).parameter("lm_head.weight").std().item<double>(), 0.3, 0.01);
  options.scaler_beta = -1;
  EXPECT_THROW(Decoder::initialise(config, 3, options), Error);
}

TEST(RmsNorm, AgreesWithItsFormulaAndItsGradientWithAutograd) {
  const Decoder source = random_decoder(random_config(1), 2, at::kDouble);
  const at::Tensor x = source.parameter("model.embed_tokens.weight").detach().clone().requires_grad_(true);
  const at::Tensor w = source.parameter("model.norm.weight").detach().clone().requires_grad_(true);
  const at::Tensor g = x.detach().cos();
  const auto formula = [&] { return x * (x.square().mean(-1, true) + 1e-3).rsqrt() * (w + 1); };
  EXPECT_LT(largest(rms_norm(x, w, 1e-3) - formula()), 1e-12);
  (formula() * g).sum().backward();
  const at::Tensor x_expected = x.grad().clone(), w_expected = w.grad().clone();
  x.grad().zero_();
  w.grad().zero_();
  (rms_norm(x, w, 1e-3) * g).sum().backward();
  EXPECT_LT(largest(x.grad() - x_expected), 1e-12);
  EXPECT_LT(largest(w.grad() - w_expected), 1e-12);
}

TEST(RmsNorm, ThreadsChangeNoBit) {
  DecoderConfig config = random_config(0);
  config.vocab_size = 3000;
  const Decoder source = random_decoder(config, 2, at::kFloat);
  const int before = at::get_num_threads();
  at::Tensor outputs[2], x_grads[2], w_grads[2];
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    const at::Tensor x = source.parameter("model.embed_tokens.weight").detach().clone().requires_grad_(true);
    const at::Tensor w = source.parameter("model.norm.weight").detach().clone().requires_grad_(true);
    outputs[threads - 1] = rms_norm(x, w, 1e-6);
    outputs[threads - 1].sin().sum().backward();
    x_grads[threads - 1] = x.grad();
    w_grads[threads - 1] = w.grad();
  }
  at::set_num_threads(before);
  EXPECT_TRUE(outputs[0].equal(outputs[1]));
  EXPECT_TRUE(x_grads[0].equal(x_grads[1]));
  EXPECT_TRUE(w_grads[0].equal(w_grads[1]));
}

}  // namespace
}  // namespace lenbench
