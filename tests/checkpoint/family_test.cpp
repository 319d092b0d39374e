// Configurations of the Hugging Face families: their defaults, their older and newer spellings, refusals in one line.
#include "checkpoint/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/inference_change.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;
using Kind = RopeScaling::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Json minimal(const std::string& family) {
  if (family == "gpt2") {
    return Json::parse(R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 32, "n_embd": 16,
      "n_layer": 2, "n_head": 4, "n_positions": 40})");
  }
  Json json = Json::parse(R"({"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 4,
    "num_attention_heads": 8, "max_position_embeddings": 64})");
  const Family& description = family_named(family);
  json["architectures"] = {description.architectures[0]};
  json["model_type"] = description.model_type;
  return json;
}

DecoderConfig parse(const Json& json) { return parse_config(json.dump(), "config.json"); }
DecoderConfig parse(const std::string& family, const std::string& patch) {
  Json json = minimal(family);
  json.update(Json::parse(patch));
  return parse(json);
}

std::string error_of(const std::string& family, const std::string& patch) {
  try {
    parse(family, patch);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(Family, DefaultsAreThoseOfTransformers) {
  const DecoderConfig llama = parse(minimal("llama"));
  EXPECT_EQ(llama.num_kv_heads, 8);
  EXPECT_EQ(llama.head_dim, 2);
  EXPECT_EQ(llama.rope_theta, 10000);
  EXPECT_FALSE(llama.tie_word_embeddings || llama.qkv_bias || llama.o_bias || llama.mlp_bias || llama.qk_norm);
  EXPECT_EQ(llama.activation, Activation::kSilu);
  EXPECT_EQ(llama.scale_of_scores(0), 1 / std::sqrt(2.0));
  const DecoderConfig mistral = parse(minimal("mistral"));
  EXPECT_EQ(mistral.num_kv_heads, 8);
  EXPECT_THAT(mistral.windows, ElementsAre(4096, 4096, 4096, 4096));
  EXPECT_EQ(parse("mistral", R"({"sliding_window": null})").windows.size(), 0U);
  const DecoderConfig qwen2 = parse(minimal("qwen2"));
  EXPECT_TRUE(qwen2.qkv_bias && !qwen2.o_bias && qwen2.windows.empty());
  const DecoderConfig qwen3 = parse(minimal("qwen3"));
  EXPECT_TRUE(qwen3.qk_norm && !qwen3.qkv_bias);
  EXPECT_EQ(qwen3.head_dim, 128);
  const DecoderConfig gemma2 = parse("gemma2", R"({"sliding_window": 8})");
  EXPECT_TRUE(gemma2.tie_word_embeddings && gemma2.post_norms && gemma2.scale_embedding);
  EXPECT_EQ(gemma2.num_kv_heads, 4);
  EXPECT_EQ(gemma2.head_dim, 256);
  EXPECT_EQ(gemma2.scale_of_scores(1), 1.0 / 16);
  EXPECT_EQ(gemma2.score_softcap, 50);
  EXPECT_EQ(gemma2.logit_softcap, 30);
  EXPECT_THAT(gemma2.windows, ElementsAre(8, 0, 8, 0));
  Json neox_json = minimal("gpt_neox");
  neox_json["num_attention_heads"] = 2;
  const DecoderConfig neox = parse(neox_json);
  EXPECT_TRUE(neox.parallel_residual && neox.qkv_bias && neox.mlp_bias && !neox.gated_mlp);
  EXPECT_EQ(neox.rotary_dim, 2);
  EXPECT_EQ(neox.activation, Activation::kGelu);
  const DecoderConfig gpt2 = parse(minimal("gpt2"));
  EXPECT_TRUE(gpt2.tie_word_embeddings);
  EXPECT_EQ(gpt2.intermediate_size, 64);
  EXPECT_EQ(gpt2.max_positions, 40);
  EXPECT_EQ(parse("gpt2", R"({"scale_attn_weights": false})").scale_of_scores(1), 1);
  EXPECT_EQ(parse("gpt2", R"({"scale_attn_by_inverse_layer_idx": true})").scale_of_scores(1), 0.25);
}

TEST(Family, QwenWindowsFollowTheSwitchAndTheFirstLayer) {
  EXPECT_THAT(parse("qwen2", R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 3})").windows,
              ElementsAre(0, 0, 0, 8));
  EXPECT_TRUE(
      parse("qwen3", R"({"use_sliding_window": false, "sliding_window": 8, "max_window_layers": 0})").windows.empty());
  EXPECT_TRUE(parse("qwen2", R"({"use_sliding_window": true, "sliding_window": null, "max_window_layers": 0})")
                  .windows.empty());
  EXPECT_TRUE(parse("qwen2", R"({"sliding_window": 0, "max_window_layers": 0})").windows.empty());
  EXPECT_THAT(parse("qwen3", R"({"use_sliding_window": true, "sliding_window": 8, "layer_types":
      ["sliding_attention", "full_attention", "full_attention", "sliding_attention"]})")
                  .windows,
              ElementsAre(8, 0, 0, 8));
  EXPECT_THAT(error_of("qwen2", R"({"layer_types": ["sliding_attention", "full_attention"]})"),
              HasSubstr("layer_types"));
  EXPECT_THAT(error_of("gemma2", R"({"layer_types": ["chunked_attention", "full_attention", "full_attention",
      "full_attention"]})"),
              HasSubstr("chunked_attention"));
}

