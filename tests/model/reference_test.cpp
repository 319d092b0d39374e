// The seven models dumped from the reference implementation, on every attention path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

#include "../checkpoint/temp_folder.h"
#include "base/error.h"
#include "base/files.h"
#include "model/verify.h"

namespace lenbench {
namespace {

std::string fixture(const std::string& model) { return std::string(LENBENCH_TEST_DATA) + "/model/reference/" + model; }

VerifyResult verify(const std::string& model, const std::string& path, const std::string& dtype = "float32") {
  OpenOptions options;
  options.attention_path = path;
  options.dtype = dtype;
  return verify_checkpoint(fixture(model), fixture(model) + "/expected.safetensors", fixture(model) + "/attention.json",
                           options);
}

class ReferenceModel : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ReferenceModel, LogitsAndStatisticsAgree) {
  const auto [model, path] = GetParam();
  const VerifyResult result = verify(model, path);
  EXPECT_LE(result.max_abs_logit_difference, 1e-4);
  EXPECT_LE(result.max_entropy_difference, 1e-5);
  EXPECT_GE(result.max_entropy_difference, 0);
  EXPECT_LE(result.max_support_difference, 0.05);
  EXPECT_TRUE(result.passed());
  RecordProperty("logits", std::to_string(result.max_abs_logit_difference));
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceModel,
                         testing::Combine(testing::Values("asentmax-nape", "asentmax-rope", "entmax15-nape",
                                                          "softmax-nape", "softmax-rope", "sparsemax-nope",
                                                          "ssmax-nape"),
                                          testing::Values("reference", "auto", "streaming")),
                         [](const auto& test) {
                           std::string name = std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Verify, DoublePrecisionAgreesToo) { EXPECT_TRUE(verify("asentmax-rope", "reference", "float64").passed()); }

TEST(Verify, FailsForAnotherModelsDump) {
  const VerifyResult result =
      verify_checkpoint(fixture("softmax-nape"), fixture("ssmax-nape") + "/expected.safetensors",
                        fixture("ssmax-nape") + "/attention.json", {});
  EXPECT_FALSE(result.passed());
  EXPECT_GT(result.max_abs_logit_difference, 1e-2);
  EXPECT_GT(result.max_entropy_difference, 1e-3);
}

TEST(Verify, WithoutStatisticsOnlyLogitsCount) {
  const VerifyResult result =
      verify_checkpoint(fixture("ssmax-nape"), fixture("ssmax-nape") + "/expected.safetensors", "", {});
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.max_entropy_difference, -1);
}

TEST(Verify, FindsTheWorstLogitAndCountsNanAsWorst) {
  const TempFolder folder;
  std::string bytes = read_file(fixture("ssmax-nape") + "/expected.safetensors");
  // The last logit of the file: row 1, position 69, token 39.
  for (const float value : {1000.0F, std::numeric_limits<float>::quiet_NaN()}) {
    std::memcpy(bytes.data() + bytes.size() - 4, &value, 4);
    folder.write("expected.safetensors", bytes);
    const VerifyResult result = verify_checkpoint(fixture("ssmax-nape"), folder.file("expected.safetensors"), "", {});
    EXPECT_FALSE(result.passed());
    EXPECT_GT(result.max_abs_logit_difference, 900);
    EXPECT_EQ(result.worst_row, 1);
    EXPECT_EQ(result.worst_position, 69);
    EXPECT_EQ(result.worst_token, 39);
  }
}

TEST(Verify, RefusesDumpsThatDoNotFit) {
  const TempFolder folder;
  const std::string model = fixture("ssmax-nape");
  EXPECT_THROW(verify_checkpoint(model, model + "/model.safetensors", "", {}), Error);
  EXPECT_THROW(verify_checkpoint(model, folder.file("absent"), "", {}), Error);
  folder.write("attention.json", R"({"mean_normalized_entropy_layer_head": [[1, 2]]})");
  EXPECT_THROW(verify_checkpoint(model, model + "/expected.safetensors", folder.file("attention.json"), {}), Error);
}

}  // namespace
}  // namespace lenbench
