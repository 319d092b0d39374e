// The commands that load LibTorch, as a user runs them: run, verify, train, bench.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/bundled.h"
#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

using nlohmann::json;

const std::string kModels = std::string(LENBENCH_TEST_DATA) + "/model/reference/";

// On a machine with a CUDA device and LibTorch's part for it, the commands run.
TEST(Devices, CudaIsUsedOrSaysInOneLineWhatIsMissing) {
  const TempFolder folder;
  const std::string model = kModels + "asentmax-nape";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", "recall-asentmax-nape", "--tasks", "recall", "--lengths", "64", "--samples",
                                 "2"},
        {"verify", model, model + "/expected.safetensors"},
        {"bench", "--length", "64", "--repeats", "1"},
        {"bench", model, "--end-to-end", "--length", "64", "--repeats", "1"},
        {"audit", "recall-asentmax-nape", "--lengths", "64", "--samples", "2"},
        {"train", "recall-asentmax-nape", "-o", folder.path("trained")}}) {
    const Outcome outcome = lenbench(with(command, {"--device", "cuda"}), bundled());
    if (outcome.code == 0) continue;
    EXPECT_EQ(outcome.code, 2) << command[0] << outcome.err;
    EXPECT_EQ(outcome.err.rfind("lenbench: error: device cuda: ", 0), 0U) << command[0] << outcome.err;
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << command[0] << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path("trained")));
  }
  const Outcome tf32 = lenbench({"run", model, "--lengths", "64", "--samples", "2", "--dtype", "tf32"}, bundled());
  EXPECT_EQ(tf32.code, 2);
  EXPECT_NE(tf32.err.find("--dtype tf32 is for CUDA devices"), std::string::npos) << tf32.err;
  const Outcome other = lenbench({"verify", model, "x", "--device", "tpu"}, bundled());
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("--device is 'tpu'"), std::string::npos) << other.err;
}

TEST(TorchRun, AnInstructionSetTheCpuLacksIsRefused) {
  Surroundings where = bundled();
  where.environment["LENBENCH_KERNELS"] = "mmx";
  const Outcome outcome =
      lenbench({"run", "recall-asentmax-nape", "--tasks", "recall", "--lengths", "64", "--samples", "2"}, where);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err.rfind("lenbench: error: LENBENCH_KERNELS is 'mmx': this CPU runs ", 0), 0U) << outcome.err;
}

TEST(TorchRun, RecordsSayWhereHeadsLookForRightAndWrongAnswers) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Outcome outcome = lenbench({"run", "recall-dense-asentmax-nape", "--tasks", "recall-dense", "--lengths", "1024",
                                    "--samples", "16", "--threads", "1", "-o", path},
                                   bundled());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json measured = json::parse(lines_of(slurp(path)).at(0))["measurement"];
  EXPECT_EQ(measured["facts"]["pairs"]["mean"], 170);
  const std::int64_t answers = measured["answer"]["n"], right = measured["answer"]["right"];
  ASSERT_GT(right, 0);
  double best = 0;
  for (const json& head : measured["heads_right"]) {
    EXPECT_EQ(head["rows"], right);
    best = std::max(best, head["source_mass"].get<double>());
  }
  EXPECT_GT(best, 0.5) << "no head of a model that answers right looks at the answer";
  for (const json& head : measured["heads_wrong"]) EXPECT_EQ(head["rows"], answers - right);
  EXPECT_EQ(measured["heads_wrong"].size(), answers == right ? 0U : measured["heads"].size());
}

TEST(TorchRun, OnePassGivesPrefixRowsOfAllShorterLengthsAndTheClaimsAreDrawn) {
  const TempFolder folder;
  const std::string prefix = folder.path("p.jsonl"), answers = folder.path("a.jsonl");
  const std::vector<std::string> run = {"run",       "recall-dense-asentmax-nape",
                                        "--tasks",   "recall-dense",
                                        "--lengths", "",
                                        "--samples", "4",
                                        "--threads", "1",
                                        "-o"};
  const auto at_lengths = [&](const std::string& lengths, const Words& more) {
    Words words = run;
    words[5] = lengths;
    return with(words, more);
  };
  ASSERT_EQ(lenbench(at_lengths("train,256", {prefix, "--probe", "prefix"}), bundled()).code, 0);
  ASSERT_EQ(lenbench(at_lengths("around:train", {answers}), bundled()).code, 0);
  EXPECT_EQ(lines_of(slurp(answers)).size(), 3U);  // 63, 64, 65
  const json shorter = json::parse(lines_of(slurp(prefix)).at(0))["measurement"];
  EXPECT_EQ(shorter["probe_rows"], "");
  const json longest = json::parse(lines_of(slurp(prefix)).at(1))["measurement"];
  EXPECT_EQ(longest["probe_rows"], "prefix");
  EXPECT_EQ(longest["heads_by_position"][7]["first"], 64);
  EXPECT_EQ(longest["heads_by_position"][7]["heads"][0]["rows"], 4 * 64);
  const json measured = json::parse(lines_of(slurp(answers)).at(1))["measurement"];
  EXPECT_EQ(measured["representations"][0]["pairs"], 3);
  EXPECT_GT(measured["heads"].back()["scale"], 0);
  EXPECT_EQ(measured["heads"][0]["alpha"], 1.5);
  for (const char* what : {"dispersion", "relevant", "spread", "representations", "temperature"}) {
    const Outcome outcome = lenbench({"plot", what, answers});
    EXPECT_EQ(outcome.code, 0) << what << outcome.err;
    EXPECT_NE(outcome.out.find("answer"), std::string::npos) << what;
  }
  EXPECT_NE(lenbench({"plot", "dispersion", prefix}).out.find("prefix rows"), std::string::npos);
  const Outcome table = lenbench({"table", prefix, "--metric", "support", "--format", "csv"});
  EXPECT_NE(table.out.find(",128,128,"), std::string::npos) << table.out << table.err;
}

