// `plot` as a user runs it, up to the renderer.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

class PlotTest : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome outcome = lenbench(
        {"run", "oracle:64", "--tasks", "recall,niah-ids", "--lengths", "64,128", "--samples", "10", "-o", records_});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  TempFolder folder_;
  const std::string records_ = folder_.path("r.jsonl");
};

TEST_F(PlotTest, WritesVegaLiteToStandardOutputOrAFile) {
  const Outcome outcome = lenbench({"plot", "accuracy", records_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["concat"].size(), 2U);
  const std::string path = folder_.path("sub/a.vl.json");
  EXPECT_EQ(lenbench({"plot", "accuracy", records_, "-o", path}).code, 0);
  EXPECT_EQ(slurp(path), outcome.out);
}

TEST_F(PlotTest, DepthIsDrawnFromTheSamplesAddresses) {
  const Outcome outcome = lenbench({"plot", "depth", records_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["concat"].size(), 1U);
  double samples = 0;
  for (const auto& cell : json["concat"][0]["data"]["values"]) {
    samples += cell["n"].get<double>();
    if (!cell["value"].is_null()) {
      EXPECT_EQ(cell["value"], cell["length"] == 64 ? 100 : 0);
    }
  }
  EXPECT_EQ(samples, 20);
}

TEST_F(PlotTest, WhatCannotBeDrawnIsRefusedInOneLine) {
  EXPECT_TRUE(refused(lenbench({"plot", "acuracy", records_}), 2, "did you mean 'accuracy'"));
  EXPECT_TRUE(refused(lenbench({"plot", "perplexity", records_}), 2, "no perplexity was measured"));
  EXPECT_TRUE(refused(lenbench({"plot", "heads", records_}), 2, "--probe"));
  EXPECT_TRUE(refused(lenbench({"plot", "accuracy", records_, "-o", folder_.path("a.gif")}), 2, ".svg"));
  EXPECT_TRUE(refused(lenbench({"plot", "accuracy"}), 2, "Record files"));
  EXPECT_TRUE(refused(lenbench({"plot", "heads", records_, "--statistic", "entropi"}), 2, "did you mean 'entropy'"));
}

TEST_F(PlotTest, AnyRecordedFactIsAnAxis) {
  const Outcome outcome = lenbench({"plot", "accuracy", records_, "--x", "pairs"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  for (const auto& panel : json["concat"]) {
    EXPECT_EQ(panel["layer"].back()["encoding"]["x"]["title"], "pairs in the context");
  }
  // What the table's Records say of the first cell.
  const nlohmann::json record = nlohmann::json::parse(lines_of(slurp(records_)).front());
  EXPECT_EQ(json["concat"][0]["data"]["values"][0]["x"], record["measurement"]["facts"]["pairs"]["mean"]);
  EXPECT_EQ(lenbench({"plot", "accuracy", records_, "--x", "effective"}).code, 0);
  EXPECT_TRUE(refused(lenbench({"plot", "accuracy", records_, "--x", "distanc"}), 2, "did you mean 'distance'"));
}

TEST_F(PlotTest, FlagsThatWouldChangeNothingAreRefused) {
  EXPECT_TRUE(refused(lenbench({"plot", "accuracy", records_, "--statistic", "sink"}), 2, "changes nothing"));
  EXPECT_TRUE(refused(lenbench({"plot", "accuracy", records_, "--by-outcome"}), 2, "changes nothing"));
  EXPECT_TRUE(refused(lenbench({"plot", "heads", records_, "--x", "pairs"}), 2, "changes nothing"));
  EXPECT_TRUE(refused(lenbench({"plot", "heads", records_, "--statistic", "cosine"}), 2, "representations alone"));
}

TEST_F(PlotTest, TrainingIsDrawnFromLogsBesideCheckpoints) {
  const Outcome outcome = lenbench({"plot", "training", "recall-softmax-nape", "recall-asentmax-nape"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  ASSERT_GE(json["concat"].size(), 3U);
  const auto& points = json["concat"][0]["data"]["values"];
  ASSERT_GT(points.size(), 20U);
  EXPECT_EQ(points[0]["line"], "recall-softmax-nape");
  EXPECT_EQ(points[0]["place"], "step 1");
  EXPECT_TRUE(refused(lenbench({"plot", "training,accuracy", records_}), 2, "draw it alone"));
  EXPECT_TRUE(refused(lenbench({"plot", "training", "recall-softmax-nape", "--x", "pairs"}), 2, "changes nothing"));
  EXPECT_TRUE(refused(lenbench({"plot", "training", records_}), 2, "opens with the event 'start'"));
  EXPECT_TRUE(refused(lenbench({"plot", "training", folder_.path("")}), 2, "has no train_log.jsonl"));
}

TEST_F(PlotTest, AMissingRendererIsNamedWithWhatToInstall) {
  Surroundings none;
  none.environment["LENBENCH_PYTHON"] = folder_.path("no-python");
  const std::string path = folder_.path("a.svg");
  EXPECT_TRUE(refused(lenbench({"plot", "accuracy", records_, "-o", path}, none), 3, "tools/setup.sh --figures"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace lenbench::cli_test
