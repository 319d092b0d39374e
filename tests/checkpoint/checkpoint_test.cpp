// Whole checkpoints on disk: what is found, what is refused and how, identity.
#include "checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "temp_folder.h"

namespace lenbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DecoderConfig small_config() {
  DecoderConfig config;
  config.vocab_size = 5;
  config.hidden_size = 4;
  config.intermediate_size = 6;
  config.num_layers = 1;
  config.num_heads = 2;
  config.num_kv_heads = 1;
  config.head_dim = 2;
  config.entmax_alpha = 1.5;
  return config;
}

// Tensors that fill themselves: element i of tensor t is t + i / 8, exact in every type.
class Weights {
 public:
  explicit Weights(const DecoderConfig& config) {
    float first = 0;
    for (const TensorSpec& spec : tensor_specs(config)) {
      std::int64_t elements = 1;
      for (const std::int64_t size : spec.shape) elements *= size;
      std::vector<float>& values = values_[spec.name];
      for (std::int64_t i = 0; i < elements; ++i) values.push_back(first + static_cast<float>(i) / 8);
      shapes_[spec.name] = spec.shape;
      first += 1;
    }
  }
  std::vector<float>& values(const std::string& name) { return values_.at(name); }
  void set(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
    shapes_[name] = std::move(shape);
    values_[name] = std::move(values);
  }
  void erase(const std::string& name) {
    shapes_.erase(name);
    values_.erase(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& item : shapes_) names.push_back(item.first);
    return names;
  }
  void write(const std::string& path, const std::vector<std::string>& only) const {
    std::map<std::string, TensorSource> sources;
    for (const std::string& name : only) {
      sources[name] = {Dtype::kF32, shapes_.at(name), std::as_bytes(std::span(values_.at(name)))};
    }
    write_safetensors(path, sources, {});
  }
  void write(const std::string& path) const { write(path, names()); }

 private:
  std::map<std::string, std::vector<std::int64_t>> shapes_;
  std::map<std::string, std::vector<float>> values_;
};

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : config_(small_config()), weights_(config_) {}
  void write_config() { folder_.write("config.json", config_to_json(config_).dump()); }
  void write_all() {
    write_config();
    weights_.write(folder_.file("model.safetensors"));
  }
  std::string error_of(bool ignore_index = false) { return error_of(folder_.path().string(), ignore_index); }
  std::string error_of(const std::string& path, bool ignore_index = false) {
    try {
      Checkpoint::open(path, ignore_index).check_finite();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "";
  }
  // Three shards, tensors dealt in turn, and their index.
  void write_sharded() {
    write_config();
    nlohmann::json weight_map;
    std::vector<std::string> shards[3];
    const std::vector<std::string> names = weights_.names();
    for (std::size_t i = 0; i < names.size(); ++i) {
      shards[i % 3].push_back(names[i]);
      weight_map[names[i]] = shard(static_cast<int>(i % 3));
    }
    for (int s = 0; s < 3; ++s) weights_.write(folder_.file(shard(s)), shards[s]);
    folder_.write("model.safetensors.index.json", nlohmann::json{{"weight_map", weight_map}}.dump());
  }
  static std::string shard(int index) { return "model-0000" + std::to_string(index + 1) + "-of-00003.safetensors"; }

  TempFolder folder_;
  DecoderConfig config_;
  Weights weights_;
};

TEST_F(CheckpointTest, OpensAFolderAndASingleFile) {
  write_all();
  const Checkpoint checkpoint = Checkpoint::open(folder_.path().string());
  EXPECT_EQ(checkpoint.config(), config_);
  EXPECT_EQ(checkpoint.tensors().size(), tensor_specs(config_).size());
  EXPECT_EQ(checkpoint.name(), folder_.path().filename().string());
  EXPECT_EQ(checkpoint.origin().train_length, 0);
  const TensorView& norm = checkpoint.tensors().at("model.norm.weight");
  EXPECT_EQ(element_as_double(norm.dtype, norm.bytes, 3), weights_.values("model.norm.weight")[3]);
  EXPECT_EQ(Checkpoint::open(folder_.file("model.safetensors")).sha256(), checkpoint.sha256());
}

TEST_F(CheckpointTest, OriginNamesTheModel) {
  write_all();
  folder_.write("origin.json", R"({"name": "recall-asentmax-nape", "train_length": 64, "facts": {"steps": "2500"}})");
  const Checkpoint checkpoint = Checkpoint::open(folder_.path().string());
  EXPECT_EQ(checkpoint.name(), "recall-asentmax-nape");
  EXPECT_EQ(checkpoint.origin().train_length, 64);
  EXPECT_EQ(parse_origin(origin_text(checkpoint.origin()), "x"), checkpoint.origin());
  folder_.write("origin.json", R"({"train_lenght": 64})");
  EXPECT_THAT(error_of(), AllOf(HasSubstr("origin.json"), HasSubstr("did you mean 'train_length'")));
  folder_.write("origin.json", R"({"train_length": -1})");
  EXPECT_THAT(error_of(), HasSubstr("train_length is -1"));
}