// Max Retrieval has models of its own, which answer nothing else, and other models do not answer it.
TEST(TorchRun, SetsAreForModelsOfSets) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Outcome outcome = lenbench({"run", "max-retrieval-asentmax", "--tasks", "max-retrieval", "--lengths", "16,64",
                                    "--samples", "100", "--threads", "1", "-o", path},
                                   bundled());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> lines = lines_of(slurp(path));
  ASSERT_EQ(lines.size(), 2U);
  for (const std::string& line : lines) {
    const json record = json::parse(line), measured = record["measurement"];
    EXPECT_GT(measured["exact"]["value"], 0.8);
    EXPECT_EQ(measured["chance"], 0.1);
    EXPECT_EQ(measured["heads"].size(), 1U);
    EXPECT_EQ(measured["heads"][0]["rows"], 100);
    EXPECT_GT(measured["heads"][0]["source_mass"], 0.5) << "its one head looks at the largest item";
    EXPECT_EQ(record["subject"]["train_length"], 16);
  }
  const Outcome tokens = lenbench({"run", "max-retrieval-asentmax", "--tasks", "recall", "--lengths", "64"}, bundled());
  EXPECT_TRUE(refused(tokens, 2, "sets of numbers"));
  const Outcome sets =
      lenbench({"run", "recall-asentmax-nape", "--tasks", "max-retrieval", "--lengths", "64"}, bundled());
  EXPECT_TRUE(refused(sets, 2, "a set of numbers, and the model reads tokens"));
  EXPECT_TRUE(refused(lenbench({"bench", "max-retrieval-asentmax", "--length", "64"}, bundled()), 2, "model of sets"));
  const std::string dump = kModels + "softmax-nape/expected.safetensors";
  EXPECT_TRUE(
      refused(lenbench({"verify", "max-retrieval-asentmax", dump}, bundled()), 2, "a model of sets answers items"));
}

TEST(TorchVerify, ExitsWithOneWhereLogitsDiffer) {
  const std::string model = kModels + "asentmax-nape";
  const Outcome same = lenbench(
      {"verify", model, model + "/expected.safetensors", "--attention", model + "/attention.json", "--threads", "1"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_NE(same.out.find("largest support difference"), std::string::npos) << same.out;
  const Outcome other = lenbench({"verify", model, kModels + "softmax-nape/expected.safetensors", "--threads", "1"});
  EXPECT_EQ(other.code, 1) << other.out << other.err;
  EXPECT_NE(other.out.find("differs\n"), std::string::npos);
  EXPECT_EQ(other.out.find("-1"), std::string::npos) << other.out;
}

TEST(TorchTrain, AnInterruptLeavesAStateThatTheSameCommandFinishes) {
  const TempFolder folder;
  json recipe = json::parse(slurp(std::string(LENBENCH_RESULTS) + "/recipes/recall-base.json"));
  recipe["name"] = "small";
  recipe["method"] = "softmax";
  recipe["steps"] = 60;
  recipe["batch"] = 16;
  recipe["log_every_steps"] = 1;
  recipe["save_every_steps"] = 5;
  recipe["validation"]["every_steps"] = 20;
  recipe["validation"]["samples"] = 8;
  recipe.erase("restart");
  spill(folder.path("small.json"), recipe.dump());
  const std::vector<std::string> words = {"train", folder.path("small.json"), "-o", folder.path("out"), "--threads",
                                          "1"};
  Child child(words);
  const bool begun = wait_until([&] { return lines_of(slurp(folder.path("out/train_log.jsonl"))).size() >= 8; }, 60);
  child.send(SIGINT);
  const Outcome stopped = child.wait();
  ASSERT_TRUE(begun) << stopped.err;
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("resumes"), std::string::npos) << stopped.err;
  const Outcome finished = lenbench(words);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(lenbench({"inspect", folder.path("out")}).code, 0);
}

TEST(TorchBench, KernelsAreTimedSideBySideAndDescribed) {
  const Outcome outcome =
      lenbench({"bench", "--length", "600", "--head-dim", "16", "--std", "4,0", "--repeats", "2", "--json"}, bundled());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result["timings"].size(), 12U);
  for (const json& timing : result["timings"]) {
    EXPECT_GT(timing["seconds"]["median"], 0) << timing;
    if (timing["kernel"] == "sdpa float32") {
      EXPECT_EQ(timing["speed"]["median"], 1) << timing;
    }
    const std::string kernel = timing["kernel"];
    if (kernel.ends_with("output only")) {
      EXPECT_TRUE(timing["mean_support"].is_null()) << timing;
    } else if (kernel.starts_with("lenbench")) {
      EXPECT_LT(timing["sum_error"], 1e-5) << timing;
    }
    if (timing["kernel"] == "lenbench entmax 1.5" && timing["input"] == "all equal") {
      EXPECT_DOUBLE_EQ(timing["mean_support"], 300.5);
    }
  }
}

