// `show` and `gen`: what scripts read from them, against figures worked out by hand or in the reference documents.
#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

using nlohmann::json;

std::string sha256(const std::string& bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text;
  for (const unsigned char byte : digest) {
    const char* digits = "0123456789abcdef";
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

TEST(Show, JsonOfTheLongestMqmtarCountsItsPrompt) {
  const Outcome outcome = lenbench({"show", "mqmtar:65536:17", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(lines_of(outcome.out).size(), 1u);
  const json sample = json::parse(outcome.out);
  EXPECT_EQ(sample["prompt_tokens"], 61180);
  ASSERT_EQ(sample["scored"].size(), 13u);
  EXPECT_EQ(sample["scored"][0]["position"], 61179);
  EXPECT_EQ(sample["tokens"].size(), 61180u + 12u) << "the last target is not fed";
  for (std::size_t i = 0; i + 1 < sample["scored"].size(); ++i) {
    const json& row = sample["scored"][i];
    EXPECT_EQ(row["fed_back"], true);
    EXPECT_EQ(sample["tokens"][row["position"].get<std::size_t>() + 1], row["target"]);
  }
  EXPECT_FALSE(sample["sources"].empty());
}

TEST(Show, SourcesHoldTheAnswersOfRecall) {
  const json sample = json::parse(lenbench({"show", "recall:256:3", "--json"}).out);
  ASSERT_EQ(sample["scored"].size(), 8u);
  ASSERT_EQ(sample["sources"].size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    const auto source = sample["sources"][i].get<std::size_t>();
    const auto query = sample["scored"][i]["position"].get<std::size_t>();
    EXPECT_EQ(sample["tokens"][source], sample["scored"][i]["target"]);
    EXPECT_EQ(sample["tokens"][source - 1], sample["tokens"][query]) << "the key stands before its value";
  }
}

TEST(Show, TextNamesTheAddressAndExplains) {
  const Outcome plain = lenbench({"show", "recall:64:0"});
  const Outcome explained = lenbench({"show", "recall:64:0", "--explain"});
  EXPECT_EQ(plain.code, 0);
  EXPECT_TRUE(plain.out.starts_with("recall:64:0"));
  EXPECT_TRUE(explained.out.starts_with(plain.out));
  EXPECT_NE(explained.out.find("example 2:"), std::string::npos);
}

TEST(Gen, LinesAreTheSamplesAndTheHeaderHashesThem) {
  const Outcome outcome =
      lenbench({"gen", "recall", "--length", "128", "--n", "5", "--seed", "3", "--format", "jsonl"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 6u);
  const json header = json::parse(lines[0]);
  EXPECT_EQ(header["sha256"], sha256(outcome.out.substr(lines[0].size() + 1)));
  EXPECT_EQ(header["samples"], 5);
  EXPECT_EQ(header["seed"], 3);
  for (int i = 0; i < 5; ++i) {
    const std::string address = json::parse(lines[i + 1])["address"];
    EXPECT_EQ(lenbench({"show", address, "--json"}).out, lines[i + 1] + "\n") << address;
  }
}

TEST(Gen, SameBytesInAnotherEnvironmentAndOtherBytesForAnotherSeed) {
  Surroundings elsewhere;
  elsewhere.environment = {{"LC_ALL", "C"}, {"TZ", "Asia/Tokyo"}, {"OMP_NUM_THREADS", "7"}, {"HOME", "/"}};
  elsewhere.folder = "/";
  const std::vector<std::string> words = {"gen", "mqmtar", "--length", "256", "--n", "4"};
  EXPECT_EQ(lenbench(words).out, lenbench(words, elsewhere).out);
  EXPECT_NE(lenbench(words).out, lenbench({"gen", "mqmtar", "--length", "256", "--n", "4", "--seed", "1"}).out);
}

TEST(Gen, ByteTasksHaveText) {
  const TempFolder folder;
  spill(folder.path("a.txt"), "In the beginning.");
  const Outcome outcome =
      lenbench({"gen", "text", "--length", "8", "--n", "2", "--format", "text", "--text", folder.path("a.txt")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json second = json::parse(lines_of(outcome.out).at(1));
  EXPECT_EQ(second["address"], "text:8:1");
  EXPECT_EQ(second["answers"], json::array({"eginning"}));
  EXPECT_TRUE(refused(lenbench({"gen", "recall", "--length", "64", "--format", "text"}), 2, "no bytes"));
}

TEST(Gen, StatsPrintTheFillRatio) {
  EXPECT_NE(lenbench({"gen", "mqmtar", "--length", "65536", "--n", "2", "--stats"}).out.find("61180/65536 = 0.934"),
            std::string::npos);
  EXPECT_NE(lenbench({"gen", "mqmtar", "--length", "64", "--n", "2", "--stats"}).out.find("78/64 = 1.219"),
            std::string::npos);
}

// Bug L4: the two published write probabilities and the sense of parity are told, with a truth table.
TEST(Show, ExplainsATask) {
  const Outcome flip_flop = lenbench({"show", "--explain", "flip-flop"});
  ASSERT_EQ(flip_flop.code, 0) << flip_flop.err;
  for (const char* part : {"rule:", "comparability: distributional", "0.8 in the README",
                           "write=10:", "truth table:", "write 0, ignore 1, read -> 0", "example 2:"}) {
    EXPECT_NE(flip_flop.out.find(part), std::string::npos) << part;
  }
  const Outcome parity = lenbench({"show", "--explain", "parity"});
  EXPECT_NE(parity.out.find("  00 -> 1\n  01 -> 0\n  10 -> 0\n  11 -> 1\n"), std::string::npos) << parity.out;
  const json explained = json::parse(lenbench({"show", "--explain", "--json", "mqmtar:slots=training"}).out);
  EXPECT_EQ(explained["task"], "mqmtar:slots=training");
  EXPECT_EQ(explained["examples"].size(), 2u);
  EXPECT_EQ(explained["parameters"].size(), 5u);
}

TEST(Show, ATaskAloneIsNoSample) {
  EXPECT_TRUE(refused(lenbench({"show", "recall:density=4"}), 2, ":LENGTH:INDEX"));
  EXPECT_TRUE(refused(lenbench({"show", "--explain", "recal"}), 2, "did you mean 'recall'"));
}

// Bug D8: with --json the last line on standard output is the Record itself, for every convention of perplexity.
TEST(Perplexity, TheLastLineIsForScripts) {
  for (const char* task : {"text", "text:convention=sliding,stride=16", "text:convention=second-half",
                           "text:convention=last-token,stride=40"}) {
    const Outcome outcome =
        lenbench({"run", "uniform", "--tasks", task, "--lengths", "64", "--samples", "9", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json record = json::parse(lines_of(outcome.out).back());
    EXPECT_NEAR(record["measurement"]["perplexity"].get<double>(), 261, 1e-9) << task;
    EXPECT_EQ(record["question"]["metric"], "perplexity");
  }
}

// Bug C10: a file of samples is a task of its own, and its bytes are part of the question.
TEST(Data, AFileOfSamplesIsAsked) {
  const TempFolder folder;
  spill(folder.path("a.jsonl"), lenbench({"gen", "mqmtar", "--length", "64", "--n", "5", "--seed", "3"}).out);
  const Outcome outcome = lenbench({"run", "oracle", "--data", folder.path("a.jsonl"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json record = json::parse(outcome.out);
  EXPECT_EQ(record["question"]["task"], "mqmtar");
  EXPECT_EQ(record["question"]["length"], 64);
  EXPECT_EQ(record["question"]["data_seed"], 3);
  EXPECT_EQ(record["question"]["documents_sha256"], sha256(slurp(folder.path("a.jsonl"))));
  EXPECT_EQ(record["measurement"]["samples"], 5);
  EXPECT_EQ(record["measurement"]["exact"]["right"], 5);
  const json drawn = json::parse(
      lenbench({"run", "oracle", "--tasks", "mqmtar", "--lengths", "64", "--samples", "5", "--seed", "3", "--json"})
          .out);
  EXPECT_EQ(drawn["question"]["documents_sha256"], "");
  EXPECT_EQ(drawn["measurement"]["effective_tokens_max"], record["measurement"]["effective_tokens_max"]);
}

TEST(Data, RefusesFlagsThatTheFileDecidesAndAChangedFile) {
  const TempFolder folder;
  const std::string path = folder.path("a.jsonl");
  spill(path, lenbench({"gen", "recall", "--length", "64", "--n", "2"}).out);
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--data", path, "--tasks", "recall"}), 2, "--tasks"));
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--data", path, "--seed", "1"}), 2, "--seed"));
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--data", path, "--lengths", "128"}), 2, "no sample of length 128"));
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--data", folder.path("none.jsonl")}), 2, "none.jsonl"));
  std::string changed = slurp(path);
  changed.replace(changed.find("\"tokens\":[386"), 13, "\"tokens\":[385");
  spill(path, changed);
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--data", path}), 2, "sha256"));
}

// Bug A1: a label of 64 needs 130 positions to copy 64 symbols (BOS, 64, SEP, 64; the end token is not fed), and one
// fewer is refused, never cut.
TEST(Copy, NeedsTwiceItsLengthAndTwo) {
  const auto run = [](const std::string& positions) {
    return lenbench(
        {"run", "oracle", "--tasks", "copy", "--lengths", "64", "--samples", "2", "--max-positions", positions});
  };
  EXPECT_TRUE(refused(run("64"), 2, "feeds 130 tokens"));
  EXPECT_TRUE(refused(run("129"), 2, "feeds 130 tokens"));
  EXPECT_EQ(run("130").code, 0);
}

// Bug B8: an argmax over NaN is token 0, which copy has as a symbol: never right, and the run fails.
TEST(Copy, NonFiniteLogitsAreNeverRight) {
  const std::vector<std::string> words = {"run", "nan@66",    "--tasks", "copy:symbols=1", "--lengths",
                                          "64",  "--samples", "3",       "--json"};
  const Outcome outcome = lenbench(words);
  EXPECT_EQ(outcome.code, 3);
  const json record = json::parse(outcome.out);
  EXPECT_EQ(record["status"], "failed");
  EXPECT_EQ(record["measurement"]["nonfinite_samples"], 3);
  EXPECT_EQ(record["measurement"]["exact"]["right"], 0);
  EXPECT_EQ(record["measurement"]["token"]["right"], 0);
}

TEST(SelfCheckCommand, PrintsFloorsAndKeepsThemForTables) {
  const TempFolder folder;
  const std::vector<std::string> words = {"selfcheck", "sort", "--lengths", "64",
                                          "--samples", "20",   "-o",        folder.path("floors.jsonl")};
  const Outcome outcome = lenbench(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("sort 64: ok; blind "), std::string::npos) << outcome.out;
  EXPECT_EQ(lenbench(words).out, outcome.out);
  const Outcome table = lenbench({"table", folder.path("floors.jsonl")});
  ASSERT_EQ(table.code, 0) << table.err;
  for (const char* row : {"| blind", "| last-value", "| most-frequent"}) {
    EXPECT_NE(table.out.find(row), std::string::npos) << table.out;
  }
}

TEST(SelfCheckCommand, FailsLoudlyWhereAShortcutHasTheAnswers) {
  const Outcome outcome = lenbench({"selfcheck", "flip-flop:write=100", "--lengths", "64"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("1 property does not hold"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("FAILED"), std::string::npos);
  EXPECT_NE(outcome.out.find("last-value has all"), std::string::npos);
}

}  // namespace
}  // namespace lenbench::cli_test
