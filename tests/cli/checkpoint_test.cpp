// Checkpoints as far as they go without LibTorch: inspect, refusals, odd paths and names, identity (bugs G2, G4, K2).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "checkpoint/config.h"
#include "checkpoint/safetensors.h"
#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A small valid checkpoint of 4 heads under NAPE, all weights `value`.
void write_checkpoint(const std::string& folder, float value, std::int64_t wrong_rows = 0) {
  DecoderConfig config;
  config.vocab_size = 390;
  config.hidden_size = 8;
  config.intermediate_size = 16;
  config.num_layers = 1;
  config.num_heads = config.num_kv_heads = 4;
  config.head_dim = 2;
  config.positions = "nape";
  config.alibi_num_heads = 2;
  config.entmax_alpha = 1.5;
  fs::create_directories(folder);
  spill(folder + "/config.json", config_to_json(config).dump());
  std::map<std::string, std::vector<float>> data;
  std::map<std::string, TensorSource> sources;
  for (TensorSpec& spec : tensor_specs(config)) {
    if (wrong_rows != 0 && spec.name == "model.norm.weight") spec.shape[0] = wrong_rows;
    std::size_t count = 1;
    for (const std::int64_t size : spec.shape) count *= static_cast<std::size_t>(size);
    std::vector<float>& values = data[spec.name];
    values.assign(count, value);
    sources[spec.name] = {Dtype::kF32, spec.shape, std::as_bytes(std::span<const float>(values))};
  }
  spill(folder + "/model.safetensors", safetensors_bytes(sources, {}));
}

Surroundings without_torch() {
  Surroundings where;
  where.environment["LENBENCH_NN_LIBRARY"] = "/nonexistent/liblenbench_nn.so";
  return where;
}

// Opening a named pipe would wait for a writer that never comes.
TEST(Inspect, NamedPipesAreRefusedAtOnce) {
  for (const char* file : {"config.json", "model.safetensors"}) {
    const TempFolder folder;
    write_checkpoint(folder.path("tiny"), 0.5f);
    const std::string path = folder.path("tiny") + "/" + file;
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const Outcome outcome = lenbench({"inspect", folder.path("tiny")}, without_torch());
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("not a regular file"), std::string::npos) << outcome.err;
  }
}

TEST(Inspect, EmptyValuesOfChangesAreRefused) {
  const TempFolder folder;
  write_checkpoint(folder.path("tiny"), 0.5f);
  for (const char* flag : {"--transform", "--alpha", "--rope-scaling"}) {
    const Outcome outcome = lenbench({"run", folder.path("tiny"), flag, ""}, without_torch());
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(std::string(flag) + " is empty"), std::string::npos) << outcome.err;
  }
}

