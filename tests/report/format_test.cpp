// Texts written by hand, hostile names, and machine formats read back.
#include "report/format.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/base/german_locale.h"
#include "tests/report/records.h"

namespace lenbench {
namespace {

using ::testing::HasSubstr;

std::vector<Grid> small_grids() {
  std::vector<Record> records = {all("asentmax", 64), half("asentmax", 128), none("softmax", 64),
                                 failed_record("softmax", 128, "out of memory: batch 1")};
  for (Record& record : records) record.subject.train_length = 64;
  GridRequest request;
  request.mark_best = false;
  return build_grids(records, request);
}

const char* const kMarkdown =
    "### recall:density=8,keys=256 - exact match, percent\n"
    "\n"
    "1 run; data seed 0; n = 100 samples; test split; intervals: 95 % Wilson; inspired: none.\n"
    "\n"
    "| model    | trained at |                  64 |               128 |\n"
    "| -------- | ---------: | ------------------: | ----------------: |\n"
    "| asentmax |         64 | 100.0 [96.3, 100.0] | 50.0 [40.4, 59.6] |\n"
    "| softmax  |         64 |      0.0 [0.0, 3.7] |             - (1) |\n"
    "\n"
    "(1) failed: out of memory: batch 1\n";

const char* const kCsv =
    "task,parameters,task_version,split,metric,probe_rows,documents,row,kind,source,remark,train_length,column,length,"
    "length_note,value,low,high,best,n,aggregate,repeats,data_seeds,checkpoints,reason\n"
    "recall,\"density=8,keys=256\",1,test,exact,,,asentmax,measured,,,64,64,64,,1,0.963,1,,100,mean,1,0,1,\n"
    "recall,\"density=8,keys=256\",1,test,exact,,,asentmax,measured,,,64,128,128,,0.5,0.4038,0.5962,,100,mean,1,0,1,\n"
    "recall,\"density=8,keys=256\",1,test,exact,,,softmax,measured,,,64,64,64,,0,0,0.037,,100,mean,1,0,1,\n"
    "recall,\"density=8,keys=256\",1,test,exact,,,softmax,measured,,,64,128,128,,,,,,,mean,,,,failed: out of memory: "
    "batch 1\n";

const char* const kLatex =
    "% needs \\usepackage{booktabs,xcolor}\n"
    "\\begin{table}\n"
    "\\caption{recall:density=8,keys=256 - exact match, percent. 1 run; data seed 0; n = 100 samples; "
    "test split; intervals: 95 \\% Wilson; inspired: none. (1) failed: out of memory: batch 1.}\n"
    "\\begin{tabular}{lrrr}\n"
    "\\toprule\n"
    "model & trained at & 64 & 128 \\\\\n"
    "\\midrule\n"
    "asentmax & 64 & 100.0 {[}96.3, 100.0] & 50.0 {[}40.4, 59.6] \\\\\n"
    "softmax & 64 & 0.0 {[}0.0, 3.7] & - (1) \\\\\n"
    "\\bottomrule\n"
    "\\end{tabular}\n"
    "\\end{table}\n";

TEST(Format, GoldenTexts) {
  EXPECT_EQ(render("markdown", small_grids()), kMarkdown);
  EXPECT_EQ(render("csv", small_grids()), kCsv);
  EXPECT_EQ(render("latex", small_grids()), kLatex);
}

TEST(Format, TheSameBytesInAGermanLocale) {
  const std::string json = render("json", small_grids());
  const GermanLocale german;
  EXPECT_EQ(render("markdown", small_grids()), kMarkdown);
  EXPECT_EQ(render("csv", small_grids()), kCsv);
  EXPECT_EQ(render("latex", small_grids()), kLatex);
  EXPECT_EQ(render("json", small_grids()), json);
}

TEST(Format, JsonHoldsEveryCellWithNullsAndReasons) {
  const nlohmann::ordered_json json = parse_json(render("json", small_grids()), "table");
  EXPECT_EQ(json["format"], "lenbench-table");
  const auto& grid = json["grids"][0];
  EXPECT_EQ(grid["metric"], "exact");
  EXPECT_EQ(grid["aggregate"], "mean");
  const auto& measured = grid["rows"][0]["cells"][1];
  EXPECT_EQ(measured["length"], 128);
  EXPECT_EQ(measured["value"], 0.5);
  EXPECT_EQ(measured["low"], 0.4038);
  EXPECT_EQ(measured["n"], 100);
  EXPECT_EQ(measured["aggregate"], "mean");
  EXPECT_EQ(measured["data_seeds"], nlohmann::ordered_json::array({0}));
  EXPECT_EQ(measured["reason"], "");
  const auto& gap = grid["rows"][1]["cells"][1];
  EXPECT_TRUE(gap["value"].is_null());
  EXPECT_TRUE(gap["low"].is_null());
  EXPECT_EQ(gap["reason"], "failed: out of memory: batch 1");
}

TEST(Format, ZeroOfTwentyFiveHasAnIntervalWithWidth) {
  Record record = record_of("m", 64);
  record.measurement.exact = proportion_of(0, 25, 0, 0.1332);
  EXPECT_THAT(render("markdown", build_grids({record})), HasSubstr("| 0.0 [0.0, 13.3] |"));
}

// Column separators of a line: every '|' that no backslash escapes.
int separators(const std::string& line) {
  int count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '|') {
      ++count;
    }
  }
  return count;
}

