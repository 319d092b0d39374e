// `table` from Record files.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

class TableTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* model : {"oracle:64", "echo"}) {
      const Outcome outcome = lenbench({"run", model, "--tasks", "mqmtar", "--lengths", "64,128", "--samples", "10",
                                        "-o", folder_.path(std::string(model) + ".jsonl")});
      ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
  }
  std::vector<std::string> table(std::vector<std::string> more) const {
    std::vector<std::string> words = {"table", folder_.path("oracle:64.jsonl"), folder_.path("echo.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  TempFolder folder_;
};

TEST_F(TableTest, EveryFormatHasBothMethods) {
  for (const char* format : {"markdown", "csv", "json", "latex"}) {
    const Outcome outcome = lenbench(table({"--format", format}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("oracle:64"), std::string::npos) << format;
    EXPECT_NE(outcome.out.find("echo"), std::string::npos) << format;
  }
}

TEST_F(TableTest, PublishedRowsStandBesideMeasuredOnes) {
  const Outcome outcome = lenbench(table({"--paper", "mqmtar", "--metric", "exact"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("oracle:64"), std::string::npos);
  EXPECT_NE(outcome.out.find("(paper"), std::string::npos) << outcome.out;
  EXPECT_TRUE(refused(lenbench(table({"--paper", "mqmtarr"})), 2, "did you mean"));
}

TEST_F(TableTest, PublishedTableAlone) {
  const Outcome outcome = lenbench({"table", "--paper", "paper-1-mqmtar"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GE(lines_of(outcome.out).size(), 5u);
}

TEST_F(TableTest, WritesTheFileGiven) {
  const std::string path = folder_.path("sub/table.csv");
  const Outcome outcome = lenbench(table({"--format", "csv", "-o", path}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_EQ(slurp(path), lenbench(table({"--format", "csv"})).out);
  EXPECT_EQ(lenbench(table({"-o", "/proc/table.csv"})).code, 3);
}

TEST_F(TableTest, MetricsAndAggregatesAreChecked) {
  EXPECT_TRUE(refused(lenbench(table({"--metric", "acuracy"})), 2, "acuracy"));
  EXPECT_TRUE(refused(lenbench(table({"--aggregate", "avg"})), 2, "avg"));
  EXPECT_TRUE(refused(lenbench(table({"--rows-by", "colour"})), 2, "--rows-by"));
  EXPECT_EQ(lenbench(table({"--metric", "exact,token", "--aggregate", "max"})).code, 0);
}

TEST_F(TableTest, SomethingElseThanRecordsIsRefusedWithItsLine) {
  spill(folder_.path("bad.jsonl"), slurp(folder_.path("echo.jsonl")) + "{\"schema\": 1}\n");
  EXPECT_TRUE(refused(lenbench({"table", folder_.path("bad.jsonl")}), 2, "bad.jsonl:3"));
  spill(folder_.path("empty.jsonl"), "");
  EXPECT_TRUE(refused(lenbench({"table", folder_.path("empty.jsonl")}), 2, "empty.jsonl"));
}

}  // namespace
}  // namespace lenbench::cli_test
