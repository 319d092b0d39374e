// Tests of base/files.h.
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Files, RoundTripBytesUnderAnyName) {
  const TemporaryFolder folder;
  const std::string bytes("a\0\n\r\n\xFF", 6);
  for (const std::string name : {"plain", "模型 é å", "caf\xE9", "with\nline"}) {
    write_file_atomically(folder / name, bytes);
    EXPECT_EQ(read_file(folder / name), bytes);
  }
  write_file_atomically(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "empty"), "");
}

TEST(ReadFile, SaysWhyNot) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { read_file(folder / "no\nne"); }), printable(folder / "no\nne") + ": no such file");
  EXPECT_NE(error_of([&] { read_file(folder.path()); }).find("is a folder"), std::string::npos);
}

TEST(ReadFile, ReadsFilesThatStateNoSize) {
  // Files of /proc claim size 0.
  EXPECT_NE(read_file("/proc/self/status").find("VmHWM"), std::string::npos);
}

TEST(WriteFileAtomically, ReplacesAndLeavesNothingElse) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "old");
  chmod((folder / "f").c_str(), 0640);
  write_file_atomically(folder / "f", "new");
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(fs::status(folder / "f").permissions(), fs::perms(0640));
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(WriteFileAtomically, FollowsLinks) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "sub");
  write_file_atomically(folder / "sub/target", "old");
  fs::create_symlink("sub/target", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "sub/target"), "new");
}

TEST(WriteFileAtomically, RefusesImpossiblePlaces) {
  const TemporaryFolder folder;
  error_of([&] { write_file_atomically(folder / "missing/f", "x"); }, ExitCode::kNotMeasured);
  error_of([&] { write_file_atomically(folder.path(), "x"); }, ExitCode::kNotMeasured);
  // Not writable even for root, unlike a folder without permission.
  error_of([] { write_file_atomically("/proc/self/lenbench", "x"); }, ExitCode::kNotMeasured);
  error_of([] { write_file_atomically("", "x"); }, ExitCode::kNotMeasured);
  fs::create_symlink("loop", folder / "loop");
  error_of([&] { write_file_atomically(folder / "loop", "x"); }, ExitCode::kNotMeasured);
}

TEST(WriteFileAtomically, KeepsTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message =
      error_of([&] { write_file_atomically(folder / "f", std::string(5000, 'x')); }, ExitCode::kNotMeasured);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("cannot be written"), std::string::npos);
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(CreateParentFolders, CreatesAllOrSaysWhyNot) {
  const TemporaryFolder folder;
  create_parent_folders(folder / "a/b/c.json");
  EXPECT_TRUE(fs::is_directory(folder / "a/b"));
  EXPECT_FALSE(fs::exists(folder / "a/b/c.json"));
  create_parent_folders("c.json");
  write_file_atomically(folder / "file", "");
  EXPECT_NE(error_of([&] { create_parent_folders(folder / "file/x/y"); }).find("folder cannot be created"),
            std::string::npos);
}

}  // namespace
}  // namespace lenbench
