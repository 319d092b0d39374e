// Tests of base/build_info.h and of the script that writes it.
#include "base/build_info.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "base/files.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

namespace fs = std::filesystem;

bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// The commit that the script finds for the folder `sources`.
std::string commit_of(const std::string& sources, const std::string& output) {
  const std::string command = std::string(LENBENCH_CMAKE) + " -DVERSION=1.2.3 '-DSOURCE_DIR=" + sources +
                              "' '-DOUTPUT=" + output + "' -P " + LENBENCH_BUILD_INFO_SCRIPT;
  EXPECT_TRUE(shell(command)) << command;
  const std::string text = read_file(output);
  EXPECT_NE(text.find("\"1.2.3\""), std::string::npos) << text;
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex("commit\\(\\) \\{ return \"([^\"]*)\"")));
  return found[1];
}

TEST(BuildInfo, NamesVersionAndCommit) {
  EXPECT_STREQ(version(), LENBENCH_PROJECT_VERSION);
  EXPECT_TRUE(std::regex_match(commit(), std::regex("unknown|[0-9a-f]{40}(-dirty)?"))) << commit();
}

TEST(BuildInfo, FollowsTheWorkTree) {
  if (!shell("git --version")) GTEST_SKIP() << "git is not installed";
  const TemporaryFolder folder;
  const std::string output = folder / "build_info.cpp", tree = folder / "tree";
  fs::create_directories(tree + "/sub");
  EXPECT_EQ(commit_of(tree, output), "unknown");

  const std::string git = "git -C " + tree + " -c user.name=n -c user.email=e@e ";
  ASSERT_TRUE(shell(git + "init"));
  EXPECT_EQ(commit_of(tree, output), "unknown") << "a repository without commits";
  write_file_atomically(tree + "/sub/file", "one");
  ASSERT_TRUE(shell(git + "add sub") && shell(git + "commit -m first") && shell(git + "tag -a -m t v1"));
  const std::string first = commit_of(tree, output);
  EXPECT_TRUE(std::regex_match(first, std::regex("[0-9a-f]{40}"))) << first;
  EXPECT_EQ(commit_of(tree + "/sub", folder / "other.cpp"), "unknown") << "a folder inside another repository";

  write_file_atomically(tree + "/sub/file", "two");
  EXPECT_EQ(commit_of(tree, output), first + "-dirty");
  ASSERT_TRUE(shell(git + "commit -a -m second"));
  EXPECT_NE(commit_of(tree, output).substr(0, 40), first);
}

TEST(BuildInfo, FileIsLeftAloneWhenNothingChanged) {
  const TemporaryFolder folder;
  const std::string output = folder / "build_info.cpp";
  commit_of(folder.path(), output);
  const auto long_ago = fs::last_write_time(output) - std::chrono::hours(24);
  fs::last_write_time(output, long_ago);
  commit_of(folder.path(), output);
  EXPECT_EQ(fs::last_write_time(output), long_ago);
}

}  // namespace
}  // namespace lenbench
