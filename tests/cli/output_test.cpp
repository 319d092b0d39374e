// The file behind -o: the path given, refused early, resumed under the same plan only (bugs G2, G5, G7, G8, G10, G11).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

Words run_words(const std::string& model, const std::string& path, Words more = {}) {
  return with({"run", model, "--tasks", "recall", "--lengths", "64,128", "--samples", "4", "-o", path}, more);
}

// A Record line without what may differ between two measurements of the same Cell.
ordered_json answer_of(const std::string& line) {
  ordered_json record = ordered_json::parse(line);
  record.erase("setting");
  record["measurement"].erase("seconds");
  record["measurement"].erase("peak_bytes");
  return record;
}

TEST(Output, IsExactlyTheFileGivenAndResultsAreAnswers) {
  const TempFolder folder;
  const std::string path = folder.path("r.json");
  const Outcome outcome = lenbench(run_words("oracle:64", path));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}), 1);
  const Words lines = lines_of(slurp(path));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(answer_of(lines[0])["measurement"]["exact"]["right"], 4);
  EXPECT_EQ(answer_of(lines[1])["measurement"]["exact"]["right"], 0);
  EXPECT_EQ(answer_of(lines[0])["question"]["length"], 64);
}

TEST(Output, WithoutAFileSaysThatNothingIsKept) {
  const Outcome outcome = lenbench({"run", "oracle", "--lengths", "64", "--samples", "2"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("no -o FILE"), std::string::npos);
  EXPECT_NE(outcome.out.find("100.0"), std::string::npos);
}

TEST(Output, TrailingSlashNamesTheDocumentedFile) {
  const TempFolder folder;
  EXPECT_EQ(lenbench(run_words("oracle", folder.path("new/"))).code, 0);
  EXPECT_TRUE(fs::is_regular_file(folder.path("new/records.jsonl")));
}

TEST(Output, MissingParentsAreCreated) {
  const TempFolder folder;
  EXPECT_EQ(lenbench(run_words("oracle", folder.path("a/b/c/r.jsonl"))).code, 0);
  EXPECT_EQ(lines_of(slurp(folder.path("a/b/c/r.jsonl"))).size(), 2u);
}

TEST(Output, UnusablePathsAreRefusedBeforeTheModelIsTouched) {
  const TempFolder folder;
  spill(folder.path("file"), "x");
  spill(folder.path("notes.txt"), "these are my notes\n");
  fs::create_directory(folder.path("dir"));
  // A sleepy double would take minutes for its first Cell.
  for (const std::string& path : {folder.path("file/r.jsonl"), folder.path("dir"), folder.path("notes.txt"),
                                  std::string("/proc/r.jsonl"), std::string("/dev/full"), std::string("")}) {
    const Outcome outcome = lenbench(run_words("sleepy:100000", path));
    EXPECT_TRUE(refused(outcome, 2, path.empty() ? "-o" : path)) << path;
    EXPECT_LT(outcome.seconds, 5.0);
  }
  EXPECT_EQ(slurp(folder.path("notes.txt")), "these are my notes\n");
}

TEST(Output, RefusedRunLeavesNoFileBehind) {
  const TempFolder folder;
  EXPECT_EQ(lenbench(run_words("oracle", folder.path("r.jsonl"), {"--max-positions", "5"})).code, 2);
  EXPECT_FALSE(fs::exists(folder.path("r.jsonl")));
}

TEST(Output, FullDiskIsExitThreeAndKeepsWholeRecords) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  Surroundings small;
  small.file_limit_bytes = 3000;
  Words words = {"run", "oracle", "--tasks", "recall", "--lengths", "64..1024", "--samples", "4", "-o", path};
  const Outcome outcome = lenbench(words, small);
  EXPECT_EQ(outcome.code, 3) << outcome.err << outcome.signal;
  for (const std::string& line : lines_of(slurp(path))) EXPECT_NO_THROW(ordered_json::parse(line)) << line;
  EXPECT_EQ(lenbench(words).code, 0);
  EXPECT_EQ(lines_of(slurp(path)).size(), 5u);
}

TEST(Output, FullStandardOutputIsExitThree) {
  Surroundings full;
  full.out_path = "/dev/full";
  const Outcome outcome = lenbench({"list", "tasks"}, full);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("standard output"), std::string::npos);
}

TEST(Resume, SamePlanMeasuresNothingAgainAndPrintsTheSameTable) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Outcome first = lenbench(run_words("oracle:64", path));
  const std::string bytes = slurp(path);
  const Outcome second = lenbench(run_words("oracle:64", path));
  EXPECT_EQ(second.code, 0);
  EXPECT_EQ(slurp(path), bytes);
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(second.err.find("2 of 2 cells are already in"), std::string::npos);
}

