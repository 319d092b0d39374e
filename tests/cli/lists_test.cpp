// List flags: what the command line says replaces defaults, and a list never swallows the checkpoint (bug K1).
#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

// "task length samples" of each Cell of a dry run.
Words dry_cells(Words words) {
  words.emplace_back("--dry-run");
  const Outcome outcome = lenbench(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Words cells;
  const Words lines = lines_of(outcome.out);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::istringstream fields(lines[i]);
    std::string task, length, tokens, samples;
    fields >> task >> length >> tokens >> samples;
    cells.push_back(task + " " + length + " " + samples);
  }
  return cells;
}

TEST(Lists, LengthsBeforeTheCheckpointKeepIt) {
  EXPECT_EQ(dry_cells({"run", "--lengths", "64", "oracle", "--samples", "3"}), Words{"recall 64 3"});
  EXPECT_EQ(dry_cells({"run", "--tasks", "recall", "--lengths=64", "oracle", "--samples", "3"}), Words{"recall 64 3"});
}

TEST(Lists, CommasAndRepeatedFlagsMeanTheSame) {
  const Words both = {"recall 64 3", "recall 128 3"};
  EXPECT_EQ(dry_cells({"run", "oracle", "--samples", "3", "--lengths", "64,128"}), both);
  EXPECT_EQ(dry_cells({"run", "oracle", "--samples", "3", "--lengths", "64", "--lengths", "128"}), both);
  EXPECT_EQ(dry_cells({"run", "oracle", "--samples", "3", "--lengths", "64..128"}), both);
}

TEST(Lists, ParametersStayWithTheirTask) {
  // Cells with fewer tokens first: 76 are fed for recall with 4 queries, 90 for mqmtar.
  EXPECT_EQ(
      dry_cells({"run", "oracle", "--samples", "3", "--lengths", "64", "--tasks", "mqmtar,recall:density=4,queries=4"}),
      (Words{"recall 64 3", "mqmtar 64 3"}));
}

TEST(Lists, SamplesPerLengthAndAtSingleLengths) {
  EXPECT_EQ(dry_cells({"run", "oracle", "--lengths", "64,128,256", "--samples", "9,8,7"}),
            (Words{"recall 64 9", "recall 128 8", "recall 256 7"}));
  EXPECT_EQ(dry_cells({"run", "oracle", "--lengths", "64,128,256", "--samples", "9", "--samples-at", "128=2,256=1"}),
            (Words{"recall 64 9", "recall 128 2", "recall 256 1"}));
}

TEST(Lists, SeveralDocumentsAfterOneFlag) {
  const TempFolder folder;
  for (const char* name : {"a.txt", "b.txt"}) spill(folder.path(name), std::string(100, 'x'));
  const Words words = {
      "run", "uniform", "--lengths", "64", "--samples", "10", "--text", folder.path("a.txt"), folder.path("b.txt")};
  const Outcome outcome = lenbench(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("text"), std::string::npos);
}

}  // namespace
}  // namespace lenbench::cli_test
