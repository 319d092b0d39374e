// Configurations: the reference's keys and defaults, refusals by name, round trips.
#include "checkpoint/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Json minimal() {
  return Json::parse(R"({"architectures": ["SparseGemma2ForCausalLM"], "model_type": "gemma2", "vocab_size": 40,
    "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 3, "head_dim": 8, "entmax_alpha": 1.5, "final_logit_softcapping": null})");
}

std::string error_of(const Json& json) {
  try {
    parse_config(json.dump(), "config.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

Json with(const char* key, const Json& value) {
  Json json = minimal();
  json[key] = value;
  return json;
}

TEST(Config, DefaultsAreTheReferences) {
  const DecoderConfig config = parse_config(minimal().dump(), "config.json");
  EXPECT_EQ(config.positions, "rope");
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_EQ(config.attn_scale_type, "none");
  EXPECT_EQ(config.entmax_alpha, 1.5);
  EXPECT_EQ(config.num_kv_heads, 3);
  EXPECT_EQ(config.num_scaled_heads(), 6);
  EXPECT_EQ(config.transform_name(), "entmax");
}

TEST(Config, NapeAndScaleDefaults) {
  Json json = minimal();
  json["apply_rotary"] = false;
  json["apply_nape"] = true;
  json["attn_scale_type"] = "adapt-softplus-tanh";
  const DecoderConfig config = parse_config(json.dump(), "config.json");
  EXPECT_EQ(config.positions, "nape");
  EXPECT_EQ(config.alibi_num_heads, 3);
  EXPECT_EQ(config.alibi_slope_type, "linear");
  EXPECT_EQ(config.attn_scale_delta, 1.0);
  EXPECT_EQ(config.attn_scale_gamma_range, 2.0);
  EXPECT_FALSE(config.attn_scale_proj_bias);
  EXPECT_EQ(config.num_scaled_heads(), 3);
  EXPECT_EQ(config.transform_name(), "asentmax");
}

struct Refusal {
  const char* name;
  const char* key;
  const char* value;
  const char* expected;
};

class ConfigRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(ConfigRefusal, NamesTheKey) {
  EXPECT_THAT(error_of(with(GetParam().key, Json::parse(GetParam().value))),
              AllOf(HasSubstr("config.json"), HasSubstr(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigRefusal,
    testing::Values(
        Refusal{"misspelt", "entmax_alfa", "1.5", "did you mean 'entmax_alpha'"},
        Refusal{"unknown", "attn_sinks", "4", "attn_sinks"},
        Refusal{"architecture", "architectures", R"(["LlamaForCausalLM"])", "LlamaForCausalLM"},
        Refusal{"two_architectures", "architectures", R"(["SparseGemma2ForCausalLM", "X"])", "architectures must be"},
        Refusal{"model_type", "model_type", R"("llama")", "model_type"},
        Refusal{"zero", "hidden_size", "0", "hidden_size is 0"},
        Refusal{"negative", "num_hidden_layers", "-1", "num_hidden_layers is -1"},
        Refusal{"huge", "vocab_size", "9000000000000000000", "vocab_size"},
        Refusal{"fraction", "head_dim", "8.0", "head_dim"}, Refusal{"text", "hidden_size", R"("48")", "hidden_size"},
        Refusal{"heads", "num_key_value_heads", "4", "not a multiple of num_key_value_heads (4)"},
        Refusal{"odd_rope", "head_dim", "7", "rotary positions need an even one"},
        Refusal{"alpha_low", "entmax_alpha", "0.5", "entmax_alpha is 0.5"},
        Refusal{"alpha_high", "entmax_alpha", "2.5", "entmax_alpha is 2.5"},
        Refusal{"alpha_null", "entmax_alpha", "null", "entmax_alpha"},
        Refusal{"activation", "hidden_activation", R"("silu")", "silu"},
        Refusal{"bias", "attention_bias", "true", "attention_bias"},
        Refusal{"capping", "final_logit_softcapping", "30.0", "final_logit_softcapping 30"},
        Refusal{"poly_fit", "poly_fit", "true", "reversed"},
        Refusal{"stick_break", "attn_type", R"("stick-break")", "stick-break"},
        Refusal{"topk_size", "attn_type", R"("topk")", "needs topk_size"},
        Refusal{"scale", "attn_scale_type", R"("adapt")", "attn_scale_type 'adapt'"},
        Refusal{"theta", "attn_scale_type", R"("theta")", "theta"},
        Refusal{"both_positions", "apply_nape", "true", "apply_rotary true by default"},
        Refusal{"rope_scaling", "rope_scaling", R"({"rope_type": "linear", "factor": 2.0})", "rope_scaling"},
        Refusal{"rope_theta", "rope_theta", "0.0", "rope_theta"},
        Refusal{"eps", "rms_norm_eps", "-1.0", "rms_norm_eps"},
        Refusal{"pruned", "pruned_heads", R"({"0": [1]})", "pruned_heads"},
        Refusal{"encoder", "is_encoder_decoder", "true", "is_encoder_decoder"},
        Refusal{"own", "lenbench", R"({"alpha_learnable": true})", "LenbenchForCausalLM"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Config, MissingKeysAreNamed) {
  for (const char* key :
       {"architectures", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "entmax_alpha", "final_logit_softcapping"}) {
    Json json = minimal();
    json.erase(key);
    EXPECT_THAT(error_of(json), HasSubstr(key));
  }
}

TEST(Config, HarmlessKeysAreAccepted) {
  Json json = minimal();
  const DecoderConfig plain = parse_config(json.dump(), "config.json");
  json["sliding_window"] = 4096;
  json["query_pre_attn_scalar"] = 224;
  json["attn_logit_softcapping"] = 50.0;
  json["max_position_embeddings"] = 8;
  json["rope_scaling"] = {{"rope_type", "default"}};
  json["pruned_heads"] = Json::object();
  json["transformers_version"] = "4.46.3";
  json["use_fast_attn"] = true;
  json["attn_scale_type"] = nullptr;
  EXPECT_EQ(parse_config(json.dump(), "config.json"), plain);
}

TEST(Config, StrictJson) {
  const std::string text = minimal().dump();
  EXPECT_THROW(parse_config(text + "x", "c"), Error);
  EXPECT_THROW(parse_config("{\"vocab_size\":1," + text.substr(1), "c"), Error);
  EXPECT_THROW(parse_config(std::string(1'000'000, '['), "c"), Error);
  EXPECT_THROW(parse_config("[]", "c"), Error);
  EXPECT_THROW(parse_config("", "c"), Error);
  EXPECT_THROW(parse_config(R"({"entmax_alpha": NaN})", "c"), Error);
}

std::vector<DecoderConfig> some_configs() {
  DecoderConfig base;
  base.vocab_size = 40;
  base.hidden_size = 48;
  base.intermediate_size = 96;
  base.num_layers = 2;
  base.num_heads = 6;
  base.num_kv_heads = 2;
  base.head_dim = 8;
  std::vector<DecoderConfig> configs;
  for (const char* positions : {"nope", "rope", "alibi", "nape"}) {
    for (const char* scale : {"none", "nakanishi", "learn", "adapt-softplus-tanh", "theta"}) {
      DecoderConfig config = base;
      config.positions = positions;
      if (config.positions == "rope") config.rope_theta = 500000.0;
      if (config.positions == "nape") {
        config.alibi_num_heads = 4;
        config.alibi_slope_type = "exp";
      }
      config.attn_scale_type = scale;
      if (config.attn_scale_type == "learn") config.attn_scale_delta = 0.5;
      if (config.attn_scale_type == "adapt-softplus-tanh") {
        config.attn_scale_delta = 0.25;
        config.attn_scale_gamma_range = 3.0;
        config.attn_scale_proj_bias = true;
      }
      configs.push_back(config);
      config.entmax_alpha = 1.7;
      configs.push_back(config);
      config.alpha_learnable = true;
      config.tie_word_embeddings = true;
      configs.push_back(config);
    }
  }
  DecoderConfig topk = base;
  topk.topk_size = 4;
  configs.push_back(topk);
  DecoderConfig adaptive = base;
  adaptive.adaptive_temperature = true;
  configs.push_back(adaptive);
  return configs;
}

TEST(Config, RoundTrip) {
  for (const DecoderConfig& config : some_configs()) {
    const Json json = config_to_json(config);
    EXPECT_EQ(parse_config(json.dump(2), "config.json"), config) << json.dump();
    const bool ours = config.positions == "alibi" || config.attn_scale_type == "theta" || config.alpha_learnable ||
                      config.adaptive_temperature;
    EXPECT_EQ(json["architectures"][0], ours ? "LenbenchForCausalLM" : "SparseGemma2ForCausalLM");
  }
}

TEST(Config, TensorsOfAScaledModel) {
  Json json = minimal();
  json["apply_rotary"] = false;
  json["apply_nape"] = true;
  json["alibi_num_heads"] = 2;
  json["attn_scale_type"] = "learn";
  json["tie_word_embeddings"] = true;
  json["num_hidden_layers"] = 1;
  const DecoderConfig config = parse_config(json.dump(), "config.json");
  std::vector<std::string> lines;
  std::int64_t total = 0;
  for (const TensorSpec& spec : tensor_specs(config)) {
    std::string line = spec.name;
    std::int64_t elements = 1;
    for (const std::int64_t size : spec.shape) {
      line += " " + std::to_string(size);
      elements *= size;
    }
    total += elements;
    lines.push_back(line);
  }
  const std::string layer = "model.layers.0.";
  EXPECT_THAT(lines, ElementsAre("model.embed_tokens.weight 40 48", layer + "input_layernorm.weight 48",
                                 layer + "self_attn.q_proj.weight 48 48", layer + "self_attn.k_proj.weight 24 48",
                                 layer + "self_attn.v_proj.weight 24 48", layer + "self_attn.attn_scale_beta 1 4 1 1",
                                 layer + "self_attn.attn_scale_gamma 1 4 1 1", layer + "self_attn.o_proj.weight 48 48",
                                 layer + "post_attention_layernorm.weight 48",
                                 layer + "pre_feedforward_layernorm.weight 48", layer + "mlp.gate_proj.weight 96 48",
                                 layer + "mlp.up_proj.weight 96 48", layer + "mlp.down_proj.weight 48 96",
                                 layer + "post_feedforward_layernorm.weight 48", "model.norm.weight 48"));
  EXPECT_EQ(num_parameters(config), total);
}

TEST(Config, SlopesOfTheStandardHeadCounts) {
  DecoderConfig config = some_configs()[0];
  config.positions = "alibi";
  config.num_heads = 12;
  std::vector<double> expected;
  for (int i = 1; i <= 8; ++i) expected.push_back(std::ldexp(1.0, -i));
  for (const double exponent : {0.5, 1.5, 2.5, 3.5}) expected.push_back(std::exp2(-exponent));
  EXPECT_EQ(alibi_slopes(config), expected);
  config.positions = "nape";
  config.num_heads = 16;
  config.alibi_num_heads = 8;
  EXPECT_THAT(alibi_slopes(config),
              ElementsAre(1.0, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8, 0, 0, 0, 0, 0, 0, 0, 0));
  config.alibi_slope_type = "exp";
  config.num_heads = 4;
  config.alibi_num_heads = 3;
  EXPECT_THAT(alibi_slopes(config), ElementsAre(1.0, 0.5, 0.25, 0));
}

}  // namespace
}  // namespace lenbench
