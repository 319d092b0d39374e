// Samples whose rows the ranks of a run divide, as users start them: --jobs, a launcher's variables, deaths.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/bundled.h"
#include "cli/ranks.h"
#include "tests/record/same_records.h"

namespace lenbench::cli_test {
namespace {

const Words kRun = {"run",       "recall-asentmax-nape",
                    "--tasks",   "recall,recall-dense",
                    "--lengths", "64,3000",
                    "--samples", "6",
                    "--threads", "2"};

TEST(SplitSequence, TwoProcessesGiveTheRecordsOfOne) {
  const TempFolder folder;
  const Outcome alone = lenbench(with(kRun, {"-o", folder.path("one.jsonl")}), bundled());
  ASSERT_EQ(alone.code, 0) << alone.err;
  const Outcome split =
      lenbench(with(kRun, {"-o", folder.path("two.jsonl"), "--jobs", "2", "--split-sequence"}), bundled());
  ASSERT_EQ(split.code, 0) << split.err;
  const std::vector<std::string> one = lines_of(slurp(folder.path("one.jsonl")));
  ASSERT_EQ(one.size(), 4U);
  EXPECT_TRUE(same_records(one, lines_of(slurp(folder.path("two.jsonl"))), kReals));
  EXPECT_FALSE(nlohmann::json::parse(one[0])["measurement"]["heads"].empty());
}

TEST(SplitSequence, TextsGiveTheNatsOfOneProcess) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 900; ++i) text += "the " + std::to_string(i * i % 97) + " hats, ";
  spill(folder.path("text.txt"), text);
  const Words run = {
      "run", "lm-asentmax-nape", "--text", folder.path("text.txt"), "--lengths", "2048", "--samples", "2", "--probe",
      "all", "--threads",        "2"};
  ASSERT_EQ(lenbench(with(run, {"-o", folder.path("one.jsonl")}), bundled()).code, 0);
  const Outcome split =
      lenbench(with(run, {"-o", folder.path("two.jsonl"), "--jobs", "3", "--split-sequence"}), bundled());
  ASSERT_EQ(split.code, 0) << split.err;
  EXPECT_TRUE(
      same_records(lines_of(slurp(folder.path("one.jsonl"))), lines_of(slurp(folder.path("two.jsonl"))), kReals));
}

TEST(SplitSequence, AKilledRankEndsTheRunAndAnyNumberResumes) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Words run = {
      "run",    "recall-asentmax-nape", "--lengths", "64,4096", "--samples", "16", "--batch", "1", "--threads", "2",
      "--quiet"};
  Child child(with(run, {"-o", path, "--jobs", "2", "--split-sequence"}), bundled());
  const bool begun = wait_until([&] { return lines_of(slurp(path)).size() == 1; }, 60);
  const std::vector<pid_t> workers = children_of(child.pid());
  for (const pid_t worker : workers) kill(worker, SIGKILL);
  const Outcome outcome = child.wait(30);
  ASSERT_TRUE(begun);
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_TRUE(refused(outcome, 3, "rank 1 ended early (killed by signal 9); the same command resumes"));
  ASSERT_EQ(lines_of(slurp(path)).size(), 1U) << "no Record of the Cell that was in work";

  const Outcome again = lenbench(with(run, {"-o", path, "--jobs", "3", "--split-sequence"}), bundled());
  ASSERT_EQ(again.code, 0) << again.err;
  ASSERT_EQ(lenbench(with(run, {"-o", folder.path("one.jsonl")}), bundled()).code, 0);
  EXPECT_TRUE(same_records(lines_of(slurp(folder.path("one.jsonl"))), lines_of(slurp(path)), kReals));
}

TEST(SplitSequence, RankZeroKilledLeavesNobodyBehind) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  Child child({"run", "recall-asentmax-nape", "--lengths", "64,16384", "--samples", "20", "--batch", "1", "--quiet",
               "--threads", "2", "-o", path, "--jobs", "2", "--split-sequence"},
              bundled());
  const bool begun = wait_until([&] { return lines_of(slurp(path)).size() == 1; }, 60);
  const std::vector<pid_t> workers = children_of(child.pid());
  child.send(SIGKILL);
  EXPECT_EQ(child.wait().signal, SIGKILL);
  ASSERT_TRUE(begun);
  for (const pid_t worker : workers) EXPECT_TRUE(wait_until([&] { return !lives(worker); }, 10)) << "an orphan";
}

TEST(SplitSequence, AnInterruptStopsAllAfterTheBatch) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Words run = {"run",
                     "recall-asentmax-nape",
                     "--lengths",
                     "64,4096",
                     "--samples",
                     "30",
                     "--batch",
                     "1",
                     "--threads",
                     "2",
                     "--jobs",
                     "2",
                     "--split-sequence",
                     "-o",
                     path};
  expect_an_interrupt_stops_all(run, path, bundled());
  EXPECT_EQ(lines_of(slurp(path)).size(), 1U);
}

