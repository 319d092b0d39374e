// `table` from Record files.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/many_records.h"
#include "cli/program.h"
#include "tests/base/sanitized.h"

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
    return with({"table", folder_.path("oracle:64.jsonl"), folder_.path("echo.jsonl")}, more);
  }
  TempFolder folder_;
};

TEST_F(TableTest, EveryFormatHasBothMethods) {
  for (const char* format : {"markdown", "csv", "json", "latex", "html"}) {
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

TEST_F(TableTest, FitsADegradationCurve) {
  const std::string path = folder_.path("fall.jsonl");
  ASSERT_EQ(lenbench({"run", "oracle:256", "--lengths", "64..1024", "--samples", "20", "-o", path}).code, 0);
  const Outcome outcome = lenbench({"table", path, "--fit"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(" L85 |"), std::string::npos) << outcome.out;
  EXPECT_TRUE(refused(lenbench({"table", path, "--fit", "--columns", "model"}), 2, "--fit"));
  EXPECT_TRUE(refused(lenbench({"table", path, "--fit", "--metric", "perplexity"}), 2, "accuracy"));
}

TEST_F(TableTest, ColumnsAndIntervalsOnDemand) {
  const Outcome outcome = lenbench(table({"--columns", "model", "--metric", "exact", "--interval", "none"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("| length 64 "), std::string::npos);
  EXPECT_EQ(outcome.out.find("["), std::string::npos);
  EXPECT_TRUE(refused(lenbench(table({"--columns", "colour"})), 2, "--columns"));
  EXPECT_TRUE(refused(lenbench(table({"--interval", "wilsn"})), 2, "did you mean 'wilson'"));
}

// 20,000 Records with outcomes and heads, 40 MB as JSON: a table keeps a few hundred bytes of each.
TEST_F(TableTest, MemoryDoesNotGrowWithWhatARecordHolds) {
  LENBENCH_SKIP_IF_SANITIZED();
  const std::string path = folder_.path("many.jsonl");
  const std::size_t bytes = write_many_records(path, 20'000);
  EXPECT_GT(bytes, 40'000'000U);
  const Outcome small = lenbench(table({}));
  const Outcome outcome = lenbench({"table", path, "--format", "csv", "-o", folder_.path("many.csv")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(outcome.peak_kib - small.peak_kib, 16'000) << small.peak_kib;
  EXPECT_EQ(lines_of(slurp(folder_.path("many.csv"))).size(), 20'001U);
}

}  // namespace
}  // namespace lenbench::cli_test