TEST_F(CheckpointTest, WhatIsMissingIsNamed) {  // H4, H10
  EXPECT_THAT(error_of(folder_.file("nothing")), HasSubstr("no such checkpoint"));
  EXPECT_THAT(error_of(std::string()), HasSubstr("empty"));
  EXPECT_THAT(error_of(), HasSubstr("no config.json"));
  write_config();
  EXPECT_THAT(error_of(), HasSubstr("expected model.safetensors"));
  folder_.write("pytorch_model.bin.index.json", "{}");
  EXPECT_THAT(error_of(), AllOf(HasSubstr("no supported weights; found pytorch_model.bin"), HasSubstr("convert")));
  std::filesystem::create_directory(folder_.path() / "model.safetensors");
  EXPECT_THAT(error_of(), HasSubstr("is a folder"));
}

TEST_F(CheckpointTest, PickledFileGivenByItselfIsRefused) {  // H8
  write_config();
  folder_.write("model.pt", std::string("PK\x03\x04", 4) + std::string(64, 'x'));
  EXPECT_THAT(error_of(folder_.file("model.pt")), AllOf(HasSubstr("torch.save"), HasSubstr("torch.load('model.pt'")));
}

TEST_F(CheckpointTest, ShardsAreJoined) {
  write_all();
  const std::string single = Checkpoint::open(folder_.path().string()).sha256();
  std::filesystem::remove(folder_.file("model.safetensors"));
  write_sharded();
  const Checkpoint checkpoint = Checkpoint::open(folder_.path().string());
  EXPECT_EQ(checkpoint.tensors().size(), tensor_specs(config_).size());
  EXPECT_NE(checkpoint.sha256(), single);
}

TEST_F(CheckpointTest, MissingShardIsNamedBeforeAnythingIsRead) {  // H4
  write_sharded();
  std::filesystem::remove(folder_.file(shard(1)));
  folder_.write(shard(0), "damaged");
  EXPECT_THAT(error_of(), AllOf(HasSubstr("1 of 3 shards missing"), HasSubstr(shard(1))));
}

TEST_F(CheckpointTest, IndexBesideASingleFileIsRefusedWithBothFacts) {  // H5
  write_sharded();
  weights_.write(folder_.file("model.safetensors"));
  EXPECT_THAT(error_of(), AllOf(HasSubstr("3 shards"), HasSubstr("model.safetensors is there as well")));
  for (int s = 0; s < 3; ++s) std::filesystem::remove(folder_.file(shard(s)));
  EXPECT_THAT(error_of(), AllOf(HasSubstr("3 of 3 shards missing"), HasSubstr("model.safetensors is there")));
  const Checkpoint checkpoint = Checkpoint::open(folder_.path().string(), true);
  EXPECT_TRUE(checkpoint.files().index_ignored);
}

TEST_F(CheckpointTest, IndexMustAgreeWithTheShards) {
  write_sharded();
  const std::string index = folder_.file("model.safetensors.index.json");
  const auto rewrite = [&](const std::string& tensor, const std::string& file) {
    write_sharded();
    nlohmann::json json;
    for (const std::string& name : weights_.names()) json["weight_map"][name] = nullptr;
    std::size_t i = 0;
    for (const std::string& name : weights_.names()) json["weight_map"][name] = shard(static_cast<int>(i++ % 3));
    if (file.empty()) {
      json["weight_map"].erase(tensor);
    } else {
      json["weight_map"][tensor] = file;
    }
    folder_.write("model.safetensors.index.json", json.dump());
  };
  rewrite("lm_head.weight", shard(1));
  EXPECT_THAT(error_of(), AllOf(HasSubstr("'lm_head.weight' should be in " + shard(1)), HasSubstr(shard(0))));
  rewrite("lm_head.weight", "");
  EXPECT_THAT(error_of(), HasSubstr("'lm_head.weight' is not in the index"));
  rewrite("lm_head.weight", "../secret");
  EXPECT_THAT(error_of(), HasSubstr("not a file of the same folder"));
  rewrite("absent", shard(0));
  EXPECT_THAT(error_of(), HasSubstr("in no shard"));
  weights_.write(folder_.file(shard(2)));
  EXPECT_THAT(error_of(), HasSubstr("is also in"));
  folder_.write("model.safetensors.index.json", "{}");
  EXPECT_THAT(error_of(), HasSubstr("weight_map"));
}