TEST(Resume, FailedCellStaysAFailureOfTheRun) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  EXPECT_EQ(lenbench(run_words("oom@128", path)).code, 3);
  EXPECT_EQ(lenbench(run_words("oom@128", path)).code, 3);
}

TEST(Resume, AnotherPlanIsRefusedNamingTheDifference) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  ASSERT_EQ(lenbench(run_words("oracle", path)).code, 0);
  const std::string bytes = slurp(path);
  const auto differs = [&](const Words& words, const char* mention) {
    EXPECT_TRUE(refused(lenbench(words), 2, mention));
    EXPECT_EQ(slurp(path), bytes);
  };
  differs(run_words("blind", path), "'blind'");
  differs(run_words("oracle", path, {"--seed", "1"}), "seed");
  differs(run_words("oracle", path, {"--split", "validation"}), "split");
  differs({"run", "oracle", "--tasks", "recall", "--lengths", "64,128", "--samples", "5", "-o", path}, "samples");
  differs({"run", "oracle", "--tasks", "recall", "--lengths", "64,256", "--samples", "4", "-o", path}, "128");
  differs({"run", "oracle", "--tasks", "mqmtar", "--lengths", "64,128", "--samples", "4", "-o", path}, "recall");
  differs({"run", "oracle", "--tasks", "recall:density=4", "--lengths", "64,128", "--samples", "4", "-o", path},
          "density=4");
}

TEST(Resume, OverwriteMovesTheOldFileAside) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  ASSERT_EQ(lenbench(run_words("oracle", path)).code, 0);
  const std::string first = slurp(path);
  ASSERT_EQ(lenbench(run_words("blind", path, {"--overwrite"})).code, 0);
  const std::string second = slurp(path);
  ASSERT_EQ(lenbench(run_words("uniform", path, {"--overwrite"})).code, 0);
  EXPECT_EQ(slurp(path + ".old-1"), first);
  EXPECT_EQ(slurp(path + ".old-2"), second);
  EXPECT_EQ(lines_of(slurp(path)).size(), 2u);
}

TEST(Resume, OverwriteNeverMovesSomethingElse) {
  const TempFolder folder;
  spill(folder.path("weights.bin"), "precious");
  EXPECT_EQ(lenbench(run_words("oracle", folder.path("weights.bin"), {"--overwrite"})).code, 2);
  EXPECT_EQ(slurp(folder.path("weights.bin")), "precious");
}

// 10 Cells of 20 samples, each one batch: a kill may cost the batch in work and nothing that was measured before it.
TEST(Resume, AfterTenKillsNumbersAreThoseOfAnUndisturbedRun) {
  const TempFolder folder;
  const auto words = [](const std::string& path) {
    return Words{"run",       "sleepy:4", "--tasks", "recall", "--lengths", "64,72,80,88,96,104,112,120,128,136",
                 "--samples", "20",       "--batch", "20",     "-o",        path};
  };
  const std::string path = folder.path("killed.jsonl"), whole = folder.path("whole.jsonl");
  std::mt19937 random(7);
  std::size_t kept = 0;
  for (int kill_number = 0; kill_number < 10; ++kill_number) {
    Child child(words(path));
    const double delay = std::uniform_real_distribution<double>(0.0, 0.25)(random);
    wait_until([] { return false; }, delay);
    child.send(SIGKILL);
    child.wait();
    const std::size_t now = lines_of(slurp(path)).size();
    EXPECT_GE(now, kept) << "a finished Cell was lost";
    kept = now;
  }
  const Outcome last = lenbench(words(path));
  EXPECT_EQ(last.code, 0) << last.err;
  ASSERT_EQ(lenbench(words(whole)).code, 0);
  const Words killed_lines = lines_of(slurp(path)), whole_lines = lines_of(slurp(whole));
  ASSERT_EQ(killed_lines.size(), 10u);
  ASSERT_EQ(whole_lines.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(answer_of(killed_lines[i]), answer_of(whole_lines[i]));
}

TEST(Resume, KilledRunIsATableOfWhatWasMeasured) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  Child child({"run", "sleepy:20", "--lengths", "64,72,80,88", "--samples", "10", "-o", path});
  ASSERT_TRUE(wait_until([&] { return lines_of(slurp(path)).size() >= 2; }, 30));
  child.send(SIGKILL);
  child.wait();
  const Outcome table = lenbench({"table", path});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("72"), std::string::npos);
  EXPECT_EQ(table.out.find("88"), std::string::npos);
}

