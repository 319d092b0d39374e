// Axes of facts, prefix rows, and the figures of the claims, against the Records they are drawn from.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "report/fact_axis.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/prefix_rows.h"
#include "report/svg.h"
#include "report/vega.h"
#include "tests/report/golden_grids.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Record with_facts(const std::string& name, std::int64_t length, double distance, std::uint64_t seed = 0) {
  Record record = half(name, length, seed);
  record.measurement.effective_tokens_min = length + 10;
  record.measurement.effective_tokens_max = length + 20;
  record.measurement.facts = {{"distance", {distance, distance - 1, distance + 1}}, {"pairs", {4, 4, 4}}};
  return record;
}

TEST(FactAxis, AccuracyStandsAtTheMeanOfTheFact) {
  FigureRequest request;
  request.x = "distance";
  // Longer texts ask for nearer keys, so that the order turns round.
  const std::vector<Record> records = {with_facts("a", 64, 100), with_facts("a", 128, 10), half("b", 64)};
  const Figure figure = accuracy_figure(records, request);
  EXPECT_EQ(figure.title, "Accuracy by distance");
  ASSERT_EQ(figure.lines.size(), 1U);
  const LinePanel& panel = figure.lines[0];
  ASSERT_EQ(panel.lines.size(), 1U);  // b says nothing of distances
  EXPECT_EQ(panel.lines[0].points[0].x, 10);
  EXPECT_EQ(panel.lines[0].points[0].length, 128);
  EXPECT_EQ(panel.lines[0].points[1].x, 100);
  EXPECT_FALSE(panel.axis.is_length);
  EXPECT_TRUE(panel.axis.log);
  EXPECT_THAT(panel.axis.title, HasSubstr("distance from the query"));
  EXPECT_TRUE(panel.train_lengths.empty());
  EXPECT_THAT(html_figure(figure, "f"), HasSubstr("<title>a distance 10 (length 128): 50"));
  const auto json = parse_json(vega_lite(std::vector{figure}), "vega");
  EXPECT_EQ(json["concat"][0]["data"]["values"][0]["x"], 10);
  EXPECT_EQ(json["concat"][0]["data"]["values"][0]["place"], "distance 10 (length 128)");
}

TEST(FactAxis, RepeatsAreAveragedAsTheirValuesAre) {
  FigureRequest request;
  request.x = "distance";
  const Figure figure = accuracy_figure({with_facts("a", 64, 100, 0), with_facts("a", 64, 50, 1)}, request);
  ASSERT_EQ(figure.lines[0].lines[0].points.size(), 1U);
  EXPECT_EQ(figure.lines[0].lines[0].points[0].x, 75);
}

TEST(FactAxis, EffectiveIsTheMiddleOfTheTokensFed) {
  EXPECT_EQ(fact_of(with_facts("a", 64, 9), "effective"), 79);
  EXPECT_FALSE(fact_of(half("a", 64), "effective"));
  EXPECT_THAT(fact_names({with_facts("a", 64, 9)}), ElementsAre("distance", "effective", "pairs"));
}

TEST(FactAxis, IsLogarithmicOnlyWhereItHelps) {
  EXPECT_TRUE(fact_axis("distance", {1, 8}).log);
  EXPECT_FALSE(fact_axis("distance", {0, 8}).log);
  EXPECT_FALSE(fact_axis("depth", {20, 80}).log);
  EXPECT_EQ(fact_axis("slot", {1, 2}).title, "slot");
}

TEST(FactAxis, AFactThatNoRecordHasIsRefusedWithThoseThereAre) {
  const std::string message = error_of([] { require_fact({with_facts("a", 64, 9)}, "distanse"); });
  EXPECT_THAT(message, HasSubstr("did you mean 'distance'"));
  EXPECT_THAT(message, HasSubstr("effective, pairs"));
}

HeadMeans head_of(std::int64_t layer, std::int64_t head, double nats, double support) {
  HeadMeans means{layer, head, head == 0, 10, nats, 0.5, support, 0.1, 0.2};
  means.source_mass = 1 / support;
  means.scale = 2.5;
  means.alpha = 1.5;
  return means;
}

Record prefix_record(const std::string& name, std::int64_t length) {
  Record record = half(name, length);
  record.measurement.effective_tokens_min = record.measurement.effective_tokens_max = length;
  record.measurement.probe_rows = "prefix";
  record.measurement.heads_by_position = {{0, 0, {head_of(0, 1, 0, 1)}},
                                          {1, 1, {head_of(0, 1, 0.1, 2)}},
                                          {2, 3, {head_of(0, 1, 0.2, 3)}},
                                          {4, 7, {head_of(0, 1, 0.3, 4)}}};
  return record;
}