TEST_F(CheckpointTest, TensorsMustBeThoseOfTheConfiguration) {  // H4
  weights_.erase("model.layers.0.self_attn.q_proj.weight");
  write_all();
  EXPECT_THAT(error_of(), HasSubstr("1 of 14 tensors missing: model.layers.0.self_attn.q_proj.weight"));
  weights_ = Weights(config_);
  weights_.set("model.layers.0.self_attn.q_proj.bias", {4}, {0, 0, 0, 0});
  write_all();
  EXPECT_THAT(error_of(), HasSubstr("model.layers.0.self_attn.q_proj.bias"));
  weights_ = Weights(config_);
  weights_.set("model.norm.weight", {2, 2}, {0, 0, 0, 0});
  write_all();
  EXPECT_THAT(error_of(), AllOf(HasSubstr("model.norm.weight"), HasSubstr("[2, 2]"), HasSubstr("asks for [4]")));
}

TEST_F(CheckpointTest, NonFiniteWeightsAreNamed) {
  weights_.values("model.layers.0.mlp.up_proj.weight")[13] = NAN;
  write_all();
  EXPECT_THAT(error_of(), AllOf(HasSubstr("model.layers.0.mlp.up_proj.weight"), HasSubstr("NaN at element 13")));
  weights_.values("model.layers.0.mlp.up_proj.weight")[13] = -INFINITY;
  write_all();
  EXPECT_THAT(error_of(), HasSubstr("-inf at element 13"));
}

TEST_F(CheckpointTest, IntegerWeightsAreRefused) {
  write_config();
  std::map<std::string, TensorSource> sources;
  const std::vector<std::int64_t> zeros(64);
  for (const TensorSpec& spec : tensor_specs(config_)) {
    std::size_t elements = 1;
    for (const std::int64_t size : spec.shape) elements *= static_cast<std::size_t>(size);
    sources[spec.name] = {Dtype::kI64, spec.shape, std::as_bytes(std::span(zeros)).first(elements * 8)};
  }
  write_safetensors(folder_.file("model.safetensors"), sources, {});
  EXPECT_THAT(error_of(), HasSubstr("has dtype I64"));
}

TEST_F(CheckpointTest, TiedOutputWeights) {  // H1, H2
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  weights_.erase(head);
  write_all();
  EXPECT_THAT(error_of(), AllOf(HasSubstr("'lm_head.weight' is missing"), HasSubstr("tie_word_embeddings")));

  config_.tie_word_embeddings = true;
  write_config();
  EXPECT_EQ(error_of(), "");

  weights_.set(head, {5, 4}, weights_.values(embedding));
  write_all();
  EXPECT_EQ(Checkpoint::open(folder_.path().string()).tensors().count(head), 0u);

  weights_.values(head)[6] += 0.5F;
  write_all();
  EXPECT_THAT(error_of(), AllOf(HasSubstr("differs"), HasSubstr("largest difference 0.5")));

  weights_.set(head, {4, 5}, std::vector<float>(20, 0.0F));
  write_all();
  EXPECT_THAT(error_of(), AllOf(HasSubstr("[4, 5]"), HasSubstr("[5, 4]")));

  weights_ = Weights(small_config());
  weights_.erase(embedding);
  write_all();
  const Checkpoint only_head = Checkpoint::open(folder_.path().string());
  EXPECT_EQ(only_head.tensors().count(embedding), 1u);
}

TEST_F(CheckpointTest, OneFlippedBitChangesTheHash) {
  write_all();
  const Checkpoint checkpoint = Checkpoint::open(folder_.path().string());
  const std::string before = checkpoint.sha256();
  EXPECT_EQ(before.size(), 64u);
  weights_.values("model.norm.weight")[0] += 0.125F;
  weights_.write(folder_.file("model.safetensors"));
  EXPECT_NE(checkpoint.sha256(), before);
  weights_.values("model.norm.weight")[0] -= 0.125F;
  weights_.write(folder_.file("model.safetensors"));
  EXPECT_EQ(checkpoint.sha256(), before);
  config_.norm_eps = 1e-5;
  write_config();
  EXPECT_NE(checkpoint.sha256(), before);
}

TEST_F(CheckpointTest, UnusualPathsWork) {
  const std::string name = "模型 évaluation\n\xff";
  std::filesystem::create_directory(folder_.path() / name);
  write_all();
  const std::filesystem::path inner = folder_.path() / name;
  std::filesystem::copy(folder_.file("config.json"), inner / "config.json");
  EXPECT_THAT(error_of(inner.string()), HasSubstr("no weights"));
  std::filesystem::copy(folder_.file("model.safetensors"), inner / "model.safetensors");
  EXPECT_EQ(Checkpoint::open(inner.string()).config(), config_);
}

}  // namespace
}  // namespace lenbench
