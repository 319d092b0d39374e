// Transforms: query scales against scalar formulas, gating by position encoding, parameters, adaptive temperature.
#include "attention/transform.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "attention_testing.h"
#include "base/error.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kHeads = 4, kHidden = 6;

AttentionTransform make(TransformSpec spec, std::vector<std::int64_t> scaled = {2, 3}) {
  return AttentionTransform(std::move(spec), kHeads, kHidden, std::move(scaled));
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> names_of(const AttentionTransform& transform) {
  std::vector<std::string> names;
  for (const TransformParameter& parameter : transform.parameters()) names.push_back(parameter.name);
  return names;
}

// positions 0, 5 and 62 of one row
const std::vector<std::int64_t> kPositions = {0, 5, 62};
at::Tensor some_positions() { return testing::ints(kPositions).unsqueeze(0); }

TEST(Transform, SsmaxMultipliesByTheLogOfPositionPlusTwo) {
  const AttentionTransform transform = make(transform_spec("ssmax"));
  const TransformWeights weights = {{"attn_scale_beta", testing::doubles({1.5, -0.25}).reshape({1, 2, 1, 1})}};
  const at::Tensor scale = transform.query_scale(weights, testing::random_normal({1, 3, kHidden}, 1), some_positions());
  for (std::int64_t t = 0; t < 3; ++t) {
    const double log_n = std::log(static_cast<double>(kPositions[static_cast<std::size_t>(t)] + 2));
    EXPECT_EQ(testing::element(scale, {0, 0, t}), 1.0);
    EXPECT_EQ(testing::element(scale, {0, 1, t}), 1.0);
    EXPECT_NEAR(testing::element(scale, {0, 2, t}), 1.5 * log_n, 1e-14);
    EXPECT_NEAR(testing::element(scale, {0, 3, t}), -0.25 * log_n, 1e-14);
  }
}

TEST(Transform, LearnAddsDeltaToBetaTimesLogToTheGamma) {
  TransformSpec spec = transform_spec("learn");
  spec.scale_delta = 0.75;
  const AttentionTransform transform = make(spec);
  const TransformWeights weights = {{"attn_scale_beta", testing::doubles({0.5, 2.0}).reshape({1, 2, 1, 1})},
                                    {"attn_scale_gamma", testing::doubles({-1.5, 0.3}).reshape({1, 2, 1, 1})}};
  const at::Tensor scale = transform.query_scale(weights, testing::random_normal({2, 3, kHidden}, 1), some_positions());
  for (std::int64_t t = 0; t < 3; ++t) {
    const double log_n = std::log(static_cast<double>(kPositions[static_cast<std::size_t>(t)] + 2));
    EXPECT_NEAR(testing::element(scale, {0, 2, t}), 0.75 + 0.5 * std::pow(log_n, -1.5), 1e-13);
    EXPECT_NEAR(testing::element(scale, {0, 3, t}), 0.75 + 2.0 * std::pow(log_n, 0.3), 1e-13);
  }
}

TEST(Transform, AsentmaxProjectsBetaAndGammaFromTheHiddenState) {
  for (bool bias : {false, true}) {
    TransformSpec spec = transform_spec("asentmax");
    spec.scale_proj_bias = bias;
    spec.scale_delta = 1.25;
    spec.scale_gamma_range = 1.5;
    const AttentionTransform transform = make(spec);
    const at::Tensor hidden = testing::random_normal({2, 3, kHidden}, 1);
    TransformWeights weights;
    std::uint64_t seed = 2;
    for (const TransformParameter& p : transform.parameters())
      weights[p.name] = testing::random_normal(p.shape, ++seed);
    const at::Tensor scale = transform.query_scale(weights, hidden, some_positions());
    const auto projected = [&](const std::string& name, std::int64_t b, std::int64_t t, std::int64_t s) {
      double sum = bias ? testing::element(weights[name + ".bias"], {s}) : 0.0;
      for (std::int64_t e = 0; e < kHidden; ++e) {
        sum += testing::element(weights[name + ".weight"], {s, e}) * testing::element(hidden, {b, t, e});
      }
      return sum;
    };
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t t = 0; t < 3; ++t) {
        const double log_n = std::log(static_cast<double>(kPositions[static_cast<std::size_t>(t)] + 2));
        EXPECT_EQ(testing::element(scale, {b, 1, t}), 1.0);
        for (std::int64_t s = 0; s < 2; ++s) {
          const double beta = std::log1p(std::exp(projected("attn_scale_beta_proj", b, t, s)));
          const double gamma = 1.5 * std::tanh(projected("attn_scale_gamma_proj", b, t, s));
          EXPECT_NEAR(testing::element(scale, {b, 2 + s, t}), 1.25 + beta * std::pow(log_n, gamma), 1e-12);
        }
      }
    }
  }
}