TEST(Inspect, PrintsConfigurationSlopesTensorsAndHash) {
  const TempFolder folder;
  write_checkpoint(folder.path("tiny"), 0.5f);
  const Outcome outcome = lenbench({"inspect", folder.path("tiny")}, without_torch());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("slopes per head: 1 0.5 0 0\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("model.embed_tokens.weight F32 [390, 8]"), std::string::npos);
  const json facts = json::parse(lenbench({"inspect", folder.path("tiny"), "--json"}).out);
  EXPECT_EQ(facts["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(facts["positions"], "nape");
}

TEST(Inspect, HashFollowsTheBytes) {
  const TempFolder folder;
  const auto hash = [&](const char* name, float value) {
    write_checkpoint(folder.path(name), value);
    return json::parse(lenbench({"inspect", folder.path(name), "--json"}).out)["sha256"].get<std::string>();
  };
  const std::string first = hash("a", 0.5f);
  EXPECT_EQ(hash("b", 0.5f), first) << "a copy elsewhere is the same checkpoint";
  EXPECT_NE(hash("a", 0.25f), first) << "weights overwritten in place";
}

TEST(Broken, EachIsOneLineAndExitTwoWithoutLibTorch) {
  const TempFolder folder;
  write_checkpoint(folder.path("good"), 0.5f);
  const std::string config = slurp(folder.path("good/config.json")),
                    weights = slurp(folder.path("good/model.safetensors"));
  const auto variant = [&](const std::string& name, const std::string& new_config, const std::string& new_weights) {
    fs::create_directories(folder.path(name));
    if (!new_config.empty()) spill(folder.path(name + "/config.json"), new_config);
    if (!new_weights.empty()) spill(folder.path(name + "/model.safetensors"), new_weights);
    return folder.path(name);
  };
  write_checkpoint(folder.path("misshapen"), 0.5f, 9);
  std::string deep = "{\"a\":";
  deep += std::string(100000, '[');
  const std::pair<std::string, const char*> broken[] = {
      {variant("empty", "", ""), "config.json"},
      {variant("no-config", "", weights), "config.json"},
      {variant("no-weights", config, ""), "safetensors"},
      {variant("cut", config, weights.substr(0, weights.size() - 1)), "model.safetensors"},
      {variant("cut-header", config, weights.substr(0, 20)), "model.safetensors"},
      {variant("pickle", config, std::string("\x80\x02}q\x00", 5) + std::string(64, 'x')), "model.safetensors"},
      {variant("not-json", "{", weights), "config.json"},
      {variant("deep-json", deep, weights), "config.json"},
      {folder.path("misshapen"), "model.norm.weight"}};
  for (const auto& [path, mention] : broken) {
    EXPECT_TRUE(refused(lenbench({"inspect", path}, without_torch()), 2, mention)) << path;
    EXPECT_TRUE(refused(lenbench({"run", path, "--samples", "1", "--dry-run"}, without_torch()), 2, mention)) << path;
  }
}

TEST(Broken, NotANumberInTheWeights) {
  const TempFolder folder;
  write_checkpoint(folder.path("nan"), std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(refused(lenbench({"inspect", folder.path("nan")}), 2, "weight"));
}

TEST(DryRun, KnowsVocabularyAndLengthWithoutLoadingTheModel) {
  const TempFolder folder;
  write_checkpoint(folder.path("tiny"), 0.5f);
  const Outcome outcome = lenbench({"run", folder.path("tiny"), "--lengths", "64", "--samples", "2", "--dry-run",
                                    "--tasks", "recall,recall:keys=1000"},
                                   without_torch());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1].find("skipped"), std::string::npos);
  EXPECT_NE(lines[0].find("memory"), std::string::npos);
  EXPECT_NE(lines[1].find(" MiB"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("skipped"), std::string::npos) << "1,134 ids do not fit a vocabulary of 390";
  EXPECT_NE(lines[3].find(" of weights"), std::string::npos) << lines[3];
}

TEST(Verify, ADoubleHasNoLogits) {
  EXPECT_TRUE(refused(lenbench({"verify", "oracle:5", "x"}, without_torch()), 2, "'oracle:5' is a double"));
}

TEST(Identity, FileOfAnotherCheckpointIsRefusedBeforeLoading) {
  const TempFolder folder;
  write_checkpoint(folder.path("tiny"), 0.5f);
  const std::string path = folder.path("r.jsonl");
  ASSERT_EQ(lenbench({"run", "oracle", "--lengths", "64", "--samples", "2", "-o", path}).code, 0);
  EXPECT_TRUE(
      refused(lenbench({"run", folder.path("tiny"), "--lengths", "64", "--samples", "2", "-o", path}, without_torch()),
              2, "checkpoint hash differs"));
}

TEST(Bundled, NamesStandWherePathsCan) {
  const TempFolder folder;
  write_checkpoint(folder.path("data/checkpoints/mine"), 0.5f);
  Surroundings where = without_torch();
  where.environment["LENBENCH_DATA"] = folder.path("data");
  EXPECT_TRUE(lenbench({"list", "checkpoints"}, where).out.starts_with("mine "));
  EXPECT_EQ(lenbench({"run", "mine", "--dry-run", "--lengths", "64"}, where).code, 0);
  EXPECT_TRUE(refused(lenbench({"inspect", "mien"}, where), 2, "did you mean 'mine'?"));
  where.environment["LENBENCH_DATA"] = folder.path("elsewhere");
  EXPECT_TRUE(refused(lenbench({"inspect", "mine"}, where), 2, "LENBENCH_DATA"));
}

TEST(OddPaths, NonAsciiFoldersWork) {
  const TempFolder folder;
  const std::string home = folder.path("模型/évaluation å|`\n"), model = home + "/tiny";
  write_checkpoint(model, 0.5f);
  Surroundings plain = without_torch();
  plain.environment["LC_ALL"] = "C";
  EXPECT_EQ(lenbench({"inspect", model}, plain).code, 0);
  EXPECT_EQ(lenbench({"run", model, "--dry-run", "--lengths", "64"}, plain).code, 0);
  const std::string path = home + "/r.jsonl";
  EXPECT_EQ(lenbench({"run", "oracle", "--lengths", "64", "--samples", "2", "-o", path}, plain).code, 0);
  EXPECT_TRUE(is_valid_utf8(slurp(path)));
  EXPECT_EQ(lenbench({"table", path}, plain).code, 0);
}

TEST(OddPaths, InvalidUtf8IsEscapedInMessagesAndWorksInPaths) {
  const TempFolder folder;
  const std::string path = folder.path("caf\xe9.jsonl");
  EXPECT_EQ(lenbench({"run", "oracle", "--lengths", "64", "--samples", "2", "-o", path}).code, 0);
  EXPECT_TRUE(fs::exists(path));
  const Outcome outcome = lenbench({"run", folder.path("caf\xe9\n"), "--samples", "2"});
  EXPECT_TRUE(refused(outcome, 2, "caf\\xe9\\n"));
  EXPECT_TRUE(is_valid_utf8(outcome.err));
}

// Unicode's own line separators inside a name are no line ends of the file.
TEST(OddPaths, LineSeparatorsInANameSurviveTheTable) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  ASSERT_EQ(lenbench({"run", "oracle", "--lengths", "64,128", "--samples", "2", "-o", path}).code, 0);
  std::string renamed;
  const std::string name =
      "a\xe2\x80\xa8"
      "b\xc2\x85"
      "c";
  for (const std::string& line : lines_of(slurp(path))) {
    nlohmann::ordered_json record = nlohmann::ordered_json::parse(line);
    record["subject"]["name"] = name;
    renamed += record.dump() + "\n";
  }
  spill(path, renamed);
  const Outcome outcome = lenbench({"table", path, "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  bool found = false;
  const json tables = json::parse(outcome.out);
  const std::function<void(const json&)> search = [&](const json& value) {
    found = found || (value.is_string() && value == name);
    if (value.is_structured()) {
      for (const json& item : value) search(item);
    }
  };
  search(tables);
  EXPECT_TRUE(found) << outcome.out;
}

}  // namespace
}  // namespace lenbench::cli_test
