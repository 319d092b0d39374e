// Figures against the Records they are drawn from, and their Vega-Lite and SVG.
#include "report/figures.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "report/degradation.h"
#include "report/svg.h"
#include "report/vega.h"
#include "tests/report/golden_grids.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Record probed(const std::string& name, std::int64_t length, const std::string& rows, double entropy) {
  Record record = half(name, length);
  record.subject.transform = "softmax";
  record.measurement.probe_rows = rows;
  record.measurement.heads = {{0, 0, true, 10, 0, entropy / 2, 4, 0.5, 0.1},
                              {0, 1, false, 10, 0, entropy, 10, 0.1, 0.2},
                              {1, 1, false, 10, 0, std::nullopt, 30, 0.2, 0.3}};
  return record;
}

TEST(Figures, AccuracyHasTheValuesAndIntervalsOfTheTable) {
  const Figure figure = accuracy_figure(golden_records(), {});
  ASSERT_EQ(figure.lines.size(), 1U);
  const LinePanel& panel = figure.lines[0];
  EXPECT_TRUE(panel.axis.is_length);
  EXPECT_EQ(panel.value_title, "exact match, percent");
  EXPECT_THAT(panel.train_lengths, ElementsAre(64));
  const Grid grid = build_grids(golden_records())[0];
  std::size_t line = 0;
  for (const GridRow& row : grid.rows) {
    if (row.name == "empty") continue;  // nothing to draw
    ASSERT_LT(line, panel.lines.size());
    EXPECT_EQ(panel.lines[line].name, row.name);
    std::size_t point = 0;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!row.cells[i].value) continue;
      EXPECT_EQ(panel.lines[line].points[point].length, grid.columns[i].length);
      EXPECT_DOUBLE_EQ(panel.lines[line].points[point].value, 100 * *row.cells[i].value);
      if (row.cells[i].low) {
        EXPECT_DOUBLE_EQ(*panel.lines[line].points[point].low, 100 * *row.cells[i].low);
      }
      ++point;
    }
    EXPECT_EQ(panel.lines[line++].points.size(), point);
  }
  EXPECT_EQ(line, panel.lines.size());
}

TEST(Figures, AnswerRowsAndOtherRowsNeverShareAFigure) {
  const std::vector<Figure> figures = dispersion_figures(
      {probed("a", 64, "answer", 0.5), probed("a", 128, "answer", 0.6), probed("b", 64, "all", 0.9)}, {});
  ASSERT_EQ(figures.size(), 2U);
  for (const Figure& figure : figures) {
    std::set<std::string> names;
    for (const LinePanel& panel : figure.lines) {
      for (const ChartLine& line : panel.lines) names.insert(line.name);
    }
    const bool answers = figure.title.find("answer rows") != std::string::npos;
    EXPECT_THAT(names, ElementsAre(answers ? "a" : "b"));
  }
}

TEST(Figures, DispersionHasAPanelForEachLayerAndGroupThatSawTwoKeys) {
  const std::vector<Figure> figures = dispersion_figures({probed("a", 64, "answer", 0.5)}, {});
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].lines.size(), 2U);  // layer 1 has no entropy
  EXPECT_EQ(figures[0].lines[0].title, "layer 0, heads without positions");
  EXPECT_EQ(figures[0].lines[0].lines[0].points[0].value, 0.5);
  EXPECT_EQ(figures[0].lines[1].lines[0].points[0].value, 0.25);
}

TEST(Figures, RightAndWrongAnswersAreLinesOfOnePanel) {
  Record record = probed("a", 64, "answer", 0.5);
  record.measurement.heads_right = {{0, 1, false, 10, 0, 0.2, 10, 0.1, 0.2}};
  record.measurement.heads_wrong = {{0, 1, false, 10, 0, 0.8, 10, 0.1, 0.2}};
  FigureRequest request;
  request.by_outcome = true;
  const std::vector<Figure> figures = dispersion_figures({record}, request);
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].lines.size(), 1U);
  const LinePanel& panel = figures[0].lines[0];
  ASSERT_EQ(panel.lines.size(), 2U);
  EXPECT_EQ(panel.lines[0].name, "a, right");
  EXPECT_EQ(panel.lines[0].points[0].value, 0.2);
  EXPECT_EQ(panel.lines[1].points[0].value, 0.8);
  const std::vector<NamedStyle> styles = line_styles(figures[0]);
  EXPECT_STREQ(styles[0].style.colour, styles[1].style.colour);
  EXPECT_NE(styles[0].style.dash, styles[1].style.dash);
}