TEST(Format, MarkdownHasOneLineForEachRowWhateverTheName) {
  std::vector<Record> records;
  for (const char* name :
       {"plain", "a|b", "a\nb", "`code`", "a\\|b", "\\", "tab\tend", "<b>", "a\rb", "\xE2\x80\xA8"}) {
    records.push_back(half(name, 64));
  }
  const std::string text = render("markdown", build_grids(records));
  const std::size_t begin = text.find("| model");
  ASSERT_NE(begin, std::string::npos);
  int rows = 0;
  std::string line;
  for (const char c : text.substr(begin)) {
    if (c != '\n') {
      line += c;
      continue;
    }
    EXPECT_EQ(separators(line), 3) << line;
    EXPECT_EQ(line.find('`') == std::string::npos, line.find("\\`") == std::string::npos) << line;
    line.clear();
    ++rows;
  }
  EXPECT_EQ(rows, 2 + 10);
  EXPECT_THAT(text, HasSubstr("| a\\|b"));
  EXPECT_THAT(text, HasSubstr("| a\\\\nb"));
}

// Fields of RFC 4180 text, line by line; quoted fields may hold line feeds.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = lines.back().back();
    if (quoted) {
      if (text[i] != '"') {
        field += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == ',') {
      lines.back().emplace_back();
    } else if (text[i] == '\n') {
      lines.emplace_back(1);
    } else {
      field += text[i];
    }
  }
  lines.pop_back();
  return lines;
}

TEST(Format, CsvHasTheSameFieldsForEveryTask) {
  Record record = perplexity_record("m", 64, 3.25);
  const std::string hostile = "a,\"b\"\nc";
  const auto lines = parse_csv(render("csv", build_grids({half(hostile, 64), record})));
  ASSERT_EQ(lines.size(), 3U);
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines[0].size());
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(lines[0].begin(), lines[0].end(), name) - lines[0].begin());
  };
  EXPECT_EQ(lines[1][column("row")], hostile);
  EXPECT_EQ(lines[2][column("metric")], "perplexity");
  EXPECT_EQ(lines[2][column("value")], "3.25");
  EXPECT_EQ(lines[2][column("low")], "");
}

TEST(Format, LatexEscapes) {
  const std::string text = render("latex", build_grids({half("a_b & 50% {x} #1 $ ~ ^ \\", 64)}));
  EXPECT_THAT(text, HasSubstr("a\\_b \\& 50\\% \\{x\\} \\#1 \\$ \\textasciitilde{} \\textasciicircum{} "
                              "\\textbackslash{} & 50.0"));
}

TEST(Format, CaptionNamesSeedsAggregateAndCounts) {
  GridRequest request;
  request.aggregate = Aggregate::kMax;
  std::vector<Record> records = {half("m", 64, 1), all("m", 64, 2), half("m", 128, 1), all("m", 128, 2)};
  records[0].subject.checkpoint_sha256 = records[2].subject.checkpoint_sha256 = "aa";
  records[1].subject.checkpoint_sha256 = records[3].subject.checkpoint_sha256 = "bb";
  records[2].samples_requested = records[2].measurement.samples = 50;
  records[2].measurement.exact = proportion_of(25, 50, 0.3664, 0.6336);
  EXPECT_THAT(render("markdown", build_grids(records, request)),
              HasSubstr("max of up to 2 runs a cell; data seeds 1, 2, up to 2 checkpoints; n = 200 at 64, 150 at 128 "
                        "samples; test split; inspired: none."));
}

TEST(Format, NoRecordsAndUnknownFormats) {
  EXPECT_EQ(render("markdown", {}), "no records\n");
  EXPECT_EQ(parse_csv(render("csv", {})).size(), 1U);
  EXPECT_EQ(parse_json(render("json", {}), "table")["grids"].size(), 0U);
  EXPECT_THAT(error_of([] { render("markdwn", {}); }), HasSubstr("did you mean 'markdown'?"));
  EXPECT_EQ(format_names().size(), format_summaries().size());
}

}  // namespace
}  // namespace lenbench