TEST(Family, OldAndNewSpellingsOfRopeMeanTheSame) {
  const DecoderConfig old = parse("llama", R"({"rope_theta": 5000.0, "torch_dtype": "bfloat16",
      "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}})");
  const DecoderConfig now = parse("llama", R"({"dtype": "bfloat16", "rope_parameters": {"rope_theta": 5000.0,
      "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}})");
  EXPECT_EQ(old, now);
  EXPECT_EQ(now.rope_scaling.original_positions, 16);
  EXPECT_EQ(now.positions_name(), "rope+yarn(factor=4,original=16)");
  const DecoderConfig neox_old = parse("gpt_neox", R"({"hidden_size": 32, "num_attention_heads": 2, "rotary_pct": 0.5,
      "rotary_emb_base": 500})");
  const DecoderConfig neox_now = parse("gpt_neox", R"({"hidden_size": 32, "num_attention_heads": 2,
      "rope_parameters": {"rope_theta": 500, "partial_rotary_factor": 0.5, "rope_type": "default"}})");
  EXPECT_EQ(neox_old, neox_now);
  EXPECT_EQ(neox_now.rotary_dim, 8);
  EXPECT_EQ(parse("llama", R"({"rope_scaling": {"rope_type": "default"}})"), parse(minimal("llama")));
}

TEST(Family, LengthsBeforeScalingFollowTransformers) {
  const auto original = [](const std::string& patch) { return parse("llama", patch).rope_scaling.original_positions; };
  EXPECT_EQ(original(R"({"rope_scaling": {"type": "yarn", "factor": 2.0}})"), 64);
  EXPECT_EQ(original(R"({"rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32}})"),
            32);
  EXPECT_EQ(original(R"({"original_max_position_embeddings": 16, "rope_scaling": {"type": "yarn", "factor": 2.0,
      "original_max_position_embeddings": 32}})"),
            16);
  EXPECT_EQ(original(R"({"head_dim": 4, "rope_scaling": {"type": "dynamic", "factor": 2.0}})"), 64);
  // 4.43 to 4.50 read YaRN's range off max_position_embeddings, and no mscale.
  const auto factor = [](const std::string& version) {
    return rope_attention_factor(parse("llama", R"({"transformers_version": ")" + version + R"(", "rope_scaling":
        {"type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 1.0}})")
                                     .rope_scaling);
  };
  EXPECT_NEAR(factor("4.46.3"), 0.1 * std::log(4.0) + 1, 1e-12);
  EXPECT_EQ(factor("4.51.3"), 1);
  for (const auto& [version, wanted] : {std::pair{"4.42.0", 32},
                                        {"4.43.0", 64},
                                        {"4.46.3", 64},
                                        {"4.50.1", 64},
                                        {"4.51.0", 32},
                                        {"5.0.0", 32},
                                        {"4.dev", 32}}) {
    EXPECT_EQ(
        original(std::string(R"({"transformers_version": ")") + version +
                 R"(", "rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32}})"),
        wanted)
        << version;
  }
  EXPECT_EQ(parse("llama", R"({"rope_parameters": {"rope_type": "yarn", "factor": null,
      "original_max_position_embeddings": 16}})")
                .rope_scaling.factor,
            4);
}

struct Refusal {
  const char* name;
  const char* family;
  const char* patch;
  const char* expected;
};

class FamilyRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(FamilyRefusal, NamesTheKeyInOneLine) {
  EXPECT_THAT(error_of(GetParam().family, GetParam().patch),
              AllOf(HasSubstr("config.json"), HasSubstr(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    All, FamilyRefusal,
    testing::Values(
        Refusal{"architecture", "llama", R"({"architectures": ["LlamaForCausalLN"]})",
                "did you mean 'LlamaForCausalLM'"},
        Refusal{"known", "llama", R"({"architectures": ["MambaForCausalLM"]})", "GPTNeoXForCausalLM, GPT2LMHeadModel"},
        Refusal{"no_architecture", "llama", R"({"architectures": null})", "'architectures' is missing"},
        Refusal{"model_type", "llama", R"({"model_type": "mistral"})", "model_type must be \"llama\""},
        Refusal{"rope_type", "llama", R"({"rope_scaling": {"rope_type": "longrope", "factor": 2}})",
                "known are default, linear, dynamic, llama3, yarn"},
        Refusal{"rope_key", "llama", R"({"rope_scaling": {"rope_type": "linear", "factor": 2, "beta": 3}})", "'beta'"},
        Refusal{"rope_factor", "llama", R"({"rope_scaling": {"rope_type": "linear"}})", "needs a factor"},
        Refusal{"rope_zero", "llama", R"({"rope_scaling": {"rope_type": "linear", "factor": 0}})", "factor is 0"},
        Refusal{"llama3_keys", "llama", R"({"rope_scaling": {"rope_type": "llama3", "factor": 2}})", "low_freq_factor"},
        Refusal{"rope_types_differ", "llama",
                R"({"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2}})", "must agree"},
        Refusal{
            "rope_twice", "llama",
            R"({"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "linear", "factor": 3}})",
            "say different things"},
        Refusal{"thetas_differ", "llama", R"({"rope_theta": 100.0, "rope_parameters": {"rope_theta": 200.0}})",
                "must agree"},
        Refusal{"dtypes_differ", "llama", R"({"dtype": "float32", "torch_dtype": "bfloat16"})", "torch_dtype"},
        Refusal{"shares_differ", "gpt_neox", R"({"rotary_pct": 0.25, "partial_rotary_factor": 0.5})", "must agree"},
        Refusal{"by_layer_type", "gemma2", R"({"rope_parameters": {"full_attention": {"rope_theta": 1.0}}})",
                "layer type"},
        Refusal{"activation", "llama", R"({"hidden_act": "mish"})", "activation 'mish'"},
        Refusal{"activation2", "gpt2", R"({"activation_function": "gelu_knew"})", "did you mean 'gelu_new'"},
        Refusal{"quantized", "llama", R"({"quantization_config": {"bits": 4}})", "quantized"},
        Refusal{"unknown", "llama", R"({"num_experts": 8})", "num_experts"},
        Refusal{"cross", "gpt2", R"({"add_cross_attention": true})", "add_cross_attention"},
        Refusal{"bidirectional", "gemma2", R"({"use_bidirectional_attention": true})", "causal"},
        Refusal{"heads", "llama", R"({"num_key_value_heads": 3})", "not a multiple of num_key_value_heads (3)"},
        Refusal{"no_heads", "llama", R"({"num_attention_heads": 0})", "num_attention_heads is 0"},
        Refusal{"head_dim", "llama", R"({"head_dim": 3})", "even"},
        Refusal{"huge", "llama", R"({"hidden_size": 9223372036854775808})", "below 2^63"},
        Refusal{"layers", "qwen3", R"({"num_hidden_layers": 1000000000})", "num_hidden_layers is 1000000000"},
        Refusal{"fraction", "llama", R"({"hidden_size": 16.0})", "must be an integer"},
        Refusal{"text", "llama", R"({"attention_bias": "no"})", "true or false"},
        Refusal{"window", "mistral", R"({"sliding_window": -4})", "sliding_window is -4"},
        Refusal{"window_zero", "gemma2", R"({"sliding_window": 0})", "sliding_window is 0"},
        Refusal{"window_qwen", "qwen2", R"({"use_sliding_window": true, "sliding_window": 0})", "sliding_window is 0"},
        Refusal{"no_context", "llama", R"({"max_position_embeddings": 0})", "max_position_embeddings is 0"},
        Refusal{"epsilon", "llama", R"({"rms_norm_eps": 1e300})", "epsilon (rms_norm_eps, layer_norm_eps) is 1e+300"},
        Refusal{"factor_alone", "llama", R"({"rope_parameters": {"rope_theta": 500, "factor": 4}})", "no rope_type"},
        Refusal{"scalar", "gemma2", R"({"query_pre_attn_scalar": 0})", "query_pre_attn_scalar is 0"},
        Refusal{"cap", "gemma2", R"({"final_logit_softcapping": -1})", "final_logit_softcapping"},
        Refusal{"positions", "gpt2", R"({"n_positions": 0})", "learned positions"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Family, TensorsAreFoundUnderTheFamilysNames) {
  Json json = minimal("gpt_neox");
  json["num_attention_heads"] = 2;
  json["num_hidden_layers"] = 1;
  std::vector<std::string> lines;
  for (const TensorSpec& spec : stored_tensor_specs(parse(json))) {
    std::string line = spec.name;
    for (const std::int64_t size : spec.shape) line += " " + std::to_string(size);
    lines.push_back(line);
  }
  const std::string layer = "gpt_neox.layers.0.";
  EXPECT_THAT(lines, ElementsAre("gpt_neox.embed_in.weight 32 16", layer + "input_layernorm.weight 16",
                                 layer + "input_layernorm.bias 16", layer + "attention.query_key_value.weight 48 16",
                                 layer + "attention.query_key_value.bias 48", layer + "attention.dense.weight 16 16",
                                 layer + "attention.dense.bias 16", layer + "post_attention_layernorm.weight 16",
                                 layer + "post_attention_layernorm.bias 16", layer + "mlp.dense_h_to_4h.weight 24 16",
                                 layer + "mlp.dense_h_to_4h.bias 24", layer + "mlp.dense_4h_to_h.weight 16 24",
                                 layer + "mlp.dense_4h_to_h.bias 16", "gpt_neox.final_layer_norm.weight 16",
                                 "gpt_neox.final_layer_norm.bias 16", "embed_out.weight 32 16"));
}

