// `check`, `baseline` and `compare` as a shell sees them: files, words and exit codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "tests/base/sanitized.h"

namespace lenbench::cli_test {
namespace {

class CheckTest : public testing::Test {
 protected:
  void SetUp() override {
    measure("oracle", "good.jsonl");
    measure("oracle:100", "bad.jsonl");
    ASSERT_EQ(lenbench({"baseline", "write", at("good.jsonl"), "-o", at("ci.json")}).code, 0);
  }
  std::string at(const std::string& name) const { return folder_.path(name); }
  void measure(const std::string& model, const std::string& file, const Words& more = {}) const {
    const Outcome outcome = lenbench(
        with({"run", model, "--tasks", "recall", "--lengths", "64,128", "--samples", "200", "-o", at(file)}, more));
    ASSERT_TRUE(outcome.code == 0 || outcome.code == 3) << outcome.err;
  }
  // With another text in place of the first occurrence of `from` in a file.
  void replace(const std::string& file, const std::string& from, const std::string& to,
               const std::string& target) const {
    std::string text = slurp(at(file));
    const std::size_t found = text.find(from);
    ASSERT_NE(found, std::string::npos) << from;
    spill(at(target), text.replace(found, from.size(), to));
  }
  Outcome check(const std::string& file, const Words& more = {}, const Surroundings& where = {}) const {
    return lenbench(
        with({"check", file.find(':') == std::string::npos && file.find('.') != std::string::npos ? at(file) : file,
              "--baseline", at("ci.json")},
             more),
        where);
  }
  TempFolder folder_;
};

TEST_F(CheckTest, ExitCodesFollowTheVerdicts) {
  const Outcome good = check("good.jsonl");
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_EQ(lines_of(good.out).back(), "2 same: PASS");
  const Outcome bad = check("bad.jsonl");
  EXPECT_EQ(bad.code, 1) << bad.out;
  EXPECT_EQ(lines_of(bad.out).back(), "1 worse, 1 same: FAIL");
  EXPECT_NE(lines_of(bad.out)[2].find("recall@128"), std::string::npos) << "worst first";
  EXPECT_NE(bad.err.find("SHA-256"), std::string::npos);
  EXPECT_EQ(check("good.jsonl").out, good.out) << "same input, same bytes";
}

TEST_F(CheckTest, RecordsServeAsBaseline) {
  EXPECT_EQ(lenbench({"check", at("bad.jsonl"), "--baseline", at("good.jsonl")}).code, 1);
  EXPECT_EQ(lenbench({"check", at("good.jsonl"), "--baseline", at("good.jsonl")}).code, 0);
}

TEST_F(CheckTest, NoBaselineNoOverlapNothingMeasured) {
  EXPECT_TRUE(refused(lenbench({"check", at("good.jsonl"), "--baseline", at("none.json")}), 3, "baseline write"));
  EXPECT_EQ(lenbench({"check", at("good.jsonl")}).code, 2) << "--baseline is required";
  EXPECT_TRUE(refused(lenbench({"check", at("good.jsonl"), "--baseline", at("good.jsonl"), "--min", "recall@64=0.5",
                                "--min", "recall@64=0.9"}),
                      2, "'recall@64' twice"));
  measure("oracle", "other.jsonl", {"--seed", "1"});
  EXPECT_EQ(check("other.jsonl").code, 0) << "another seed is unpaired, not another question";
  const Outcome run =
      lenbench({"run", "oracle", "--tasks", "mqmtar", "--lengths", "64", "--samples", "5", "-o", at("disjoint.jsonl")});
  ASSERT_EQ(run.code, 0);
  const Outcome disjoint = check("disjoint.jsonl");
  EXPECT_EQ(disjoint.code, 3) << disjoint.out;
  EXPECT_NE(disjoint.out.find("no cell in common"), std::string::npos);
  spill(at("empty.jsonl"), "");
  EXPECT_TRUE(refused(check("empty.jsonl"), 3, "no Records")) << "theme J10: an empty result is not green";
}

TEST_F(CheckTest, MissingCellIsRedAndNewOneIsNot) {
  spill(at("half.jsonl"), lines_of(slurp(at("good.jsonl")))[0] + "\n");
  const Outcome half = check("half.jsonl");
  EXPECT_EQ(half.code, 1);
  EXPECT_NE(half.out.find("missing"), std::string::npos);
  EXPECT_EQ(check("half.jsonl", {"--allow-missing"}).code, 0);
  ASSERT_EQ(lenbench({"baseline", "write", at("half.jsonl"), "-o", at("half.json")}).code, 0);
  const Outcome more = lenbench({"check", at("good.jsonl"), "--baseline", at("half.json")});
  EXPECT_EQ(more.code, 0);
  EXPECT_NE(more.out.find("1 new"), std::string::npos);
  EXPECT_EQ(lenbench({"check", at("good.jsonl"), "--baseline", at("half.json"), "--fail-new"}).code, 1);
}

TEST_F(CheckTest, DamagedFiles) {
  const std::string text = slurp(at("good.jsonl"));
  spill(at("torn.jsonl"), text.substr(0, text.size() - 40));
  const Outcome torn = check("torn.jsonl");
  EXPECT_EQ(torn.code, 1) << "the torn cell is missing";
  EXPECT_NE(torn.err.find("no whole record"), std::string::npos);
  spill(at("twice.jsonl"), text + lines_of(text)[0] + "\n");
  EXPECT_TRUE(refused(check("twice.jsonl"), 2, "recall@64 twice"));
  spill(at("reordered.jsonl"), lines_of(text)[1] + "\n" + lines_of(text)[0] + "\n");
  EXPECT_EQ(check("reordered.jsonl").code, 0);
  measure("nan@100", "nan.jsonl");
  const Outcome nan = check("nan.jsonl");
  EXPECT_EQ(nan.code, 3) << nan.out;
  EXPECT_NE(nan.out.find("failed"), std::string::npos);
  replace("ci.json", "\"task_version\":1", "\"task_version\":9", "ci.json");
  const Outcome version = check("good.jsonl");
  EXPECT_EQ(version.code, 3);
  EXPECT_NE(version.out.find("task version 9 against 1"), std::string::npos) << version.out;
  spill(at("ci.json"), "{\"format\": \"lenbench-baseline\"");
  EXPECT_EQ(check("good.jsonl").code, 2);
}

TEST_F(CheckTest, FloorsFromFlagsAndThePolicyBesideTheBaseline) {
  EXPECT_EQ(check("good.jsonl", {"--min", "recall@128=0.95"}).code, 0);
  ASSERT_EQ(lenbench({"baseline", "write", at("bad.jsonl"), "-o", at("low.json")}).code, 0);
  EXPECT_EQ(lenbench({"check", at("bad.jsonl"), "--baseline", at("low.json")}).code, 0);
  EXPECT_EQ(lenbench({"check", at("bad.jsonl"), "--baseline", at("low.json"), "--min", "recall@128=0.95"}).code, 1);
  spill(at("low.policy.json"), "{\"min_accuracy\": {\"recall@128\": 0.5}}");
  const Outcome beside = lenbench({"check", at("bad.jsonl"), "--baseline", at("low.json")});
  EXPECT_EQ(beside.code, 1);
  EXPECT_NE(beside.err.find("low.policy.json"), std::string::npos);
  EXPECT_TRUE(refused(check("good.jsonl", {"--min", "recall@12=0.9"}), 2, "recall@12"));
  for (const char* bad : {"recall@64", "=1", "recall@64=0,5", "recall@64=2", "recall@64=nan"}) {
    EXPECT_EQ(check("good.jsonl", {"--min", bad}).code, 2) << bad;
  }
  spill(at("typo.json"), "{\"alpa\": 0.1}");
  EXPECT_TRUE(refused(check("good.jsonl", {"--policy", at("typo.json")}), 2, "did you mean 'alpha'"));
}

TEST_F(CheckTest, AcknowledgedUntilItExpires) {
  spill(at("policy.json"),
        "{\"acknowledgements\": [{\"cell\": \"recall@128\", \"reason\": \"shorter context\", \"expires\": "
        "\"2026-06-30\"}]}");
  const Words policy = {"--policy", at("policy.json"), "--today"};
  const Outcome before = check("bad.jsonl", {policy[0], policy[1], policy[2], "2026-06-30"});
  EXPECT_EQ(before.code, 0) << before.out;
  EXPECT_NE(before.out.find("shorter context"), std::string::npos);
  const Outcome after = check("bad.jsonl", {policy[0], policy[1], policy[2], "2026-07-01"});
  EXPECT_EQ(after.code, 1);
  EXPECT_NE(after.out.find("EXPIRED"), std::string::npos);
  EXPECT_EQ(check("bad.jsonl", {"--today", "soon"}).code, 2);
}

TEST_F(CheckTest, ReportsAreWrittenWhereTheyWereAskedFor) {
  const std::string summary = at("summary.md");
  spill(summary, "before\n");
  Surroundings actions;
  actions.environment["GITHUB_STEP_SUMMARY"] = summary;
  const Outcome outcome =
      check("bad.jsonl", {"--junit", at("sub/check.xml"), "--markdown", summary, "--json"}, actions);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["exit_code"], 1);
  EXPECT_NE(slurp(at("sub/check.xml")).find("failures=\"1\""), std::string::npos);
  EXPECT_TRUE(slurp(summary).starts_with("before\n### lenbench: 1 worse"));
  EXPECT_EQ(check("bad.jsonl", {"--markdown", summary}).code, 1);
  EXPECT_TRUE(slurp(summary).starts_with("### lenbench")) << "replaced when it is no step summary";
  EXPECT_EQ(check("good.jsonl", {"--junit", "/proc/check.xml"}).code, 3);
}

// Theme J7: a change that brings its own baseline cannot be seen to lose anything.
TEST_F(CheckTest, ThemeJ7BaselineOfTheCandidateCommit) {
  Surroundings actions;
  actions.environment["GITHUB_SHA"] = "0123456789abcdef";
  ASSERT_EQ(lenbench({"baseline", "write", at("good.jsonl"), "-o", at("ci.json"), "--overwrite"}, actions).code, 0);
  EXPECT_NE(check("good.jsonl", {}, actions).err.find("baseline equals candidate commit"), std::string::npos);
  actions.environment["GITHUB_SHA"] = "fedcba9876543210";
  const Outcome other = check("good.jsonl", {}, actions);
  EXPECT_EQ(other.err.find("baseline equals candidate commit"), std::string::npos);
  EXPECT_NE(other.err.find("commit 0123456789abcdef"), std::string::npos);
}

TEST_F(CheckTest, MeasuresAModelOnlyAsLongAsNeeded) {
  const Outcome good = check("oracle", {"-o", at("measured.jsonl")});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  const Outcome bad = check("oracle:100", {"-o", at("stopped.jsonl")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.out.find("certain after 16 of 200"), std::string::npos) << bad.out;
  EXPECT_EQ(check("stopped.jsonl").code, 1) << "what it wrote are Records";
  EXPECT_TRUE(refused(check("oracle", {"-o", at("stopped.jsonl")}), 2, "already holds Records"));
  EXPECT_EQ(check("oracle:100", {"-o", at("stopped.jsonl"), "--overwrite"}).code, 1);
  const Outcome all = check("oracle:100", {"--all-samples"});
  EXPECT_EQ(all.code, 1);
  EXPECT_NE(all.err.find("400 of 400 samples measured"), std::string::npos) << all.err;
  EXPECT_EQ(check("nan@100").code, 3);
  EXPECT_EQ(check("oom@100").code, 3);
}

TEST_F(CheckTest, BudgetLeavesTheRestUndecided) {
  const Outcome cut = check("sleepy:20", {"--budget", "0.2s"});
  EXPECT_NE(cut.out.find("undecided"), std::string::npos) << cut.out;
  EXPECT_TRUE(cut.code == 0 || cut.code == 3) << "never red for lack of time: " << cut.code;
  EXPECT_LT(cut.seconds, 20);
  for (const char* bad : {"10", "0s", "-1m", "m", "1d"}) EXPECT_EQ(check("oracle", {"--budget", bad}).code, 2) << bad;
}

TEST_F(CheckTest, FlagsOfTheOtherKindAreRefused) {
  EXPECT_TRUE(refused(check("good.jsonl", {"--budget", "1m"}), 2, "--budget"));
  EXPECT_TRUE(refused(check("oracle", {"--subject", "x"}), 2, "--subject"));
  EXPECT_TRUE(refused(check("good.jsonl", {"--subject", "oracel"}), 2, "did you mean 'oracle'"));
  EXPECT_TRUE(refused(check("good.jsonl", {"--alpha", "0"}), 2, "alpha"));
  EXPECT_TRUE(refused(check("nosuch"), 2, "nosuch"));
}

TEST_F(CheckTest, BaselineActsAreExplicit) {
  EXPECT_TRUE(refused(lenbench({"baseline", "write", at("bad.jsonl"), "-o", at("ci.json")}), 2, "--overwrite"));
  const Outcome show = lenbench({"baseline", "show", at("ci.json")});
  EXPECT_EQ(show.code, 0);
  EXPECT_NE(show.out.find("recall@128"), std::string::npos);
  const Outcome update = lenbench({"baseline", "update", at("bad.jsonl"), "-o", at("ci.json"), "--cells", "recall@64"});
  EXPECT_EQ(update.code, 0) << update.err;
  EXPECT_EQ(check("bad.jsonl").code, 1) << "recall@128 was not named";
  EXPECT_EQ(lenbench({"baseline", "update", at("bad.jsonl"), "-o", at("ci.json")}).code, 0);
  EXPECT_EQ(check("bad.jsonl").code, 0);
  EXPECT_TRUE(refused(lenbench({"baseline", "update", at("bad.jsonl"), "-o", at("none.json")}), 3, "no baseline"));
  EXPECT_TRUE(refused(lenbench({"baseline", "erase", at("ci.json")}), 2, "VERB"));
  measure("nan@100", "nan.jsonl");
  EXPECT_EQ(lenbench({"baseline", "write", at("nan.jsonl"), "-o", at("nan.json")}).code, 3);
  EXPECT_FALSE(std::filesystem::exists(at("nan.json")));
}

// Theme J2: `compare` tells, `check` fails.
TEST_F(CheckTest, ThemeJ2CompareNeverFails) {
  const Outcome compare = lenbench({"compare", at("good.jsonl"), at("bad.jsonl")});
  EXPECT_EQ(compare.code, 0);
  EXPECT_NE(compare.out.find("200"), std::string::npos);
  EXPECT_NE(lenbench({"compare", "--help"}).out.find("'lenbench check' is the command that fails"), std::string::npos);
  EXPECT_EQ(check("bad.jsonl").code, 1);
  EXPECT_EQ(lines_of(lenbench({"compare", at("good.jsonl"), at("ci.json"), "--format", "csv"}).out).size(), 3u);
  EXPECT_TRUE(refused(lenbench({"compare", at("good.jsonl"), at("bad.jsonl"), "--format", "xml"}), 2, "--format"));
}

TEST_F(CheckTest, FortyCellsInUnderATenthOfASecondWithoutLibTorch) {
  std::string lengths = "64";
  for (int i = 1; i < 40; ++i) lengths += "," + std::to_string(64 + i);
  for (const auto& [model, file] : {std::pair("oracle", "forty.jsonl"), std::pair("blind", "blind.jsonl")}) {
    ASSERT_EQ(lenbench({"run", model, "--lengths", lengths, "--samples", "1000", "-o", at(file)}).code, 0);
  }
  Surroundings traced;
  traced.environment = {{"LD_DEBUG", "files"}, {"LENBENCH_NN_LIBRARY", "/nonexistent/liblenbench_nn.so"}};
  const Outcome loaded = lenbench({"check", at("blind.jsonl"), "--baseline", at("forty.jsonl")}, traced);
  EXPECT_EQ(loaded.code, 1);
  EXPECT_NE(loaded.err.find("libc.so"), std::string::npos) << "LD_DEBUG shows what is loaded";
  EXPECT_EQ(loaded.err.find("libtorch"), std::string::npos);
  LENBENCH_SKIP_IF_SANITIZED();
  // Processor time, which other work on the machine does not lengthen.
  double fastest = 1e9;
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = lenbench({"check", at("forty.jsonl"), "--baseline", at("forty.jsonl")});
    ASSERT_EQ(outcome.code, 0);
    fastest = std::min(fastest, outcome.cpu_seconds);
  }
  EXPECT_LT(fastest, 0.1);
}

}  // namespace
}  // namespace lenbench::cli_test