TEST(PrefixRows, AreRecordsByTheKeysThatTheirRowsSee) {
  const std::vector<Record> parts = prefix_rows(prefix_record("a", 8));
  ASSERT_EQ(parts.size(), 3U);  // position 0 sees one key
  EXPECT_EQ(parts[0].question.length, 2);
  EXPECT_EQ(parts[1].question.length, 4);
  EXPECT_EQ(parts[2].question.length, 8);
  EXPECT_EQ(parts[2].measurement.heads[0].entropy, 0.3);
  EXPECT_EQ(parts[2].measurement.probe_rows, "prefix");
  EXPECT_FALSE(parts[2].measurement.exact);
  // Of positions 4 to 7 only 4 is there.
  EXPECT_EQ(prefix_rows(prefix_record("a", 5)).size(), 2U);
}

TEST(PrefixRows, NeverShareALineWithAnswerRows) {
  Record answers = half("a", 8);
  answers.measurement.probe_rows = "answer";
  answers.measurement.heads = {head_of(0, 1, 0.9, 5)};
  // As a run leaves it: the shorter length is not probed.
  const std::vector<Record> records = {half("b", 4), prefix_record("b", 8), answers};
  for (const std::vector<Figure>& figures :
       {dispersion_figures(records, {}), spread_figures(records, {}), head_figures(records, {})}) {
    ASSERT_EQ(figures.size(), 2U);
    for (const Figure& figure : figures) {
      const bool prefix = figure.title.find("prefix rows") != std::string::npos;
      EXPECT_NE(prefix, figure.title.find("answer rows") != std::string::npos) << figure.title;
      for (const LinePanel& panel : figure.lines) {
        for (const ChartLine& line : panel.lines) EXPECT_EQ(line.name, prefix ? "b" : "a");
      }
    }
  }
  GridRequest request;
  request.metric = parse_metric("support");
  const std::vector<Grid> grids = build_grids(records, request);
  ASSERT_EQ(grids.size(), 2U);
  EXPECT_EQ(grids[1].probe_rows, "prefix");
  ASSERT_EQ(grids[1].columns.size(), 3U);
  EXPECT_EQ(grids[1].rows[0].cells[2].value, 4);
}

std::vector<Record> probed_at_two_lengths() {
  std::vector<Record> records;
  for (const std::int64_t length : {64, 256}) {
    Record record = with_facts("a", length, 9);
    record.subject.transform = "asentmax";
    record.measurement.facts["pairs"] = {static_cast<double>(length) / 4, 1, 64};
    record.measurement.probe_rows = "answer";
    const auto support = static_cast<double>(length) / 16;
    record.measurement.heads = {head_of(0, 0, 0.5, 2), head_of(0, 1, std::log(support), support)};
    record.measurement.representations = {{0, 9, 1.0, 1.0}, {1, 9, 32.0 / static_cast<double>(length), 0.25}};
    records.push_back(record);
  }
  return records;
}

TEST(Claims, MassOnTheRelevantKeysByThePairs) {
  const std::vector<Figure> figures = relevant_figures(probed_at_two_lengths(), {});
  ASSERT_EQ(figures.size(), 1U);
  const LinePanel& panel = figures[0].lines.at(0);
  EXPECT_EQ(panel.title, "layer 0, heads without positions");
  EXPECT_EQ(panel.axis.title, "pairs in the context");
  EXPECT_EQ(panel.lines[0].points[0].x, 16);
  EXPECT_EQ(panel.lines[0].points[0].value, 0.25);
  EXPECT_EQ(panel.lines[0].points[1].x, 64);
  EXPECT_EQ(panel.lines[0].points[1].value, 0.0625);
}

TEST(Claims, EntropyAgainstTheLogOfTheSupport) {
  const std::vector<Figure> figures = spread_figures(probed_at_two_lengths(), {});
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].lines.size(), 2U);
  const LinePanel& panel = figures[0].lines[0];
  EXPECT_TRUE(panel.diagonal);
  EXPECT_FALSE(panel.joined);
  ASSERT_EQ(panel.lines[0].points.size(), 2U);
  // Uniform over its support: on the rule.
  for (const ChartPoint& point : panel.lines[0].points) EXPECT_DOUBLE_EQ(point.value, point.x);
  EXPECT_DOUBLE_EQ(panel.lines[0].points[1].x, std::log(16.0));
  EXPECT_THAT(html_figure(figures[0], "f"), HasSubstr("layer 0 head 1 at 256"));
  const auto json = parse_json(vega_lite(figures), "vega");
  EXPECT_EQ(json["concat"][0]["layer"].back()["mark"]["type"], "point");
  EXPECT_THAT(vega_lite(figures), Not(HasSubstr("strokeDash\":{\"field")));
}

