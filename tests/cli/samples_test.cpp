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

TEST(Gen, StatsPrintTheFillRatio) {
  EXPECT_NE(lenbench({"gen", "mqmtar", "--length", "65536", "--n", "2", "--stats"}).out.find("61180/65536 = 0.934"),
            std::string::npos);
  EXPECT_NE(lenbench({"gen", "mqmtar", "--length", "64", "--n", "2", "--stats"}).out.find("78/64 = 1.219"),
            std::string::npos);
}

}  // namespace
}  // namespace lenbench::cli_test
