// Tiny models of every family with the logits that the transformers library computes for them (huggingface/make.py;
// five are of version 4.46.3), and what their configurations change.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../checkpoint/temp_folder.h"
#include "base/error.h"
#include "base/files.h"
#include "checkpoint/family.h"
#include "model/batch.h"
#include "model/predictor.h"
#include "model/verify.h"
#include "model/weights.h"

namespace lenbench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::HasSubstr;

const std::string kFolder = std::string(LENBENCH_TEST_DATA) + "/model/huggingface/";

struct Case {
  std::string model, expected;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& model : fs::directory_iterator(kFolder)) {
    if (!model.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(model.path())) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("expected")) all.push_back({model.path().filename().string(), name});
    }
  }
  std::sort(all.begin(), all.end(), [](const Case& a, const Case& b) {
    return std::pair(a.model, a.expected) < std::pair(b.model, b.expected);
  });
  return all;
}

class FamilyModel : public testing::TestWithParam<Case> {};

TEST_P(FamilyModel, LogitsAreThoseOfTransformersOnEveryPath) {
  const std::string model = kFolder + GetParam().model, expected = model + "/" + GetParam().expected;
  for (const char* path : {"reference", "auto"}) {
    OpenOptions options;
    options.attention_path = path;
    const VerifyResult result = verify_checkpoint(model, expected, "", options);
    EXPECT_LE(result.max_abs_logit_difference, 2e-5) << path;
    EXPECT_TRUE(result.passed()) << path;
  }
  OpenOptions options;
  options.dtype = "float64";
  EXPECT_LE(verify_checkpoint(model, expected, "", options).max_abs_logit_difference, 2e-5);
}

