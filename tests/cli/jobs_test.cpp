// Runs of several processes as users start them: --jobs, a launcher's variables, deaths at any time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/bundled.h"
#include "cli/ranks.h"
#include "tests/record/same_records.h"

namespace lenbench::cli_test {
namespace {

// Lines of a Record file by length: ranks write the longest Cells first.
std::vector<std::string> sorted_lines(const std::string& path) {
  std::vector<std::string> lines = lines_of(slurp(path));
  const auto length = [](const std::string& line) {
    return nlohmann::json::parse(line)["question"]["length"].get<int>();
  };
  std::sort(lines.begin(), lines.end(),
            [&](const std::string& a, const std::string& b) { return length(a) < length(b); });
  return lines;
}

const Words kSleepy = {"run", "sleepy:4", "--lengths", "256,1024", "--batch", "1", "--threads", "2", "--quiet"};

TEST(Jobs, TwoProcessesMeasureABundledModelAsOneDoes) {
  const TempFolder folder;
  const Words run = {"run",       "recall-asentmax-nape",
                     "--tasks",   "recall,recall-dense",
                     "--lengths", "64,256,1024",
                     "--samples", "40",
                     "--threads", "2",
                     "-o"};
  const Outcome alone = lenbench(with(run, {folder.path("one.jsonl")}), bundled());
  ASSERT_EQ(alone.code, 0) << alone.err;
  const Outcome both = lenbench(with(run, {folder.path("two.jsonl"), "--jobs", "2"}), bundled());
  ASSERT_EQ(both.code, 0) << both.err;
  const auto by_task = [&](const std::string& name) {
    std::vector<std::string> lines = sorted_lines(folder.path(name));
    std::stable_sort(lines.begin(), lines.end(), [](const std::string& a, const std::string& b) {
      return nlohmann::json::parse(a)["question"]["task"] < nlohmann::json::parse(b)["question"]["task"];
    });
    return lines;
  };
  EXPECT_EQ(by_task("one.jsonl").size(), 6U);
  EXPECT_TRUE(same_records(by_task("one.jsonl"), by_task("two.jsonl"), kReals));
  EXPECT_FALSE(nlohmann::json::parse(by_task("two.jsonl")[0])["measurement"]["heads"].empty());
}

TEST(Jobs, AWorkerKilledTenTimesInTheMiddleOfACellLosesNothing) {
  const TempFolder folder;
  const Words run = with(kSleepy, {"--samples", "3000"});
  Child child(with(run, {"-o", folder.path("killed.jsonl"), "--jobs", "2"}));
  int killed = 0;
  while (killed < 10) {
    pid_t worker = 0;
    const bool found = wait_until(
        [&] {
          for (const pid_t pid : children_of(child.pid())) {
            // Connected to rank 0, so at work or about to be.
            if (slurp("/proc/" + std::to_string(pid) + "/maps").find("libtorch_cpu") != std::string::npos) worker = pid;
          }
          return worker != 0 && lives(worker);
        },
        30);
    ASSERT_TRUE(found) << "after " << killed << " kills";
    usleep(300'000);
    kill(worker, SIGKILL);
    ASSERT_TRUE(wait_until([&] { return !lives(worker); }, 10));
    ++killed;
  }
  const Outcome outcome = child.wait(60);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> lines = sorted_lines(folder.path("killed.jsonl"));
  ASSERT_EQ(lines.size(), 2U);
  for (const std::string& line : lines) {
    EXPECT_EQ(nlohmann::json::parse(line)["outcomes"], std::string(3000, '1'));
  }
}

TEST(Jobs, RankZeroKilledTakesTheOthersWithItAndResumes) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Words run = with(kSleepy, {"--samples", "400", "--jobs", "2", "-o", path});
  Child child(run);
  const bool begun = wait_until([&] { return lines_of(slurp(path)).size() == 1; }, 30);
  const std::vector<pid_t> workers = children_of(child.pid());
  child.send(SIGKILL);
  EXPECT_EQ(child.wait().signal, SIGKILL);
  ASSERT_TRUE(begun);
  EXPECT_EQ(workers.size(), 1U);
  for (const pid_t worker : workers) EXPECT_TRUE(wait_until([&] { return !lives(worker); }, 10)) << "an orphan";
  const Outcome again = lenbench(run);
  ASSERT_EQ(again.code, 0) << again.err;
  ASSERT_EQ(lenbench(with(kSleepy, {"--samples", "400", "-o", folder.path("one.jsonl")})).code, 0);
  EXPECT_TRUE(same_records(sorted_lines(folder.path("one.jsonl")), sorted_lines(path), 0));
}

TEST(Jobs, AnInterruptStopsAllAndTheSameCommandResumes) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Words run = {"run",       "sleepy:4", "--lengths", "256,1024", "--batch", "1",
                     "--samples", "400",      "--jobs",    "2",        "-o",      path};
  expect_an_interrupt_stops_all(run, path);
  EXPECT_EQ(lenbench(run).code, 0);
  EXPECT_EQ(lines_of(slurp(path)).size(), 2U);
}

TEST(Jobs, RanksOfALauncherShareTheWork) {
  const TempFolder folder;
  const Words run = with(kSleepy, {"--samples", "100", "-o", folder.path("r.jsonl")});
  expect_both_ranks_run(run, {});
  const std::vector<std::string> lines = sorted_lines(folder.path("r.jsonl"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(lines[1])["outcomes"], std::string(100, '1'));
}

TEST(Jobs, RefusesInOneLineWhatCannotBe) {
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--jobs", "0"}), 2, "--jobs is 0"));
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--jobs", "2", "--shard", "1/2", "-o", "x"}), 2, "--shard"));
  Surroundings ranks;
  ranks.environment = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1"}};
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--jobs", "2"}, ranks), 2, "already rank 1 of 2"));
  ranks.environment["RANK"] = "2";
  EXPECT_TRUE(refused(lenbench({"run", "oracle"}, ranks), 2, "RANK is 2 and WORLD_SIZE is 2"));
  ranks.environment["RANK"] = "";
  EXPECT_TRUE(refused(lenbench({"run", "oracle"}, ranks), 2, "RANK is not set"));
  // What all ranks would be refused for is said once, and before any is started.
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--lengths", "2", "--jobs", "2"}), 2, "too short"));
}

}  // namespace
}  // namespace lenbench::cli_test