TEST(Figures, HeadsByLengthWithGapsWhereAModelHasNone) {
  FigureRequest request;
  request.statistic = "support";
  Record fewer = probed("a", 256, "answer", 0.6);
  fewer.measurement.heads.pop_back();
  // A Record that was not probed has no column.
  const std::vector<Figure> figures =
      head_figures({probed("a", 64, "answer", 0.5), probed("a", 128, "answer", 0.6), fewer, half("a", 512)}, request);
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].heats.size(), 1U);
  const HeatPanel& panel = figures[0].heats[0];
  EXPECT_THAT(panel.rows, ElementsAre("layer 0 head 0, positional", "layer 0 head 1", "layer 1 head 1"));
  EXPECT_THAT(panel.lengths, ElementsAre(64, 128, 256));
  EXPECT_EQ(panel.values[3], 10);
  EXPECT_TRUE(panel.values[7]);
  EXPECT_FALSE(panel.values[8]);
  EXPECT_EQ(panel.high, 30);
  EXPECT_EQ(panel.low, 1);
  EXPECT_TRUE(panel.log_colour);
}

TEST(Figures, DepthCountsTheSamplesOfEachBand) {
  std::vector<Record> records = {counted("a", 64, "1101"), counted("a", 128, "0000")};
  const Depths depths = {{&records[0], {0, 9.9, 10, 100}}, {&records[1], {50, 50, 50, 99}}};
  const std::vector<Figure> figures = depth_figures(records, depths, {});
  ASSERT_EQ(figures.size(), 1U);
  const HeatPanel& panel = figures[0].heats.at(0);
  const auto value = [&](const char* row, std::size_t column) {
    const auto place = std::find(panel.rows.begin(), panel.rows.end(), row) - panel.rows.begin();
    return panel.values.at(static_cast<std::size_t>(place) * 2 + column);
  };
  EXPECT_EQ(value("0-10", 0), 100);
  EXPECT_EQ(value("10-20", 0), 0);
  EXPECT_EQ(value("90-100", 0), 100);
  EXPECT_EQ(value("50-60", 1), 0);
  EXPECT_FALSE(value("0-10", 1));
}

// The catalogue of transforms is data that any room may read.
TEST(Figures, EveryTransformHasALookOfItsOwn) {
  const char* const names[] = {
#define LENBENCH_TRANSFORM(name, ...) name,
#include "attention/transforms.def"
#undef LENBENCH_TRANSFORM
      "entmax(alpha=2)"};
  std::set<std::string> looks;
  for (const char* name : names) {
    const LineStyle style = style_of(name);
    EXPECT_STRNE(style.colour, style_of("none such").colour) << name;
    looks.insert(std::string(style.colour) + style.shape);
  }
  EXPECT_EQ(looks.size(), std::size(names));
  EXPECT_STREQ(style_of("ssmax(x=1)").colour, style_of("ssmax").colour);
}

TEST(Vega, LogAxisOfBaseTwoWithBandsRulesAndFixedColours) {
  std::vector<Record> records = golden_records();
  const nlohmann::ordered_json json = parse_json(vega_lite(std::vector{accuracy_figure(records, {})}), "vega");
  EXPECT_EQ(json["$schema"], "https://vega.github.io/schema/vega-lite/v5.json");
  const auto& panel = json["concat"][0];
  const auto& layers = panel["layer"];
  EXPECT_EQ(layers[0]["mark"]["type"], "rule");
  EXPECT_EQ(layers[0]["data"]["values"][0]["x"], 64);
  EXPECT_EQ(layers[1]["mark"]["type"], "area");
  for (const auto& layer : layers) {
    EXPECT_EQ(layer["encoding"]["x"]["scale"]["type"], "log");
    EXPECT_EQ(layer["encoding"]["x"]["scale"]["base"], 2);
  }
  const auto& colour = layers.back()["encoding"]["color"]["scale"];
  const auto place = std::find(colour["domain"].begin(), colour["domain"].end(), kHostile) - colour["domain"].begin();
  EXPECT_EQ(colour["range"][static_cast<std::size_t>(place)], "#000000");  // softmax
  EXPECT_EQ(panel["data"]["values"][0]["high"], 100);
  EXPECT_THAT(error_of([] { vega_lite(std::vector<Figure>{Figure{}}); }), HasSubstr("nothing to draw"));
}