TEST(Transform, ThetaDividesWhateverThePosition) {
  const AttentionTransform transform = make(transform_spec("entmax-theta"), {0, 1, 2, 3});
  const TransformWeights weights = {{"attn_scale_log_theta", testing::doubles({0.0, std::log(2.0), -1.0, 3.0})}};
  const at::Tensor scale = transform.query_scale(weights, testing::random_normal({1, 3, kHidden}, 1), some_positions());
  for (std::int64_t t = 0; t < 3; ++t) {
    EXPECT_EQ(testing::element(scale, {0, 0, t}), 1.0);
    EXPECT_NEAR(testing::element(scale, {0, 1, t}), 0.5, 1e-15);
    EXPECT_NEAR(testing::element(scale, {0, 2, t}), std::exp(1.0), 1e-14);
    EXPECT_NEAR(testing::element(scale, {0, 3, t}), std::exp(-3.0), 1e-15);
  }
}

TEST(Transform, NoScaledHeadNoScaleNoParameter) {
  for (const TransformInfo& info : transform_catalog()) {
    const AttentionTransform transform = make(info.spec, {});
    EXPECT_EQ(transform.parameters().size(), info.spec.alpha_learnable ? 1U : 0U) << info.name;
    EXPECT_FALSE(transform.query_scale({}, testing::random_normal({1, 3, kHidden}, 1), some_positions()).defined());
  }
}

TEST(Transform, ParametersCarryTheReferencesNamesAndShapes) {
  EXPECT_THAT(names_of(make(transform_spec("ssmax"))), ElementsAre("attn_scale_beta"));
  EXPECT_THAT(names_of(make(transform_spec("learn"))), ElementsAre("attn_scale_beta", "attn_scale_gamma"));
  EXPECT_THAT(names_of(make(transform_spec("asentmax-learned-alpha"))),
              ElementsAre("attn_scale_beta_proj.weight", "attn_scale_beta_proj.bias", "attn_scale_gamma_proj.weight",
                          "attn_scale_gamma_proj.bias", "entmax_alpha_logit"));
  EXPECT_THAT(names_of(make(transform_spec("entmax-theta"))), ElementsAre("attn_scale_log_theta"));
  EXPECT_TRUE(names_of(make(transform_spec("softmax"))).empty());
  EXPECT_THAT(make(transform_spec("ssmax")).parameters()[0].shape, ElementsAre(1, 2, 1, 1));
  EXPECT_THAT(make(transform_spec("asentmax")).parameters()[0].shape, ElementsAre(2, kHidden));
  EXPECT_THAT(make(transform_spec("entmax-learned-alpha")).parameters()[0].shape, ElementsAre(kHeads));
}

TEST(Transform, LearnableAlphaStartsWhereTheSpecSays) {
  TransformSpec spec = transform_spec("entmax-learned-alpha");
  spec.alpha = 1.2;
  const AttentionTransform transform = make(spec);
  const TransformParameter parameter = transform.parameters()[0];
  at::Tensor logit = at::empty(parameter.shape, at::TensorOptions(at::kDouble));
  fill_initial(logit, parameter, std::nullopt);
  const Normalizer normalizer = transform.normalizer({{parameter.name, logit}});
  for (std::int64_t h = 0; h < kHeads; ++h) {
    EXPECT_NEAR(testing::element(normalizer.alpha_minus_one_H, {h}), 0.2, 1e-15);
  }
}