TEST(Claims, DistanceBetweenRepresentationsByDepthAndLength) {
  std::vector<Figure> figures = representation_figures(probed_at_two_lengths(), {});
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].lines.size(), 2U);
  EXPECT_EQ(figures[0].lines[0].title, "embeddings");
  EXPECT_EQ(figures[0].lines[1].title, "after block 1");
  EXPECT_EQ(figures[0].lines[1].lines[0].points[0].value, 0.5);
  EXPECT_EQ(figures[0].lines[1].lines[0].points[1].value, 0.125);
  FigureRequest request;
  request.statistic = "cosine";
  figures = representation_figures(probed_at_two_lengths(), request);
  EXPECT_EQ(figures[0].lines[1].lines[0].points[1].value, 0.25);
  EXPECT_TRUE(representation_figures({half("a", 64)}, {}).empty());
}

TEST(Claims, ScaleAlphaAndSupportOfEveryHead) {
  const std::vector<Figure> figures = temperature_figures(probed_at_two_lengths(), {});
  ASSERT_EQ(figures.size(), 3U);
  EXPECT_THAT(figures[0].title, HasSubstr("query scale"));
  EXPECT_THAT(figures[1].title, HasSubstr("alpha of entmax"));
  EXPECT_THAT(figures[2].title, HasSubstr("support"));
  EXPECT_EQ(figures[0].heats[0].values[0], 2.5);
  EXPECT_EQ(figures[1].heats[0].values[0], 1.5);
  EXPECT_FALSE(figures[0].heats[0].log_colour);
  EXPECT_TRUE(figures[2].heats[0].log_colour);
}

TEST(Documents, NameTablesThatDifferInNothingElse) {
  Record first = perplexity_record("a", 64, 3), second = perplexity_record("a", 64, 4);
  first.question.documents_sha256 = "aaaaaaaa11";
  second.question.documents_sha256 = "bbbbbbbb22";
  const std::vector<Grid> both = build_grids({first, second});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].documents, "aaaaaaaa");
  EXPECT_THAT(render("markdown", both), HasSubstr("(documents bbbbbbbb) - perplexity"));
  EXPECT_EQ(build_grids({first})[0].documents, "");
}

TEST(LengthNote, StandsInCsvAndJson) {
  Record record = half("a", 64);
  record.measurement.facts = {{"given_tokens", {78, 78, 78}}};
  const std::vector<Grid> grids = build_grids({record});
  const std::string note = "length 64: 78 tokens are given, 22 % more";
  EXPECT_THAT(render("csv", grids), HasSubstr("\"" + note + "\""));
  EXPECT_THAT(render("json", grids), HasSubstr("\"length_note\":\"" + note + "\""));
}

// Answers cluster in samples: what resampling answers alone would call certain is not.
TEST(ClusteredAnswers, AreResampledBySample) {
  Record record = half("a", 64);
  record.measurement.samples = record.samples_requested = 10;
  record.measurement.exact = proportion_of(5, 10, 0.24, 0.76);
  record.measurement.answer = proportion_of(100, 200, 0.24, 0.76);
  record.sample_answers.assign(10, 20);
  record.answer_outcomes = std::string(25, 'f') + std::string(25, '0');
  GridRequest request;
  request.metric = parse_metric("answer");
  request.interval = IntervalChoice::kBootstrap;
  const GridCell cell = build_grids({record}, request)[0].rows[0].cells[0];
  EXPECT_EQ(cell.value, 0.5);
  // Binomial over 10 whole samples: 2 to 8 right.
  EXPECT_NEAR(*cell.low, 0.2, 0.051);
  EXPECT_NEAR(*cell.high, 0.8, 0.051);
  record.sample_answers.clear();
  record.answer_outcomes.clear();
  EXPECT_THAT(error_of([&] { build_grids({record}, request); }), HasSubstr("one outcome a sample"));
}

TEST(ClusteredAnswers, AreComparedSampleBySample) {
  const auto record_with = [](const std::string& name, const std::string& digits, std::int64_t right) {
    Record record = half(name, 64);
    record.measurement.samples = record.samples_requested = 10;
    record.measurement.exact.reset();
    record.measurement.answer = proportion_of(right, 40, 0.01, 0.99);
    record.sample_answers.assign(10, 4);
    record.answer_outcomes = digits;
    return record;
  };
  GridRequest request;
  request.metric = parse_metric("answer");
  // Every sample has one more right answer: 2 / 2^10.
  Grid grid = build_grids({record_with("a", "eeeeeeeeee", 30), record_with("b", "cccccccccc", 20)}, request)[0];
  EXPECT_TRUE(grid.rows[0].cells[0].best);
  EXPECT_FALSE(grid.rows[1].cells[0].best);
  EXPECT_THAT(grid.best_rule, HasSubstr("sign-flip test"));
  // All in three samples: 2 / 2^3.
  grid = build_grids({record_with("a", "fffccccccc", 26), record_with("b", "000ccccccc", 14)}, request)[0];
  EXPECT_FALSE(grid.rows[0].cells[0].best);
}

}  // namespace
}  // namespace lenbench
