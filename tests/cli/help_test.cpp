// Help, lists, versions and the promise that a command without a checkpoint never loads LibTorch.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "tests/base/sanitized.h"

namespace lenbench::cli_test {
namespace {

const Words kCommands = {"run",  "train", "table",   "plot",   "report", "check", "baseline",  "compare",    "list",
                         "show", "gen",   "inspect", "verify", "audit",  "bench", "selfcheck", "completion", "merge"};

TEST(Help, OverviewNamesEveryCommand) {
  const Outcome outcome = lenbench({"--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(lines_of(outcome.out).front(),
            "lenbench: how far past its training length does a sequence model still work, and why does it stop?");
  for (const std::string& command : kCommands) EXPECT_NE(outcome.out.find("\n  " + command + " "), std::string::npos);
  EXPECT_EQ(lenbench({"-h"}).out, outcome.out);
  EXPECT_EQ(lenbench({"help"}).out, outcome.out);
}

TEST(Help, EveryCommandHasUsageAndTwoExamples) {
  for (const std::string& command : kCommands) {
    const Outcome outcome = lenbench({command, "--help"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("Usage: lenbench " + command), std::string::npos) << outcome.out;
    const std::size_t examples = outcome.out.find("Examples:\n");
    ASSERT_NE(examples, std::string::npos) << command;
    std::size_t count = 0, at = examples;
    while ((at = outcome.out.find("lenbench " + command, at + 1)) != std::string::npos) ++count;
    EXPECT_GE(count, 2u) << command;
    EXPECT_EQ(lenbench({"help", command}).out, outcome.out);
  }
}

TEST(Help, OpeningLinesOfRun) {
  const Words lines = lines_of(lenbench({"run", "--help"}).out);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0], "Ask a model at growing lengths and print accuracy beside attention dispersion");
  EXPECT_EQ(lines[1], "Usage: lenbench run [OPTIONS] CKPT");
}

TEST(Version, NamesVersionAndCommitAndLibraries) {
  const Outcome plain = lenbench({"--version"});
  EXPECT_EQ(plain.code, 0);
  ASSERT_EQ(lines_of(plain.out).size(), 1u);
  EXPECT_TRUE(plain.out.starts_with("lenbench 0."));
  EXPECT_NE(plain.out.find("(commit "), std::string::npos);
  Surroundings none;
  none.environment["LENBENCH_NN_LIBRARY"] = "/nonexistent/liblenbench_nn.so";
  const Outcome all = lenbench({"--version", "-v"}, none);
  EXPECT_EQ(all.code, 0);
  for (const char* library : {"fmt 9", "nlohmann_json 3", "CLI11 2", "Boost 1", "OpenSSL 3", "LibTorch"}) {
    EXPECT_NE(all.out.find(library), std::string::npos) << library;
  }
}

// Processor time, which other work on the machine does not lengthen; loading LibTorch alone costs 300 ms of it.
TEST(Lists, TasksInUnderFiftyMilliseconds) {
  LENBENCH_SKIP_IF_SANITIZED();
  double fastest = 1e9;
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = lenbench({"list", "tasks"});
    ASSERT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("recall"), std::string::npos);
    EXPECT_NE(outcome.out.find("mqmtar"), std::string::npos);
    fastest = std::min(fastest, outcome.cpu_seconds);
  }
  EXPECT_LT(fastest, 0.050);
}

TEST(Lists, EveryListHasNamesAndSummaries) {
  const std::pair<const char*, const char*> kinds[] = {{"tasks", "recall"},          {"transforms", "asentmax"},
                                                       {"positions", "nape"},        {"reports", "markdown"},
                                                       {"papers", "paper-1-mqmtar"}, {"checkpoints", "oracle"}};
  for (const auto& [kind, member] : kinds) {
    const Outcome outcome = lenbench({"list", kind, "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    bool found = false;
    for (const auto& entry : nlohmann::json::parse(outcome.out)) {
      found = found || entry["name"] == member;
      EXPECT_FALSE(entry["summary"].get<std::string>().empty()) << entry;
      EXPECT_EQ(entry["summary"].get<std::string>().find('\n'), std::string::npos);
    }
    EXPECT_TRUE(found) << kind;
  }
}

TEST(Torch, CoreCommandsNeverLoadIt) {
  Surroundings traced;
  traced.environment = {{"LD_DEBUG", "files"}, {"LENBENCH_NN_LIBRARY", "/nonexistent/liblenbench_nn.so"}};
  for (const Words& words : {Words{"list", "tasks"}, Words{"show", "recall:64:0"}, Words{"selfcheck"},
                             Words{"run", "oracle:512", "--lengths", "64", "--samples", "2"}}) {
    const Outcome outcome = lenbench(words, traced);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.err.find("libc.so"), std::string::npos) << "LD_DEBUG shows what is loaded";
    EXPECT_EQ(outcome.err.find("libtorch"), std::string::npos);
    EXPECT_EQ(outcome.err.find("liblenbench_nn"), std::string::npos);
  }
}

TEST(Torch, MissingLibraryIsOneLine) {
  const TempFolder folder;
  spill(folder.path("not-a-library.so"), "text");
  spill(folder.path("recipe.json"), "{}");
  for (const std::string& library : {std::string("/nonexistent/lib.so"), folder.path("not-a-library.so")}) {
    Surroundings where;
    where.environment["LENBENCH_NN_LIBRARY"] = library;
    EXPECT_TRUE(refused(lenbench({"train", folder.path("recipe.json"), "-o", folder.path("out")}, where), 2, library));
  }
}

TEST(SelfCheck, EndsWithOk) {
  const Outcome outcome = lenbench({"selfcheck"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out).back(), "ok");
}

TEST(Completion, ScriptsNameCommandsAndFlags) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome outcome = lenbench({"completion", shell});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("selfcheck"), std::string::npos);
    EXPECT_NE(outcome.out.find("samples-at"), std::string::npos);
  }
}

}  // namespace
}  // namespace lenbench::cli_test
