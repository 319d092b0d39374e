// Tests of RecordWriter: locks, torn tails, unusable paths, full disks and kill -9.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <limits>

#include "base/files.h"
#include "record/store.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"
#include "tests/record/sample_records.h"

namespace lenbench {
namespace {

namespace fs = std::filesystem;

const std::string kFirst = to_json_line(recall_record()) + "\n";
const std::string kSecond = to_json_line(text_record()) + "\n";

std::string opening_problem(const std::string& path, OpenMode mode = OpenMode::kResume) {
  return error_of([&] { RecordWriter(path, mode); });
}

TEST(RecordWriter, AppendsWhatIsReadBackAndResumes) {
  const TemporaryFolder folder;
  const std::string path = folder / "模型/new\nfolder/r.jsonl";
  {
    RecordWriter writer(path);
    EXPECT_TRUE(writer.existing().empty());
    writer.append(recall_record());
    EXPECT_EQ(read_file(path), kFirst) << "on disk while the writer lives";
  }
  {
    RecordWriter writer(path);
    EXPECT_EQ(writer.existing(), std::vector<Record>{recall_record()});
    EXPECT_EQ(writer.note(), "");
    writer.append(text_record());
  }
  EXPECT_EQ(read_records(path), (std::vector<Record>{recall_record(), text_record()}));
}

TEST(RecordWriter, ModesDecideAboutAnExistingFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "r.jsonl";
  write_file_atomically(path, kFirst);
  EXPECT_NE(opening_problem(path, OpenMode::kNew).find("exists"), std::string::npos);
  EXPECT_EQ(read_file(path), kFirst);
  RecordWriter writer(path, OpenMode::kOverwrite);
  EXPECT_TRUE(writer.existing().empty());
  writer.append(text_record());
  EXPECT_EQ(read_file(path), kSecond);
  write_file_atomically(folder / "empty", "");
  EXPECT_NO_THROW(RecordWriter(folder / "empty", OpenMode::kNew));
  EXPECT_TRUE(fs::exists(folder / "empty")) << "an empty file that was there before stays";
}

TEST(RecordWriter, LeavesNoFileWhenNothingWasMeasured) {
  const TemporaryFolder folder;
  { RecordWriter writer(folder / "r.jsonl"); }
  EXPECT_FALSE(fs::exists(folder / "r.jsonl"));
}

TEST(RecordWriter, IsTheOnlyOne) {
  const TemporaryFolder folder;
  const std::string path = folder / "r.jsonl";
  {
    RecordWriter writer(path);
    for (const OpenMode mode : {OpenMode::kResume, OpenMode::kOverwrite, OpenMode::kNew}) {
      EXPECT_NE(opening_problem(path, mode).find("r.jsonl: another lenbench is writing"), std::string::npos);
    }
    writer.append(recall_record());
  }
  EXPECT_EQ(RecordWriter(path).existing().size(), 1u);
}

TEST(RecordWriter, MovesATornTailAsideAtAnyByte) {
  const TemporaryFolder folder;
  const std::string path = folder / "r.jsonl";
  int torn = 0;
  for (std::size_t kept = 1; kept + 1 < kSecond.size(); kept += kept < 12 ? 1 : 199) {
    write_file_atomically(path, kFirst + kSecond.substr(0, kept));
    {
      RecordWriter writer(path);
      const std::string aside = path + ".torn-" + std::to_string(++torn);
      ASSERT_EQ(writer.existing(), std::vector<Record>{recall_record()});
      ASSERT_NE(writer.note().find(aside), std::string::npos) << writer.note();
      ASSERT_EQ(read_file(aside), kSecond.substr(0, kept));
      ASSERT_EQ(read_file(path), kFirst);
      writer.append(text_record());
    }
    ASSERT_EQ(read_file(path), kFirst + kSecond);
  }
}

TEST(RecordWriter, CompletesAWholeRecordThatLacksItsLineFeed) {
  const TemporaryFolder folder;
  const std::string path = folder / "r.jsonl";
  write_file_atomically(path, kFirst.substr(0, kFirst.size() - 1));
  RecordWriter writer(path);
  EXPECT_EQ(writer.existing(), std::vector<Record>{recall_record()});
  EXPECT_EQ(writer.note(), "");
  writer.append(text_record());
  EXPECT_EQ(read_file(path), kFirst + kSecond);
}

TEST(RecordWriter, TreatsZeroBytesAfterAPowerCutAsTorn) {
  const TemporaryFolder folder;
  const std::string path = folder / "r.jsonl";
  write_file_atomically(path, kFirst + std::string(100, '\0'));
  const RecordWriter writer(path);
  EXPECT_EQ(writer.existing().size(), 1u);
  EXPECT_EQ(read_file(path + ".torn-1"), std::string(100, '\0'));
}

TEST(RecordWriter, RefusesAFileThatHoldsSomethingElse) {
  const TemporaryFolder folder;
  const std::string path = folder / "thesis.tex";
  for (const std::string bytes : {"\\documentclass{article}\n", "no line feed", "{}\n", "\n", "{\"schema\":9}"}) {
    write_file_atomically(path, bytes);
    for (const OpenMode mode : {OpenMode::kResume, OpenMode::kOverwrite, OpenMode::kNew}) {
      EXPECT_NE(opening_problem(path, mode).find("thesis.tex"), std::string::npos);
      EXPECT_EQ(read_file(path), bytes);
    }
  }
}

TEST(RecordWriter, FindsUnusablePathsBeforeAnythingIsMeasured) {
  const TemporaryFolder folder;
  EXPECT_NE(opening_problem(folder.path()).find("is a folder"), std::string::npos);
  EXPECT_NE(opening_problem(folder / "").find("is a folder"), std::string::npos);
  EXPECT_NE(opening_problem("/dev/full").find("is not a regular file"), std::string::npos);
  EXPECT_NE(opening_problem("/proc/self/lenbench/r.jsonl").find("folder cannot be created"), std::string::npos);
  EXPECT_NE(opening_problem("/proc/self/lenbench.jsonl").find("cannot be opened for writing"), std::string::npos);
  opening_problem("");
  mkfifo((folder / "pipe").c_str(), 0600);
  opening_problem(folder / "pipe");
  if (geteuid() == 0) return;  // permissions do not bind root
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(opening_problem(folder / "r.jsonl").find("cannot be opened for writing"), std::string::npos);
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(RecordWriter, KeepsWholeRecordsWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const std::string path = folder / "r.jsonl";
  RecordWriter writer(path);
  writer.append(recall_record());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{kFirst.size() + 100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = error_of([&] { writer.append(text_record()); }, ExitCode::kNotMeasured);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("a record cannot be written"), std::string::npos);
  EXPECT_EQ(read_file(path), kFirst);
  writer.append(text_record());
  EXPECT_EQ(read_file(path), kFirst + kSecond);
}

TEST(RecordWriter, WritesNothingOfARecordWithANonFiniteNumber) {
  const TemporaryFolder folder;
  RecordWriter writer(folder / "r.jsonl");
  Record broken = recall_record();
  broken.measurement.seconds = std::numeric_limits<double>::infinity();
  error_of([&] { writer.append(broken); }, ExitCode::kNotMeasured);
  EXPECT_EQ(read_file(folder / "r.jsonl"), "");
}

TEST(RecordWriter, LosesNoRecordToKillMinusNine) {
  const TemporaryFolder folder;
  const std::string path = folder / "r.jsonl", said_path = folder / "said";
  write_file_atomically(said_path, "");
  std::size_t said = 0;
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RecordWriter writer(path);
      for (std::size_t done = writer.existing().size();; ++done) {
        Record record = recall_record();
        record.question.data_seed = done;
        writer.append(record);
        // What append() promised before the kill.
        if (truncate(said_path.c_str(), static_cast<off_t>(done + 1)) != 0) _exit(1);
      }
    }
    // A loaded machine may take long to start; the kill must hit a writer that writes.
    for (int waits = 0; waits < 30'000 && fs::file_size(said_path) == said; ++waits) usleep(1'000);
    usleep(2'000 + 3'000 * static_cast<useconds_t>(round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_GT(fs::file_size(said_path), said);
    said = fs::file_size(said_path);
    std::string note;
    const std::vector<Record> records = read_records(path, &note);
    ASSERT_GE(records.size(), said);
    for (std::size_t i = 0; i < records.size(); ++i) ASSERT_EQ(records[i].question.data_seed, i);
  }
}

}  // namespace
}  // namespace lenbench
