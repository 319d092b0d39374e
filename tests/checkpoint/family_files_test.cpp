// Files of Hugging Face models, whole and damaged: theme H of the bug collection with the families' own names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/warnings.h"
#include "temp_folder.h"

namespace lenbench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A copy of a model to damage.
class Copy {
 public:
  explicit Copy(const std::string& model) {
    for (const auto& file : fs::directory_iterator(std::string(LENBENCH_TEST_DATA) + "/model/huggingface/" + model)) {
      fs::copy(file, folder_.path());
      fs::permissions(folder_.path() / file.path().filename(), fs::perms::owner_all);
    }
  }
  const TempFolder& folder() const { return folder_; }
  void patch_config(const std::string& patch) {
    Json config = Json::parse(read_file(folder_.file("config.json")));
    config.merge_patch(Json::parse(patch));
    folder_.write("config.json", config.dump());
  }
  // Writes model.safetensors anew without `left_out` and with `added`.
  void rewrite(const std::string& left_out, const std::map<std::string, TensorSource>& added) {
    const SafetensorsFile file = SafetensorsFile::from_bytes(read_file(folder_.file("model.safetensors")), "model");
    std::map<std::string, TensorSource> tensors = added;
    for (const auto& [name, view] : file.tensors()) {
      if (name != left_out && !added.contains(name)) tensors[name] = {view.dtype, view.shape, view.bytes};
    }
    write_safetensors(folder_.file("model.safetensors"), tensors, {});
  }
  Checkpoint open() const { return Checkpoint::open(folder_.path().string()); }
  std::string error() const {
    try {
      open().check_finite();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "";
  }

 private:
  TempFolder folder_;
};

TEST(FamilyFiles, ATiedTensorIsTiedOrItsAbsenceRefusedUnderTheFamilysName) {  // H1
  Copy llama("llama-gqa-tied-sharded");
  EXPECT_EQ(llama.error(), "");
  llama.patch_config(R"({"tie_word_embeddings": false})");
  EXPECT_THAT(llama.error(), AllOf(HasSubstr("'lm_head.weight' is missing"), HasSubstr("tie_word_embeddings")));
  llama.patch_config(R"({"tie_word_embeddings": null})");
  EXPECT_THAT(llama.error(), HasSubstr("'lm_head.weight' is missing"));
  Copy neox("gpt-neox");
  neox.rewrite("embed_out.weight", {});
  EXPECT_THAT(neox.error(), HasSubstr("'embed_out.weight' is missing"));
}

TEST(FamilyFiles, OutputWeightsStoredThoughTiedMustBeEqual) {  // H2
  Copy model("llama-yarn-mscale");
  const std::string bytes = read_file(model.folder().file("model.safetensors"));
  const SafetensorsFile file = SafetensorsFile::from_bytes(bytes, "model");
  const TensorView& embedding = file.tensors().at("model.embed_tokens.weight");
  model.rewrite("", {{"lm_head.weight", {embedding.dtype, embedding.shape, embedding.bytes}}});
  EXPECT_TRUE(model.open().tied_twice());
  EXPECT_THAT(checkpoint_warnings(model.open()), testing::Contains(HasSubstr("stored twice")));
  std::vector<std::byte> other(embedding.bytes.begin(), embedding.bytes.end());
  other[0] ^= std::byte{1};
  model.rewrite("", {{"lm_head.weight", {embedding.dtype, embedding.shape, other}}});
  EXPECT_THAT(model.error(), AllOf(HasSubstr("differs"), HasSubstr("largest difference")));
}

TEST(FamilyFiles, AMissingShardIsNamedAndNothingElseIsRead) {  // H4
  Copy model("llama-gqa-tied-sharded");
  fs::remove(model.folder().file("model-00002-of-00003.safetensors"));
  EXPECT_THAT(model.error(), HasSubstr("1 of 3 shards missing: model-00002-of-00003.safetensors"));
}

TEST(FamilyFiles, EveryTensorIsAccountedFor) {  // H4
  Copy model("gpt2-by-layer");
  model.rewrite("h.1.mlp.c_proj.bias", {});
  EXPECT_THAT(model.error(), HasSubstr("1 of 41 tensors missing: transformer.h.1.mlp.c_proj.bias"));
  Copy llama("llama-yarn");
  const std::vector<std::byte> zeros(64);
  llama.rewrite("", {{"model.layers.0.self_attn.q_proj.lora_A.weight", {Dtype::kF32, {4, 4}, zeros}}});
  EXPECT_THAT(llama.error(), AllOf(HasSubstr("config.json does not account for"), HasSubstr("lora_A")));
  Copy old("llama-yarn");
  old.rewrite("", {{"model.layers.0.self_attn.rotary_emb.inv_freq", {Dtype::kF32, {16}, zeros}}});
  EXPECT_EQ(old.error(), "") << "a buffer of older versions, which follows from the configuration";
  Copy misshapen("gpt-neox");
  misshapen.patch_config(R"({"intermediate_size": 63})");
  EXPECT_THAT(misshapen.error(), AllOf(HasSubstr("gpt_neox.layers.0.mlp.dense_h_to_4h.weight"), HasSubstr("[64, 32]"),
                                       HasSubstr("asks for [63, 32]")));
}

TEST(FamilyFiles, NonFiniteWeightsAreNamed) {
  Copy model("gemma2");
  const std::vector<std::byte> not_a_number = {std::byte{0xc0}, std::byte{0x7f}};
  std::vector<std::byte> norm(32);
  std::copy(not_a_number.begin(), not_a_number.end(), norm.begin() + 6);
  model.rewrite("model.norm.weight", {{"model.norm.weight", {Dtype::kBF16, {16}, norm}}});
  EXPECT_THAT(model.error(), AllOf(HasSubstr("'model.norm.weight'"), HasSubstr("NaN at element 3")));
}

TEST(FamilyFiles, CutOffAtAnyByteOfTheHeaderIsOneLine) {  // H7
  Copy model("llama-linear-rope-bf16");
  const std::string whole = read_file(model.folder().file("model.safetensors"));
  std::size_t header = 0;
  for (int i = 7; i >= 0; --i) header = header << 8 | static_cast<unsigned char>(whole[static_cast<std::size_t>(i)]);
  for (std::size_t size = 0; size <= 8 + header; ++size) {
    std::string message;
    try {
      SafetensorsFile::from_bytes(whole.substr(0, size), "model.safetensors");
    } catch (const Error& error) {
      message = error.what();
    }
    ASSERT_THAT(message, HasSubstr("cut off")) << size;
    ASSERT_EQ(message.find('\n'), message.npos) << size;
  }
  model.folder().write("model.safetensors", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(model.error(), HasSubstr("(1 bytes missing)"));
}

TEST(Warnings, NameScalingsThatCannotBeMeant) {
  const auto warnings = [](const std::string& scaling, const std::string& more = "{}") {
    Copy model("llama-gqa-tied-sharded");
    model.patch_config(R"({"max_position_embeddings": 4096, "rope_scaling": )" + scaling + "}");
    model.patch_config(more);
    return checkpoint_warnings(model.open());
  };
  EXPECT_THAT(warnings("null"), ElementsAre());
  EXPECT_THAT(warnings(R"({"type": "linear", "factor": 4.0})"), ElementsAre());
  EXPECT_THAT(warnings(R"({"type": "linear", "factor": 0.5})"), ElementsAre(HasSubstr("factor 0.5 is below 1")));
  EXPECT_THAT(warnings(R"({"type": "linear", "factor": 1.0})"), ElementsAre(HasSubstr("scales nothing")));
  EXPECT_THAT(warnings(R"({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192})",
                       R"({"transformers_version": "5.0.0"})"),
              ElementsAre(HasSubstr("8192 is above max_position_embeddings 4096")));
  EXPECT_THAT(warnings(R"({"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 1024})",
                       R"({"transformers_version": "5.0.0"})"),
              ElementsAre(HasSubstr("4096 is beyond factor times 1024")));
  EXPECT_THAT(warnings(R"({"type": "yarn", "factor": 4.0, "attention_factor": 2.0})"),
              ElementsAre(HasSubstr("attention_factor 2 is not the 1.13")));
  EXPECT_THAT(warnings(R"({"type": "linear", "factor": 4.0})", R"({"max_position_embeddings": 128})"),
              ElementsAre(HasSubstr("a model of only 128 tokens")));
  EXPECT_THAT(warnings(R"({"type": "default", "factor": 4.0})"), ElementsAre(HasSubstr("its factor 4 is not used")));
  EXPECT_THAT(warnings(R"({"type": "dynamic", "factor": 4.0})"), ElementsAre(HasSubstr("teacher_forced")));
}

}  // namespace
}  // namespace lenbench