INSTANTIATE_TEST_SUITE_P(All, FamilyModel, testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.model + "_" + test.param.expected.substr(0, test.param.expected.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(FamilyModels, AreThereForEveryFamily) {
  std::vector<std::string> seen;
  for (const Case& one : cases()) seen.push_back(Checkpoint::open(kFolder + one.model).config().family);
  for (const Family& family : family_catalog()) {
    if (family.name == "lenbench") continue;
    EXPECT_THAT(seen, testing::Contains(family.name));
  }
}

// A configuration with one thing changed no longer gives the logits: so the models above depend on each of these.
struct Change {
  const char* model;
  const char* expected;
  const char* patch;
};

class FamilyChange : public testing::TestWithParam<Change> {};

TEST_P(FamilyChange, ChangesTheLogits) {
  const std::string model = kFolder + GetParam().model;
  const TempFolder folder;
  for (const auto& file : fs::directory_iterator(model)) fs::copy(file, folder.path());
  Json config = Json::parse(read_file(model + "/config.json"));
  config.merge_patch(Json::parse(GetParam().patch));
  fs::permissions(folder.file("config.json"), fs::perms::owner_all);
  folder.write("config.json", config.dump());
  const VerifyResult result = verify_checkpoint(folder.path().string(), folder.file(GetParam().expected), "", {});
  EXPECT_GT(result.max_abs_logit_difference, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    All, FamilyChange,
    testing::Values(
        Change{"llama-dynamic", "expected-48.safetensors", R"({"rope_parameters": {"factor": 2.0}})"},
        Change{"llama-dynamic", "expected-48.safetensors", R"({"rope_parameters": {"rope_type": "default"}})"},
        Change{"llama-yarn", "expected-48.safetensors", R"({"rope_parameters": {"attention_factor": 1.0}})"},
        Change{"llama-yarn", "expected-48.safetensors",
               R"({"rope_parameters": {"original_max_position_embeddings": 64}})"},
        Change{"llama-yarn-mscale", "expected-48.safetensors", R"({"rope_parameters": {"mscale_all_dim": null}})"},
        Change{"llama-yarn-mscale", "expected-48.safetensors", R"({"rope_parameters": {"truncate": true}})"},
        Change{"llama-yarn-mscale", "expected-48.safetensors", R"({"rope_parameters": {"beta_fast": 32}})"},
        Change{"llama-linear-rope-bf16", "expected.safetensors", R"({"rope_scaling": {"factor": 3.0}})"},
        Change{"llama3-rope-scaling", "expected.safetensors", R"({"rope_scaling": {"low_freq_factor": 0.1}})"},
        Change{"llama3-rope-scaling", "expected.safetensors", R"({"rope_theta": 10000.0})"},
        Change{"mistral-window", "expected-40.safetensors", R"({"sliding_window": null})"},
        Change{"mistral-window", "expected-40.safetensors", R"({"sliding_window": 9})"},
        Change{"qwen2-window", "expected-40.safetensors", R"({"max_window_layers": 0, "layer_types": null})"},
        Change{"qwen2-window", "expected-40.safetensors", R"({"use_sliding_window": false, "layer_types": null})"},
        Change{"qwen3", "expected-40.safetensors", R"({"rope_parameters": {"factor": 2.0}})"},
        Change{"gemma2", "expected-40.safetensors", R"({"attn_logit_softcapping": null})"},
        Change{"gemma2", "expected-40.safetensors", R"({"final_logit_softcapping": null})"},
        Change{"gemma2", "expected-40.safetensors", R"({"query_pre_attn_scalar": 12})"},
        Change{"gemma2", "expected-40.safetensors", R"({"hidden_activation": "gelu"})"},
        Change{"gemma2", "expected-40.safetensors",
               R"({"layer_types": ["full_attention", "sliding_attention", "full_attention"]})"},
        Change{"gpt-neox", "expected.safetensors", R"({"use_parallel_residual": false})"},
        Change{"gpt-neox", "expected.safetensors", R"({"rotary_pct": 1.0, "partial_rotary_factor": 1.0})"},
        Change{"gpt-neox-serial", "expected-40.safetensors", R"({"use_parallel_residual": true})"},
        Change{"gpt2-by-layer", "expected-40.safetensors", R"({"scale_attn_by_inverse_layer_idx": false})"},
        Change{"gpt2-by-layer", "expected-40.safetensors", R"({"scale_attn_weights": false})"}),
    [](const auto& test) {
      std::string name = std::string(test.param.model) + "_" + std::to_string(test.index);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

Sample sample_of(std::int64_t length, std::int32_t step) {
  Sample sample;
  for (std::int64_t t = 0; t < length; ++t) {
    sample.tokens.push_back(static_cast<std::int32_t>(t) * step % 32);
    sample.scored.push_back({t, 1, -1, false});
  }
  return sample;
}

TEST(DynamicScaling, EachTextOfABatchHasTheFrequenciesOfItsOwnLength) {
  const std::unique_ptr<Predictor> model = open_predictor(kFolder + "llama-dynamic", {});
  EXPECT_TRUE(model->info().rows_depend_on_length);
  const std::vector<Sample> samples = {sample_of(20, 3), sample_of(48, 5), sample_of(31, 7)};
  const auto together = model->predict(samples, {}, nullptr);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto alone = model->predict(std::span(&samples[i], 1), {}, nullptr);
    for (std::size_t row = 0; row < alone[0].nll.size(); ++row) {
      EXPECT_NEAR(together[i].nll[row], alone[0].nll[row], 1e-5) << i << " " << row;
    }
  }
  // A row of a longer text is another one, though its prefix is the same.
  const Sample prefix = sample_of(30, 5);
  const auto shorter = model->predict(std::span(&prefix, 1), {}, nullptr);
  EXPECT_GT(std::abs(shorter[0].nll[29] - together[1].nll[29]), 1e-4);
  EXPECT_FALSE(open_predictor(kFolder + "llama-yarn", {})->info().rows_depend_on_length);
}

TEST(LearnedPositions, TextsBeyondTheTableAreRefused) {
  const std::unique_ptr<Predictor> model = open_predictor(kFolder + "gpt2-by-layer", {});
  EXPECT_EQ(model->info().max_positions, 40);
  const Sample fits = sample_of(40, 3), too_long = sample_of(41, 3);
  EXPECT_EQ(model->predict(std::span(&fits, 1), {}, nullptr)[0].nll.size(), 40U);
  try {
    model->predict(std::span(&too_long, 1), {}, nullptr);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("table of 40 positions"));
  }
}

TEST(LoadDecoder, MappedWeightsOfAnyTypeComputeTheSame) {
  for (const char* model : {"gemma2", "gpt2-by-layer", "gpt-neox", "llama-yarn-mscale", "qwen3"}) {
    const Checkpoint checkpoint = Checkpoint::open(kFolder + model);
    const DecoderConfig& config = checkpoint.config();
    const Decoder converted = load_decoder(checkpoint);
    const Decoder mapped(config, stored_parameters(checkpoint, config), at::kFloat);
    EXPECT_EQ(mapped.dtype(), at::kFloat);
    const std::vector<Sample> samples = {sample_of(40, 3)};
    const EvaluationRequest request = evaluation_request(samples);
    const at::Tensor want = converted.logits(converted.hidden(request)[0]);
    const at::Tensor got = mapped.logits(mapped.hidden(request)[0]);
    EXPECT_LT((got - want).abs().max().item<double>(), 1e-5) << model;
  }
}

// What-if changes against the same thing said in the configuration.
double difference(const DecoderConfig& config, const Checkpoint& checkpoint, const OpenOptions& options) {
  const DecoderConfig changed = inference_config(checkpoint, options);
  const Decoder said = load_decoder(checkpoint, config, at::kDouble);
  const Decoder asked = load_decoder(checkpoint, changed, at::kDouble);
  const std::vector<Sample> samples = {sample_of(40, 3)};
  const EvaluationRequest request = evaluation_request(samples);
  return (said.logits(said.hidden(request)[0]) - asked.logits(asked.hidden(request)[0])).abs().max().item<double>();
}

TEST(WhatIf, AlphaAndRopeScalingAreWhatTheConfigurationWouldSay) {
  const Checkpoint checkpoint = Checkpoint::open(kFolder + "llama-gqa-tied-sharded");
  DecoderConfig config = checkpoint.config();
  config.entmax_alpha = 1.5;
  OpenOptions options;
  options.alpha = "1.5";
  EXPECT_EQ(difference(config, checkpoint, options), 0);
  EXPECT_GT(difference(checkpoint.config(), checkpoint, options), 1e-3);

  config = checkpoint.config();
  config.rope_scaling.kind = RopeScaling::Kind::kLinear;
  config.rope_scaling.factor = 4;
  options = {};
  options.rope_scaling = "linear:factor=4";
  EXPECT_EQ(difference(config, checkpoint, options), 0);
  EXPECT_GT(difference(checkpoint.config(), checkpoint, options), 1e-3);

  config = checkpoint.config();
  config.adaptive_temperature = true;
  options = {};
  options.transform = "adaptive-temperature";
  EXPECT_EQ(difference(config, checkpoint, options), 0);
  EXPECT_GT(difference(checkpoint.config(), checkpoint, options), 1e-3);
}

TEST(WhatIf, SsmaxIsTheTrainedScaleOfTheSameValue) {
  const Checkpoint checkpoint = Checkpoint::open(kFolder + "gemma2");
  OpenOptions options;
  options.transform = "ssmax:s=0.43";
  const Decoder asked = load_decoder(checkpoint, inference_config(checkpoint, options), at::kDouble);
  DecoderConfig trained = checkpoint.config();
  trained.attn_scale_type = "nakanishi";
  std::vector<NamedTensor> parameters;
  for (const TensorSpec& spec : tensor_specs(trained)) {
    parameters.emplace_back(spec.name, spec.name.ends_with("attn_scale_beta")
                                           ? at::full(spec.shape, 0.43, at::TensorOptions(at::kDouble))
                                           : asked.parameter(spec.name));
  }
  const Decoder said(trained, parameters);
  const std::vector<Sample> samples = {sample_of(40, 3)};
  const EvaluationRequest request = evaluation_request(samples);
  const at::Tensor difference = said.logits(said.hidden(request)[0]) - asked.logits(asked.hidden(request)[0]);
  EXPECT_LT(difference.abs().max().item<double>(), 1e-12);
}

TEST(WhatIf, TheModelOfARecordTellsTheChange) {
  OpenOptions options;
  options.transform = "ssmax:s=0.43";
  options.rope_scaling = "yarn:factor=4";
  const PredictorInfo info = open_predictor(kFolder + "llama-gqa-tied-sharded", options)->info();
  EXPECT_EQ(info.transform, "ssmax(s=0.43)");
  EXPECT_EQ(info.positions, "rope+yarn(factor=4,original=64)");
  const PredictorInfo plain = open_predictor(kFolder + "llama-gqa-tied-sharded", {})->info();
  EXPECT_EQ(plain.transform, "softmax");
  EXPECT_EQ(plain.positions, "rope");
  EXPECT_EQ(plain.checkpoint_sha256, info.checkpoint_sha256);
}

}  // namespace
}  // namespace lenbench