std::string change_error(const DecoderConfig& config, const InferenceChange& change) {
  try {
    changed_at_inference(config, change, 0);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(InferenceChange, ChangesWhatItSaysAndNothingElse) {
  const DecoderConfig llama = parse("llama", R"({"head_dim": 4})");
  EXPECT_EQ(changed_at_inference(llama, {}, 0), llama);
  EXPECT_EQ(changed_at_inference(llama, {"ssmax:s=0.43", "", ""}, 0).transform_name(), "ssmax(s=0.43)");
  EXPECT_EQ(changed_at_inference(llama, {"ssmax:s=0.43", "1.5", ""}, 0).transform_name(), "entmax+ssmax(s=0.43)");
  EXPECT_EQ(changed_at_inference(llama, {"entmax:alpha=1.25", "", ""}, 0),
            changed_at_inference(llama, {"", "1.25", ""}, 0));
  EXPECT_EQ(changed_at_inference(llama, {"adaptive-temperature", "", ""}, 0).transform_name(), "adaptive-temperature");
  EXPECT_EQ(changed_at_inference(llama, {"", "", "dynamic:factor=2"}, 0).positions_name(),
            "rope+dynamic(factor=2,original=64)");
  const DecoderConfig scaled = parse("llama", R"({"head_dim": 4, "rope_scaling": {"type": "linear", "factor": 2}})");
  EXPECT_EQ(changed_at_inference(scaled, {"", "", "none"}, 0), llama);
  DecoderConfig unknown_context = llama;
  unknown_context.context = 0;
  EXPECT_EQ(changed_at_inference(unknown_context, {"", "", "yarn:factor=2"}, 48).rope_scaling.original_positions, 48);
}

TEST(InferenceChange, RefusesWhatHasNoMeaning) {
  const DecoderConfig llama = parse(minimal("llama")), gpt2 = parse(minimal("gpt2"));
  EXPECT_THAT(change_error(gpt2, {"", "", "linear:factor=2"}), HasSubstr("rotary positions; this one has learned"));
  EXPECT_THAT(change_error(llama, {"ssmax", "", ""}), HasSubstr("must say s, as in ssmax:s=0.43"));
  EXPECT_THAT(change_error(llama, {"ssmax:s=-1", "", ""}), HasSubstr("s is -1"));
  EXPECT_THAT(change_error(llama, {"ssmax:beta=1", "", ""}), HasSubstr("must say s"));
  EXPECT_THAT(change_error(llama, {"asentmax", "", ""}),
              AllOf(HasSubstr("asentmax"), HasSubstr("adaptive-temperature")));
  EXPECT_THAT(change_error(llama, {"", "1", ""}), HasSubstr("--alpha is 1"));
  EXPECT_THAT(change_error(llama, {"", "2.5", ""}), HasSubstr("--alpha is 2.5"));
  EXPECT_THAT(change_error(llama, {"entmax:alpha=1.5", "1.5", ""}), HasSubstr("keep one"));
  EXPECT_THAT(change_error(llama, {"adaptive-temperature", "1.5", ""}), HasSubstr("softmax only"));
  DecoderConfig topk = llama;
  topk.topk_size = 4;
  EXPECT_THAT(change_error(topk, {"", "1.5", ""}), HasSubstr("topk(k=4)"));
  DecoderConfig trained = llama;
  trained.attn_scale_type = "nakanishi";
  EXPECT_THAT(change_error(trained, {"ssmax:s=1", "", ""}), HasSubstr("this one is ssmax"));
}

}  // namespace
}  // namespace lenbench
