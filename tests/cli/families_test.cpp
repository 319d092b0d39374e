// Hugging Face models as a user runs them: inspected, measured, changed at inference.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

using nlohmann::json;

const std::string kModels = std::string(LENBENCH_TEST_DATA) + "/model/huggingface/";

std::vector<std::string> run_words(const std::string& model, const std::string& output,
                                   const std::vector<std::string>& more = {}) {
  return with({"run", kModels + model, "--tasks", "parity", "--lengths", "16,64", "--samples", "3", "--threads", "1",
               "-o", output},
              more);
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Families, DynamicScalingIsMarkedInTheRecordsAndSaid) {
  const TempFolder folder;
  const Outcome dynamic = lenbench(run_words("llama-dynamic", folder.path("d.jsonl")));
  ASSERT_EQ(dynamic.code, 0) << dynamic.err;
  EXPECT_TRUE(mentions(dynamic.err, "depends on the length of the whole text")) << dynamic.err;
  for (const std::string& line : lines_of(slurp(folder.path("d.jsonl")))) {
    EXPECT_EQ(json::parse(line)["measurement"]["teacher_forced"], true);
    EXPECT_EQ(json::parse(line)["subject"]["positions"], "rope+dynamic(factor=4,original=24)");
  }
  const Outcome yarn = lenbench(run_words("llama-yarn", folder.path("y.jsonl")));
  ASSERT_EQ(yarn.code, 0) << yarn.err;
  EXPECT_FALSE(mentions(yarn.err, "depends on the length"));
  EXPECT_EQ(json::parse(lines_of(slurp(folder.path("y.jsonl"))).at(0))["measurement"]["teacher_forced"], false);
}

TEST(Families, RecordsWithAndWithoutAChangeNeverMix) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  ASSERT_EQ(lenbench(run_words("llama-gqa-tied-sharded", path)).code, 0);
  EXPECT_TRUE(refused(lenbench(run_words("llama-gqa-tied-sharded", path, {"--alpha", "1.5"})), 2, "--transform"));
  EXPECT_TRUE(refused(lenbench(run_words("llama-gqa-tied-sharded", path, {"--rope-scaling", "yarn:factor=4"})), 2,
                      "position encoding"));
  const std::string changed = folder.path("changed.jsonl");
  const Outcome outcome = lenbench(
      run_words("llama-gqa-tied-sharded", changed, {"--transform", "ssmax:s=0.43", "--rope-scaling", "yarn:factor=4"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json subject = json::parse(lines_of(slurp(changed)).at(0))["subject"];
  EXPECT_EQ(subject["transform"], "ssmax(s=0.43)");
  EXPECT_EQ(subject["positions"], "rope+yarn(factor=4,original=64)");
}

TEST(Families, BeyondATableOfPositionsCellsAreSkippedWithTheReason) {
  const TempFolder folder;
  const Outcome outcome = lenbench(run_words("gpt2-by-layer", folder.path("g.jsonl"), {"--dry-run"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(mentions(outcome.out, "the model has 40 positions")) << outcome.out;
  EXPECT_TRUE(
      refused(lenbench(run_words("gpt2-by-layer", folder.path("g.jsonl"), {"--rope-scaling", "linear:factor=2"})), 2,
              "needs a model with rotary positions; this one has learned"));
}

TEST(Families, InspectNamesFamilyScalingHashesAndWhatLooksWrong) {
  const Outcome outcome = lenbench({"inspect", kModels + "llama-dynamic"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(mentions(outcome.out, "family llama, transform softmax, positions rope+dynamic(factor=4,original=24)\n"))
      << outcome.out;
  EXPECT_TRUE(mentions(outcome.out, "training length not known\nmade for 24 tokens, says config.json\n"));
  EXPECT_TRUE(mentions(outcome.out, "warning: RoPE scaling dynamic of a model of only 24 tokens\n"));
  EXPECT_TRUE(mentions(outcome.out, "warning: dynamic scaling makes a row depend"));
  const json sharded = json::parse(lenbench({"inspect", kModels + "llama-gqa-tied-sharded", "--json"}).out);
  EXPECT_EQ(sharded["files"].size(), 4U);
  EXPECT_EQ(sharded["family"], "llama");
  EXPECT_EQ(sharded["context"], 64);
  EXPECT_EQ(sharded["warnings"].size(), 0U);
  EXPECT_EQ(sharded["stored_bytes"], 82560);
  EXPECT_LT(sharded["forecast"][0]["bytes"], sharded["forecast"][5]["bytes"]);
  EXPECT_FALSE(sharded["forecast"][0].contains("seconds"));
  const json gpt2 = json::parse(lenbench({"inspect", kModels + "gpt2-learned-positions", "--json", "--time"}).out);
  ASSERT_EQ(gpt2["forecast"].size(), 1U) << "one length within 96 positions";
  EXPECT_GT(gpt2["forecast"][0]["seconds"], 0);
}

TEST(Families, VerifyTakesChangesToo) {
  const std::string model = kModels + "llama-gqa-tied-sharded";
  const std::vector<std::string> words = {"verify", model, model + "/expected.safetensors", "--threads", "1"};
  EXPECT_EQ(lenbench(words).code, 0);
  for (const auto& [flag, value] : {std::pair{"--alpha", "1.5"}, std::pair{"--transform", "adaptive-temperature"},
                                    std::pair{"--rope-scaling", "linear:factor=4"}}) {
    std::vector<std::string> changed = words;
    changed.insert(changed.end(), {flag, value});
    EXPECT_EQ(lenbench(changed).code, 1) << flag;
  }
}

}  // namespace
}  // namespace lenbench::cli_test
