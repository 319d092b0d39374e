// `report` as a user runs it, and the progress of `run`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* model : {"oracle:64", "blind"}) {
      const Outcome outcome = lenbench(
          {"run", model, "--tasks", "recall", "--lengths", "64,128,256", "--samples", "10", "-o", file(model)});
      ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
  }
  std::string file(const std::string& model) const { return folder_.path(model + ".jsonl"); }
  TempFolder folder_;
};

TEST_F(ReportTest, HoldsTheTablesValuesAndRealSamples) {
  const std::string path = folder_.path("report.html");
  const Outcome outcome =
      lenbench({"report", file("oracle:64"), file("blind"), "--title", "a <b>title</b>", "-o", path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = slurp(path);
  EXPECT_NE(page.find("<title>a &lt;b&gt;title&lt;/b&gt;</title>"), std::string::npos);
  const nlohmann::json table =
      nlohmann::json::parse(lenbench({"table", file("oracle:64"), file("blind"), "--format", "json"}).out);
  for (const auto& row : table["grids"][0]["rows"]) {
    for (const auto& cell : row["cells"]) {
      char text[32];
      std::snprintf(text, sizeof text, "<td>%s%.1f%s", cell["best"].get<bool>() ? "<strong>" : "",
                    100 * cell["value"].get<double>(), cell["best"].get<bool>() ? "</strong>" : "");
      EXPECT_NE(page.find(text), std::string::npos) << row["name"] << " " << text;
    }
  }
  // A sample as `show` draws it.
  const nlohmann::json sample = nlohmann::json::parse(lenbench({"show", "recall:128:0", "--json"}).out);
  std::string target;
  for (const auto& row : sample["scored"]) target += (target.empty() ? "" : " ") + row["target"].dump();
  EXPECT_NE(page.find("<code>recall:128:0</code>"), std::string::npos);
  EXPECT_NE(page.find(target), std::string::npos) << target;
  EXPECT_NE(page.find("oracle:64: wrong"), std::string::npos);
}

TEST_F(ReportTest, TheSameBytesAgainAndErrorsInOneLine) {
  const std::string first = folder_.path("1.html"), second = folder_.path("2.html");
  EXPECT_EQ(lenbench({"report", file("blind"), "-o", first}).code, 0);
  EXPECT_EQ(lenbench({"report", file("blind"), "-o", second}).code, 0);
  EXPECT_EQ(slurp(first), slurp(second));
  EXPECT_TRUE(refused(lenbench({"report", "-o", first}), 2, "Record files"));
  EXPECT_TRUE(refused(lenbench({"report", file("blind"), "-o", "/proc/r.html"}), 3, "/proc/r.html"));
}

TEST(Progress, QuietSaysNothingAndJsonSaysEachCell) {
  const std::vector<std::string> run = {"run", "oracle", "--tasks", "recall", "--lengths", "64,128", "--samples", "10"};
  auto with = [&](const char* flag) {
    std::vector<std::string> words = run;
    words.emplace_back(flag);
    return lenbench(words);
  };
  EXPECT_EQ(with("--quiet").err, "");
  std::size_t cells = 0, states = 0;
  for (const std::string& line : lines_of(with("--json-progress").err)) {
    if (!line.starts_with("{")) continue;  // the note on -o
    const nlohmann::json json = nlohmann::json::parse(line);
    cells += json["event"] == "cell" ? 1 : 0;
    states += json["event"] == "progress" ? 1 : 0;
    if (json["event"] == "cell") {
      EXPECT_EQ(json["exact"], 1);
    }
    if (json["event"] == "progress" && json["cells_done"] == 2) {
      EXPECT_EQ(json["samples_done"], 20);
      EXPECT_GT(json["tokens_per_second"], 0);
    }
  }
  EXPECT_EQ(cells, 2U);
  EXPECT_GE(states, 1U);
  std::vector<std::string> both = run;
  both.insert(both.end(), {"--quiet", "--json-progress"});
  EXPECT_TRUE(refused(lenbench(both), 2, "exclude each other"));
}

}  // namespace
}  // namespace lenbench::cli_test