TEST(Transform, InitialValuesFollowTheSpec) {
  at::Generator generator = at::detail::createCPUGenerator(7);
  at::Tensor many = at::empty({100000}, at::TensorOptions(at::kDouble));
  fill_initial(many, {"", {}, TransformParameter::Init::kNormal, 1.0, 0.01}, generator);
  EXPECT_NEAR(many.mean().item<double>(), 1.0, 4 * 0.01 / std::sqrt(1e5));
  EXPECT_NEAR(many.std().item<double>(), 0.01, 4 * 0.01 / std::sqrt(2e5));
  fill_initial(many, {"", {}, TransformParameter::Init::kUniform, 0.1, 1.0}, generator);
  EXPECT_GE(many.min().item<double>(), 0.1);
  EXPECT_LT(many.max().item<double>(), 1.0);
  EXPECT_NEAR(many.mean().item<double>(), 0.55, 4 * 0.26 / std::sqrt(1e5));
}

TEST(AdaptiveTemperature, FactorsOfThePublishedPolynomial) {
  const std::vector<std::pair<double, double>> table = {{1.0, 1.27}, {1.5, 1.85}, {2.0, 2.10}, {2.5, 2.20},
                                                        {3.0, 2.25}, {4.0, 2.39}, {5.0, 2.29}};
  for (const auto& [entropy, factor] : table) {
    EXPECT_NEAR(adaptive_factor(entropy), factor, 0.005) << entropy;
    EXPECT_NEAR(adaptive_factor(at::full({1}, entropy, at::TensorOptions(at::kDouble))).item<double>(),
                adaptive_factor(entropy), 1e-13);
  }
  for (double entropy : {0.0, 0.3, 0.5, 0.84, 5.95, 6.0, 8.0, 11.0}) EXPECT_EQ(adaptive_factor(entropy), 1.0);
  EXPECT_GT(adaptive_factor(0.855), 1.0);
  EXPECT_GT(adaptive_factor(5.94), 1.0);
}

TEST(Transform, BadSpecsAreNamed) {
  EXPECT_THAT(error_of([] { transform_spec("asentmx"); }), HasSubstr("did you mean 'asentmax'"));
  const auto with = [](const std::string& name, const std::function<void(TransformSpec&)>& change) {
    return error_of([&] {
      TransformSpec spec = transform_spec(name);
      change(spec);
      make(spec);
    });
  };
  EXPECT_THAT(with("entmax", [](TransformSpec& s) { s.alpha = 1.0; }), HasSubstr("above 1"));
  EXPECT_THAT(with("entmax", [](TransformSpec& s) { s.alpha = 2.5; }), HasSubstr("at most 2"));
  EXPECT_THAT(with("entmax", [](TransformSpec& s) { s.alpha = std::nan(""); }), HasSubstr("alpha"));
  EXPECT_THAT(with("entmax-learned-alpha", [](TransformSpec& s) { s.alpha = 2.0; }), HasSubstr("below 2"));
  EXPECT_THAT(with("topk", [](TransformSpec& s) { s.topk = 0; }), HasSubstr("topk"));
  EXPECT_THAT(with("entmax", [](TransformSpec& s) { s.adaptive = true; }), HasSubstr("softmax only"));
  EXPECT_THAT(with("softmax", [](TransformSpec& s) { s.scale = "nakanisi"; }), HasSubstr("did you mean 'nakanishi'"));
  EXPECT_THAT(error_of([] { make(transform_spec("ssmax"), {2, 4}); }), HasSubstr("below 4"));
}

}  // namespace
}  // namespace lenbench