TEST(SplitSequence, RanksOfALauncherSplitAsWell) {
  const TempFolder folder;
  const Words run = with(kRun, {"--split-sequence", "-o", folder.path("two.jsonl")});
  expect_both_ranks_run(run, bundled());
  ASSERT_EQ(lenbench(with(kRun, {"-o", folder.path("one.jsonl")}), bundled()).code, 0);
  EXPECT_TRUE(
      same_records(lines_of(slurp(folder.path("one.jsonl"))), lines_of(slurp(folder.path("two.jsonl"))), kReals));
}

TEST(SplitSequence, RanksWithOtherCommandLinesAreRefused) {
  const TempFolder folder;
  const int port = free_port();
  const auto start = [&](const char* number, const char* world, const Words& more) {
    return std::make_unique<Child>(with(with(kRun, {"--quiet", "-o", folder.path("two.jsonl")}), more),
                                   launched(bundled(), number, world, port));
  };
  const Words split = {"--split-sequence"}, doubles = {"--split-sequence", "--dtype", "float64"};
  {
    const auto second = start("1", "2", doubles), first = start("0", "2", split);
    const char* line = "--dtype of rank 1 is 'float64', and that of rank 0 is 'float32'";
    EXPECT_TRUE(refused(first->wait(), 2, line));
    EXPECT_TRUE(refused(second->wait(), 2, line));
  }
  {
    const auto second = start("1", "3", split), first = start("0", "2", split);
    EXPECT_TRUE(refused(first->wait(), 2, "rank 1 was started as one of 3 and rank 0 as one of 2"));
    EXPECT_TRUE(refused(second->wait(), 2, "rank 1 was started as one of 3"));
  }
  {
    const auto second = start("1", "2", {}), first = start("0", "2", split);
    EXPECT_TRUE(refused(second->wait(), 2, "rank 0 was started with --split-sequence"));
    first->send(SIGINT);
    EXPECT_EQ(first->wait().code, 130) << "waiting for a rank that does not come can be interrupted";
  }
  EXPECT_EQ(slurp(folder.path("two.jsonl")), "");
}

TEST(SplitSequence, RefusesInOneLineWhatCannotBeSplit) {
  const Words jobs = {"--jobs", "2", "--split-sequence"};
  const auto refuses = [&](const Words& words, const std::string& mention) {
    return refused(lenbench(words, bundled()), 2, mention);
  };
  EXPECT_TRUE(refuses(with({"run", "oracle"}, jobs), "'oracle' is a double"));
  EXPECT_TRUE(refuses(with({"run", "exec:cat"}, jobs), "'exec:cat' is a program"));
  EXPECT_TRUE(refuses(with({"run", "max-retrieval-softmax", "--tasks", "max-retrieval"}, jobs), "is a model of sets"));
  EXPECT_TRUE(refuses(with({"run", "recall-softmax-nape", "--probe", "prefix"}, jobs), "no statistics of prefixes"));
  EXPECT_TRUE(refuses(with({"run", "recall-softmax-nape", "--device", "cuda"}, jobs), "leave out --device"));
  EXPECT_TRUE(refuses({"run", "recall-softmax-nape", "--split-sequence"}, "add --jobs N"));
  EXPECT_TRUE(refuses(with({"run", "lm-softmax-nape", "--tasks", "text", "--text", "/dev/null"}, jobs),
                      "'/dev/null' is no regular file"));
  EXPECT_TRUE(refuses(with({"run", "lm-softmax-nape", "--tasks", "text", "--text", "nowhere.txt"}, jobs),
                      "nowhere.txt: no such file"));
  EXPECT_TRUE(refuses(with({"run", "recall-softmax-nape", "--shard", "1/2", "-o", "x"}, jobs), "--shard"));
}

// Memory of a sample is that of a share of its rows.
TEST(SplitSequence, TheForecastAndTheBudgetAreOfARank) {
  const Words run = {"run", "recall-asentmax-nape", "--lengths", "16384", "--samples", "1"};
  const auto forecast = [&](const Words& more) {
    const Outcome outcome = lenbench(with(with(run, {"--dry-run"}), more), bundled());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_NE(forecast({}).find("predicted peak above the loaded model"), std::string::npos);
  EXPECT_NE(forecast({"--jobs", "4", "--split-sequence"}).find("predicted peak of each rank above"), std::string::npos);
  const Words budget = with(run, {"--memory", "50MiB", "--quiet"});
  EXPECT_EQ(lenbench(budget, bundled()).code, 3);
  const Outcome split = lenbench(with(budget, {"--jobs", "4", "--split-sequence"}), bundled());
  EXPECT_EQ(split.code, 0) << split.out << split.err;
}

}  // namespace
}  // namespace lenbench::cli_test