TEST(TorchBench, TrainedHeadsAndWholeModels) {
  const Outcome heads =
      lenbench({"bench", "recall-asentmax-nape", "--length", "256", "--std", "1", "--repeats", "1"}, bundled());
  ASSERT_EQ(heads.code, 0) << heads.err;
  EXPECT_NE(heads.out.find("layer 1 head 4 (positionless)"), std::string::npos) << heads.out;
  const Outcome whole = lenbench(
      {"bench", "recall-asentmax-nape", "--end-to-end", "--length", "256", "--repeats", "3", "--json"}, bundled());
  ASSERT_EQ(whole.code, 0) << whole.err;
  const json timing = json::parse(whole.out);
  EXPECT_EQ(timing["tokens"], 280);
  EXPECT_GT(timing["attention_share"], 0);
  EXPECT_LT(timing["attention_share"], 1);
  EXPECT_TRUE(timing.value("sdpa_seconds", json()).is_null());
  const Outcome beside = lenbench(
      {"bench", "recall-asentmax-nape", "--end-to-end", "--length", "256", "--repeats", "3", "--beside-sdpa", "--json"},
      bundled());
  ASSERT_EQ(beside.code, 0) << beside.err;
  const json both = json::parse(beside.out);
  EXPECT_GT(both["sdpa_seconds"]["median"], 0);
  EXPECT_LE(both["sdpa_ratio"]["low"], both["sdpa_ratio"]["high"]);
  EXPECT_TRUE(refused(lenbench({"bench", "--end-to-end"}), 2, "needs a checkpoint"));
  EXPECT_TRUE(refused(lenbench({"bench", "--alpha", "1"}), 2, "--alpha"));
  EXPECT_TRUE(refused(lenbench({"bench", "recall-asentmax-nape", "--task", "mqmtar:keys=3"}, bundled()), 2, "keys"));
}

TEST(TorchBench, TrainingStepsAreForwardAndBackward) {
  const Outcome outcome = lenbench({"bench", "--backward", "--heads", "8", "--length", "40", "--head-dim", "16",
                                    "--std", "1", "--repeats", "2", "--json"},
                                   bundled());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["backward"], true);
  EXPECT_EQ(result["heads"], 8);
  ASSERT_EQ(result["timings"].size(), 4U);
  EXPECT_EQ(result["timings"][2]["kernel"], "lenbench entmax 1.5");
  EXPECT_GT(result["timings"][2]["speed"]["median"], result["timings"][3]["speed"]["median"]);
}

// Theme E of the bug collection: batch size, padding, kernel and precision must not decide an answer.
TEST(TorchAudit, ArithmeticDoesNotDecideAnswersOfABundledModel) {
  const Outcome outcome = lenbench(
      {"audit", "recall-asentmax-nape", "--lengths", "64,512", "--samples", "3", "--reference-up-to", "64", "--json"},
      bundled());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json findings = json::parse(outcome.out);
  ASSERT_EQ(findings.size(), 8U);
  int skipped = 0;
  for (const json& finding : findings) {
    if (finding.contains("skipped")) {
      ++skipped;
      continue;
    }
    EXPECT_EQ(finding["rows"], 24) << finding;
    EXPECT_EQ(finding["same_argmax"], 24) << finding;
    EXPECT_EQ(finding["same_outcome"], 3) << finding;
    EXPECT_LT(finding["largest_nats"], 1e-3) << finding;
  }
  EXPECT_EQ(skipped, 2);
}

}  // namespace
}  // namespace lenbench::cli_test