// Each opened element is closed, in order; void elements and self-closed ones aside.
std::string first_unbalanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return html.substr(at, 40);
    const std::string tag = html.substr(at + 1, end - at - 1);
    if (tag[0] == '!' || tag.back() == '/') continue;
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" \n") - (tag[0] == '/' ? 1 : 0));
    if (name == "meta") continue;
    if (tag[0] != '/') {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return html.substr(at, 40);
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(Svg, EveryPointIsAMarkWithItsValues) {
  const Figure figure = accuracy_figure(golden_records(), {});
  const std::string html = html_figure(figure, "f");
  EXPECT_EQ(first_unbalanced(html), "");
  std::size_t points = 0, marks = 0;
  for (const ChartLine& line : figure.lines[0].lines) points += line.points.size();
  for (std::size_t at = html.find("<g class=\"mark\"><title>"); at != std::string::npos;
       at = html.find("<g class=\"mark\"><title>", at + 1)) {
    ++marks;
  }
  EXPECT_EQ(marks, points);
  EXPECT_THAT(html, HasSubstr("<title>\xCE\xB1-entmax \xC3\xA9 at 256: 75 [59.81, 85.81], 40 samples</title>"));
  EXPECT_THAT(html, HasSubstr("role=\"img\""));
}

TEST(Degradation, LandmarksOfAFallAndReasonsWhereThereIsNone) {
  std::vector<Record> records;
  const int right[] = {100, 100, 98, 50, 2, 0};
  for (int i = 0; i < 6; ++i) {
    const auto n = static_cast<std::size_t>(right[i]);
    records.push_back(counted("falls", 64 << i, std::string(n, '1') + std::string(100 - n, '0')));
    records.push_back(counted("stays", 64 << i, std::string(100, '1')));
    const std::size_t dip = i == 2 ? 60 : 100;
    records.push_back(counted("hole", 64 << i, std::string(dip, '1') + std::string(100 - dip, '0')));
  }
  const Grid grid = degradation_grid(build_grids(records)[0]);
  ASSERT_EQ(grid.rows.size(), 3U);
  const GridCell& l50 = grid.rows[0].cells[1];
  EXPECT_NEAR(*l50.value, 512, 30);
  EXPECT_LT(*l50.low, 512);
  EXPECT_GT(*l50.high, 512);
  EXPECT_NEAR(*grid.rows[0].cells[2].value, *l50.value / 64, 1e-9);
  EXPECT_THAT(grid.rows[1].cells[1].reason, HasSubstr("above 50 % at 2048, the longest length measured"));
  EXPECT_LT(*grid.rows[1].cells[3].low, 100);  // all right, and still an interval
  EXPECT_THAT(grid.rows[2].remark, HasSubstr("hole at 256: worse than at"));
  EXPECT_EQ(grid.rows[0].remark, "");
  EXPECT_THAT(degradation_grid(build_grids({half("a", 64)})[0]).rows[0].cells[0].reason, HasSubstr("needs 3"));
}

// What the lengths do not show is not printed as if they did.
TEST(Degradation, ACliffBetweenTwoLengthsIsKnownNoBetterThanTheirGap) {
  const std::vector<Record> records = {all("a", 64), all("a", 128), none("a", 256), none("a", 512)};
  const GridRow row = degradation_grid(build_grids(records)[0]).rows[0];
  ASSERT_TRUE(row.cells[1].value);
  EXPECT_LE(*row.cells[1].low, 128.0 * 1.001);
  EXPECT_GE(*row.cells[1].high, 256.0 / 1.001);
  ASSERT_TRUE(row.cells[4].value);
  EXPECT_NEAR(*row.cells[4].value, 100, 0.01);
  EXPECT_FALSE(row.cells[5].value);
  EXPECT_THAT(row.cells[5].reason, HasSubstr("no length measured lies on the fall"));
  const GridRow zero = degradation_grid(build_grids({none("a", 64), none("a", 128), none("a", 256)})[0]).rows[0];
  EXPECT_FALSE(zero.cells[4].value);
  EXPECT_FALSE(zero.cells[5].value);
}

}  // namespace
}  // namespace lenbench
