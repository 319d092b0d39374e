// `lenbench reproduce` as a user runs it, without LibTorch: what is there is printed, what is not is named.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kResults = std::string(LENBENCH_TEST_DATA) + "/../results";

Surroundings bundled(const TempFolder& folder) {
  Surroundings where;
  where.environment["LENBENCH_DATA"] = kResults;
  where.environment["LENBENCH_NN_LIBRARY"] = "/nonexistent/liblenbench_nn.so";
  where.folder = folder.path("");
  return where;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Reproduce, PrintsTheFoundingNotesTablesFromBundledRecords) {
  const TempFolder folder;
  for (const std::string table : {"note-1", "note-2"}) {
    const Outcome outcome = lenbench({"reproduce", table}, bundled(folder));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "Scale small.")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "(founding-note")) << outcome.out;
    EXPECT_LT(outcome.seconds, 20);
  }
  EXPECT_FALSE(fs::exists(folder.path("reproduction"))) << "nothing was measured, so nothing is kept";
}

// The table agrees with `lenbench table` on the same Records.
TEST(Reproduce, ValuesAreThoseOfTheRecords) {
  const TempFolder folder;
  const Outcome outcome =
      lenbench({"reproduce", "note-1", "--methods", "asentmax", "--seeds", "1", "--format", "json"}, bundled(folder));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Outcome table =
      lenbench({"table", kResults + "/records/recall-asentmax-nape.jsonl", "--metric", "answer", "--format", "json"},
               bundled(folder));
  ASSERT_EQ(table.code, 0) << table.err;
  const auto cells = [](const std::string& text) {
    std::map<std::int64_t, json> found;
    const json whole = json::parse(text);
    const json& grid = whole["grids"][0];
    for (const json& row : grid["rows"]) {
      if (row["kind"] != "measured") continue;
      for (const json& cell : row["cells"]) found[cell["length"].get<std::int64_t>()] = cell["value"];
    }
    return found;
  };
  EXPECT_EQ(cells(outcome.out), cells(table.out)) << outcome.out;
  EXPECT_EQ(cells(outcome.out).size(), 6U);
}

// results/tables/README.md is what the bundled Records give: tools/make_tables.sh writes it.
TEST(Reproduce, TheBundledTablesMatchTheBundledRecords) {
  const TempFolder folder;
  const std::string written = slurp(kResults + "/tables/README.md");
  int compared = 0;
  for (const std::string& line : lines_of(written)) {
    if (!line.starts_with("## ")) continue;
    const std::string table = line.substr(3, line.find(':') - 3);
    const Outcome outcome = lenbench({"reproduce", table, "--as-is"}, bundled(folder));
    ASSERT_TRUE(outcome.code == 0 || outcome.code == 3) << outcome.err;
    EXPECT_TRUE(has(written, outcome.out)) << table << " differs: run tools/make_tables.sh";
    ++compared;
  }
  EXPECT_GE(compared, 3);
}

TEST(Reproduce, DryRunSaysWhatIsMissingAndLoadsNothing) {
  const TempFolder folder;
  const Outcome outcome = lenbench({"reproduce", "reverse", "--scale", "paper", "--dry-run"}, bundled(folder));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "paper-1-reverse, scale paper: 0 of 15 models trained, 0 of 75 cells measured\n"))
      << outcome.out;
  EXPECT_TRUE(has(outcome.out, "paper-reverse-asentmax-nape-seed3")) << outcome.out;
}

TEST(Reproduce, CellsThatAreNotThereAreDashesWithAReasonAndExitThree) {
  const TempFolder folder;
  const Outcome outcome =
      lenbench({"reproduce", "reverse", "--scale", "paper", "--methods", "softmax", "--seeds", "1"}, bundled(folder));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "not trained: paper-reverse-softmax-nape")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "softmax (paper-v4)")) << outcome.out;
}

// What did not learn is kept as its Records, its origin and its curve, without the weights.
TEST(Reproduce, ATrainingKeptWithoutItsModelStillSaysThatItDidNotLearn) {
  const TempFolder folder;
  const std::string kept = kResults + "/checkpoints/recall-asentmax-rope";
  ASSERT_TRUE(fs::exists(kept + "/origin.json") && !fs::exists(kept + "/model.safetensors"));
  const Outcome plan = lenbench({"reproduce", "positions", "--dry-run"}, bundled(folder));
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_TRUE(has(plan.out,
                  "trained, model not kept, not learnt (0.0 % at its training length; lenbench plot training "
                  "recall-asentmax-rope), 6 of 6 cells measured"))
      << plan.out;
  const Outcome table = lenbench({"reproduce", "positions", "--as-is"}, bundled(folder));
  EXPECT_TRUE(has(table.out, "asentmax (rope) (not learnt: 0.0 % at its training length, seed 1)")) << table.out;
  EXPECT_EQ(lenbench({"plot", "training", "recall-asentmax-rope"}, bundled(folder)).code, 0);
  const Outcome run = lenbench({"run", "recall-asentmax-rope", "--lengths", "64"}, bundled(folder));
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_TRUE(has(run.err, "no checkpoint 'recall-asentmax-rope'")) << run.err;
}

TEST(Reproduce, WrongNamesAreRefusedInOneLine) {
  const TempFolder folder;
  for (const auto& [arguments, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"reproduce", "note-11"}, "did you mean 'note-1'"},
           {{"reproduce", "note-1", "--scale", "large"}, "has small"},
           {{"reproduce", "note-1", "--methods", "sofmax"}, "did you mean 'softmax'"},
           {{"reproduce", "note-1", "--as-is", "--train"}, "leave out"},
           {{"reproduce", "note-1", "--seeds", "-1"}, "--seeds"}}) {
    const Outcome outcome = lenbench(arguments, bundled(folder));
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(has(outcome.err, part)) << outcome.err;
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
  }
}

}  // namespace
}  // namespace lenbench::cli_test