TEST(Resume, TornLastLineIsMovedAsideAndTheCellMeasuredAgain) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  ASSERT_EQ(lenbench(run_words("oracle", path)).code, 0);
  const std::string bytes = slurp(path);
  spill(path, bytes.substr(0, bytes.size() - 40));
  const Outcome outcome = lenbench(run_words("oracle", path));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(".torn-1"), std::string::npos);
  EXPECT_EQ(lines_of(slurp(path)).size(), 2u);
  EXPECT_TRUE(fs::exists(path + ".torn-1"));
}

TEST(Interrupt, OnceKeepsRecordsAndResumes) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  const Words words = {"run", "sleepy:20", "--lengths", "64,72,80,88,96", "--samples", "10", "-o", path};
  Child child(words);
  ASSERT_TRUE(wait_until([&] { return !lines_of(slurp(path)).empty(); }, 30));
  child.send(SIGINT);
  const Outcome stopped = child.wait();
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("resumes"), std::string::npos);
  const Words kept = lines_of(slurp(path));
  EXPECT_GE(kept.size(), 1u);
  EXPECT_LT(kept.size(), 5u);
  EXPECT_EQ(lenbench(words).code, 0);
  EXPECT_EQ(lines_of(slurp(path)).size(), 5u);
  EXPECT_EQ(lines_of(slurp(path)).front(), kept.front());
}

TEST(Interrupt, TwiceStopsAtOnce) {
  const TempFolder folder;
  Child child({"run", "sleepy:60000", "--lengths", "64", "--samples", "1", "-o", folder.path("r.jsonl")});
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder.path("r.jsonl")); }, 30));
  wait_until([] { return false; }, 0.3);
  child.send(SIGINT);
  child.send(SIGINT);
  const Outcome outcome = child.wait(10);
  EXPECT_EQ(outcome.code, 130);
}

TEST(Lock, SecondWriterIsRefused) {
  const TempFolder folder;
  const std::string path = folder.path("r.jsonl");
  Child first({"run", "sleepy:30", "--lengths", "64,72,80", "--samples", "10", "-o", path});
  ASSERT_TRUE(wait_until([&] { return !slurp(path).empty(); }, 30));
  EXPECT_TRUE(refused(lenbench({"run", "sleepy:30", "--lengths", "64,72,80", "--samples", "10", "-o", path}), 2, path));
  EXPECT_TRUE(refused(lenbench(run_words("oracle", path, {"--overwrite"})), 2, path));
  EXPECT_EQ(first.wait().code, 0);
  EXPECT_EQ(lines_of(slurp(path)).size(), 3u);
}

// A slip of the command line must not cost what took hours to measure.
TEST(Output, ResultsAreNeverWrittenOverMeasurements) {
  const TempFolder folder;
  const std::string records = folder.path("a.jsonl"), baseline = folder.path("b.json"), other = folder.path("c.jsonl");
  ASSERT_EQ(lenbench(run_words("oracle", records, {})).code, 0);
  ASSERT_EQ(lenbench(run_words("echo", other, {})).code, 0);
  ASSERT_EQ(lenbench({"baseline", "write", records, "-o", baseline}).code, 0);
  const std::string link = folder.path("link");
  fs::create_symlink(records, link);
  const std::string before = slurp(records), baseline_before = slurp(baseline);
  const std::vector<Words> slips = {
      {"table", records, "-o", records},
      {"table", records, "-o", link},
      {"table", records, "-o", other},
      {"report", records, "-o", records},
      {"plot", "accuracy", records, "-o", baseline},
      {"compare", records, other, "-o", other},
      {"check", records, "--baseline", baseline, "--junit", baseline},
      {"check", records, "--baseline", baseline, "--markdown", records},
      {"check", records, "--baseline", baseline, "--junit", folder.path("x"), "--markdown", folder.path("x")},
      {"baseline", "write", records, "-o", records, "--overwrite"}};
  for (const Words& words : slips) EXPECT_TRUE(refused(lenbench(words), 2, "name another file")) << words[0];
  EXPECT_EQ(slurp(records), before);
  EXPECT_EQ(slurp(baseline), baseline_before);
}

TEST(Output, APipeIsWrittenIntoAndNotReplaced) {
  const TempFolder folder;
  const std::string records = folder.path("a.jsonl"), pipe = folder.path("pipe");
  ASSERT_EQ(lenbench(run_words("oracle", records, {})).code, 0);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Child writer({"table", records, "-o", pipe});
  const std::string got = slurp(pipe);
  EXPECT_EQ(writer.wait().code, 0);
  EXPECT_NE(got.find("| oracle"), std::string::npos) << got;
  EXPECT_TRUE(fs::is_fifo(pipe));
}

}  // namespace
}  // namespace lenbench::cli_test
