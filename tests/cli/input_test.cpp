// What cannot be used is refused with one line and exit code 2, before anything is measured (bugs A1, A2, K1, theme F).
#include <gtest/gtest.h>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

struct BadInput {
  const char* name;
  Words words;
  const char* mention;  // the error names it
};

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsOneLineAndExitTwo) { EXPECT_TRUE(refused(lenbench(GetParam().words), 2, GetParam().mention)); }

Words oracle_with(Words more) { return with({"run", "oracle", "--samples", "2"}, more); }

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadInputTest,
    testing::Values(
        BadInput{"NoCommand", {}, "no command"}, BadInput{"UnknownCommand", {"rnu"}, "did you mean 'run'?"},
        BadInput{"UnknownGlobalFlag", {"--frobnicate"}, "--frobnicate"}, BadInput{"NoCheckpoint", {"run"}, "CKPT"},
        BadInput{"VersionOfNothing", {"--version", "extra"}, "extra"},
        BadInput{"RecordsOfADryRun", oracle_with({"--dry-run", "--json"}), "--json"},
        BadInput{"CertifyOnADevice", {"bench", "--certify", "--device", "cuda"}, "--certify scores"},
        BadInput{"ReproduceDevice", {"reproduce", "note-1", "--device", "tpu"}, "--device is 'tpu'"},
        BadInput{"PathWithoutWholePasses", {"bench", "--attention-path", "reference"}, "--end-to-end"},
        BadInput{"SdpaWithoutWholePasses", {"bench", "--beside-sdpa"}, "--end-to-end"},
        BadInput{"HeadsWithoutBackward", {"bench", "--heads", "4"}, "--backward"},
        BadInput{"CertifiedGradients", {"bench", "--backward", "--certify"}, "--certify"},
        BadInput{"TooManyRows", {"bench", "--backward", "--heads", "65536"}, "16777216"},
        BadInput{"FarTooManyRows", {"bench", "--backward", "--heads", "9223372036854775807"}, "16777216"},
        BadInput{"NoTrainingLength", oracle_with({"--lengths", "around:train"}), "does not say its training length"},
        BadInput{"NoKindOfRows", oracle_with({"--probe", "prefixes"}), "did you mean 'prefix'?"},
        BadInput{"UnknownFlag", oracle_with({"--lenghts", "64"}), "did you mean '--lengths'?"},
        BadInput{"UnknownFlagWithEquals", oracle_with({"--lenghts=64"}), "'--lenghts'"},
        BadInput{"GenerationBudgetOfOtherTools", oracle_with({"--max-new", "4096"}), "--max-new"},
        BadInput{"SecondPositional", oracle_with({"another"}), "another"},
        BadInput{"FlagWithoutValue", oracle_with({"--lengths"}), "--lengths"},
        BadInput{"MisspeltTask", oracle_with({"--tasks", "recal"}), "did you mean 'recall'?"},
        BadInput{"MisspeltParameter", oracle_with({"--tasks", "recall:densty=4"}), "did you mean 'density'?"},
        BadInput{"TaskTwice", oracle_with({"--tasks", "recall,recall"}), "twice"},
        BadInput{"ParameterWithoutTask", oracle_with({"--tasks", "density=4"}), "density=4"},
        BadInput{"UnknownCheckpoint", {"run", "no-such-model", "--samples", "2"}, "no-such-model"},
        BadInput{"MisspeltDouble", {"run", "oracel", "--samples", "2"}, "did you mean 'oracle'?"},
        BadInput{"DoubleWithoutNumber", {"run", "oracle:", "--samples", "2"}, "oracle:"},
        BadInput{"TransformOfDouble", oracle_with({"--transform", "topk"}), "--transform"},
        BadInput{"UnknownSplit", oracle_with({"--split", "tset"}), "did you mean 'test'?"},
        BadInput{"UnknownProbe", oracle_with({"--probe", "some"}), "--probe"},
        BadInput{"UnknownDtype", oracle_with({"--dtype", "float23"}), "did you mean 'float32'?"},
        BadInput{"OverwriteWithoutOutput", oracle_with({"--overwrite"}), "-o"},
        BadInput{"TextFileWithoutTask", oracle_with({"--tasks", "recall", "--text", "book.txt"}), "'text'"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Numbers, BadInputTest,
    testing::Values(
        BadInput{"LengthZero", oracle_with({"--lengths", "0"}), "0"},
        BadInput{"LengthNegative", oracle_with({"--lengths", "-1"}), "-1"},
        BadInput{"LengthFraction", oracle_with({"--lengths", "64.5"}), "64.5"},
        BadInput{"LengthExponent", oracle_with({"--lengths", "1e3"}), "1e3"},
        BadInput{"LengthUnderscore", oracle_with({"--lengths", "65_536"}), "65_536"},
        BadInput{"LengthEmpty", oracle_with({"--lengths", ""}), "length"},
        BadInput{"LengthTwice", oracle_with({"--lengths", "64,64"}), "64"},
        BadInput{"LengthTwiceInTwoFlags", oracle_with({"--lengths", "64", "--lengths", "32..64"}), "64"},
        BadInput{"LengthTooShort", oracle_with({"--lengths", "3", "--tasks", "recall"}), "3"},
        BadInput{"LengthTooShortBesideGoodOne", oracle_with({"--lengths", "3,64", "--tasks", "recall"}), "3"},
        BadInput{"LengthOverflow", oracle_with({"--lengths", "99999999999999999999"}), "99999999999999999999"},
        BadInput{"SamplesZero", {"run", "oracle", "--samples", "0"}, "--samples"},
        BadInput{"SamplesFraction", {"run", "oracle", "--samples", "1.5"}, "1.5"},
        BadInput{
            "SamplesNotOnePerLength", {"run", "oracle", "--lengths", "64,128,256", "--samples", "1,2"}, "3 lengths"},
        BadInput{"SamplesAtOtherLength", oracle_with({"--lengths", "64", "--samples-at", "128=2"}), "128"},
        BadInput{"SamplesAtMalformed", oracle_with({"--lengths", "64", "--samples-at", "64"}), "64"},
        BadInput{"SamplesAtTwice", oracle_with({"--lengths", "64", "--samples-at", "64=1,64=2"}), "twice"},
        BadInput{"SeedInTwoFlags", oracle_with({"--seed", "1", "--seed", "2"}), "--seed is given more than once"},
        BadInput{"SeedMissing", oracle_with({"--seed"}), "--seed needs a value"},
        BadInput{"SeedNegative", oracle_with({"--seed", "-1"}), "-1"},
        BadInput{"SeedTwice", oracle_with({"--seed", "1,1"}), "twice"},
        BadInput{"BatchNegative", oracle_with({"--batch", "-2"}), "--batch"},
        BadInput{"ThreadsHuge", oracle_with({"--threads", "5000000000"}), "--threads"},
        BadInput{"MemoryWithoutNumber", oracle_with({"--memory", "GiB"}), "--memory"},
        BadInput{"MemoryWithComma", oracle_with({"--memory", "1,5GiB"}), "1,5GiB"},
        BadInput{"MaxPositionsZero", oracle_with({"--max-positions", "0"}), "--max-positions"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OtherCommands, BadInputTest,
    testing::Values(BadInput{"ListNothing", {"list"}, "WHAT"}, BadInput{"ListUnknown", {"list", "taks"}, "'tasks'"},
                    BadInput{"ShowShortAddress", {"show", "recall:64"}, "recall:64"},
                    BadInput{"ShowLengthZero", {"show", "recall:0:0"}, "0"},
                    BadInput{"ShowLengthThree", {"show", "recall:3:0"}, "3"},
                    BadInput{"ShowUnknownTask", {"show", "recal:64:0"}, "did you mean 'recall'?"},
                    BadInput{"ShowNewerVersion", {"show", "recall:v99:64:0"}, "99"},
                    BadInput{"GenUnknownFormat", {"gen", "recall", "--length", "64", "--format", "parquet"}, "parquet"},
                    BadInput{"GenNoSamples", {"gen", "recall", "--length", "64", "--n", "0"}, "--n"},
                    BadInput{"GenWithoutLength", {"gen", "recall"}, "--length"},
                    BadInput{"TableOfNothing", {"table"}, "--paper"},
                    BadInput{"TableOfMissingFile", {"table", "no-such.jsonl"}, "no-such.jsonl"},
                    BadInput{"TableUnknownFormat", {"table", "x.jsonl", "--format", "markdwon"}, "'markdown'"},
                    BadInput{"TrainWithoutRecipe", {"train", "-o", "x"}, "RECIPE"},
                    BadInput{"TrainUnknownRecipe", {"train", "no-such-recipe", "-o", "x"}, "no-such-recipe"},
                    BadInput{"CompletionUnknown", {"completion", "csh"}, "csh"}),
    [](const auto& test) { return test.param.name; });

// The document is what is wrong, not the command line.
TEST(TextInput, EmptyNonUtf8MissingAndFolderAreRefused) {
  const TempFolder folder;
  spill(folder.path("empty.txt"), "");
  spill(folder.path("latin1.txt"), "caf\xe9 au lait, long enough for one window of text\n");
  for (const char* name : {"empty.txt", "latin1.txt", "missing.txt", ""}) {
    const std::string path = folder.path(name);
    EXPECT_TRUE(refused(lenbench({"run", "uniform", "--lengths", "64", "--samples", "1", "--text", path}), 2, path));
  }
}

// A model's limit is compared with everything that is fed, and nothing is cut off to fit (bug A1): recall at 64 feeds
// BOS, 64 tokens of context and 8 queries of 3 tokens, of which the very last is only predicted.
TEST(MaxPositions, OneTokenTooFewRefusesAndNamesTheNeed) {
  const Words words = {"run", "oracle", "--tasks", "recall", "--lengths", "64", "--samples", "2", "--max-positions"};
  Words enough = words, less = words;
  enough.push_back("88");
  less.push_back("87");
  EXPECT_EQ(lenbench(enough).code, 0);
  EXPECT_TRUE(refused(lenbench(less), 2, "88"));
}

TEST(MaxPositions, OverlongCellBesideOthersIsRecordedWithItsReason) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Outcome outcome = lenbench({"run", "oracle", "--tasks", "recall", "--lengths", "64,128", "--samples", "2",
                                    "--max-positions", "88", "-o", path});
  EXPECT_EQ(outcome.code, 3);
  const std::string records = slurp(path);
  EXPECT_EQ(lines_of(records).size(), 2u);
  EXPECT_NE(records.find("\"status\":\"skipped\""), std::string::npos);
  EXPECT_NE(records.find("152"), std::string::npos) << "128 + 24 tokens are fed";
}

TEST(NonFinite, IsExitThreeUnlessAllowed) {
  const Words words = {"run", "nan@50", "--tasks", "recall", "--lengths", "64", "--samples", "3"};
  Words allowed = words;
  allowed.emplace_back("--allow-nonfinite");
  const Outcome outcome = lenbench(words);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.out.find("non-finite"), std::string::npos);
  EXPECT_EQ(lenbench(allowed).code, 0);
}

TEST(OutOfMemory, IsARecordedReasonAndLaterCellsStillRun) {
  const Outcome outcome =
      lenbench({"run", "oom@128", "--tasks", "recall", "--lengths", "64,128", "--samples", "2", "--json"});
  EXPECT_EQ(outcome.code, 3);
  ASSERT_EQ(lines_of(outcome.out).size(), 2u);
  EXPECT_NE(lines_of(outcome.out)[0].find("\"status\":\"ok\""), std::string::npos);
  EXPECT_NE(lines_of(outcome.out)[1].find("out of memory"), std::string::npos);
}

}  // namespace
}  // namespace lenbench::cli_test
