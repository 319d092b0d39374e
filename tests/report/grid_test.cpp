// Grouping, averaging and gaps.
#include "report/grid.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/report/records.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GridRequest exact_request(Aggregate aggregate = Aggregate::kMean) {
  GridRequest request;
  request.metric = MetricChoice{Metric::kExact};
  request.aggregate = aggregate;
  return request;
}

std::vector<std::string> row_names(const Grid& grid) {
  std::vector<std::string> names;
  for (const GridRow& row : grid.rows) names.push_back(row.name);
  return names;
}

TEST(Grid, RowsAreSubjectsAndColumnsLengths) {
  const std::vector<Grid> grids = build_grids({half("b", 128), all("b", 64), none("a", 128)});
  ASSERT_EQ(grids.size(), 1U);
  const Grid& grid = grids[0];
  EXPECT_EQ(grid.task, "recall");
  EXPECT_EQ(grid.metric, "exact");
  EXPECT_EQ(grid.aggregate, "mean");
  EXPECT_TRUE(grid.percent);
  ASSERT_EQ(grid.columns.size(), 2U);
  EXPECT_EQ(grid.columns[0].length, 64);
  EXPECT_EQ(grid.columns[1].length, 128);
  EXPECT_THAT(row_names(grid), ElementsAre("b", "a"));
  EXPECT_EQ(*grid.rows[0].cells[1].value, 0.5);
  EXPECT_EQ(*grid.rows[0].cells[1].low, 0.4038);
  EXPECT_EQ(grid.rows[0].cells[1].n, 100);
  EXPECT_FALSE(grid.rows[1].cells[0].value.has_value());
  EXPECT_EQ(grid.rows[1].cells[0].reason, "not measured");
}

TEST(Grid, MeanOfRepeatsCountsEachEquallyWithItsOwnError) {
  // 50/100 and 0/900: the unweighted mean is 0.25, not the 0.05 of all answers together.
  Record small = half("m", 64, 1), large = record_of("m", 64, 2);
  large.samples_requested = large.measurement.samples = 900;
  large.measurement.exact = proportion_of(0, 900, 0, 0.0042);
  const Grid grid = build_grids({small, large}, exact_request())[0];
  const GridCell& cell = grid.rows[0].cells[0];
  EXPECT_DOUBLE_EQ(*cell.value, 0.25);
  EXPECT_NEAR(*cell.low, 0.25 - 0.5 * (0.5 - 0.4038), 1e-12);
  EXPECT_NEAR(*cell.high, 0.25 + 0.5 * std::hypot(0.5962 - 0.5, 0.0042), 1e-12);
  EXPECT_EQ(cell.n, 1000);
  EXPECT_EQ(cell.repeats, 2);
  EXPECT_THAT(cell.data_seeds, ElementsAre(1U, 2U));
  EXPECT_THAT(grid.interval_kind, HasSubstr("combined in quadrature"));
}

TEST(Grid, MedianAndMaximumAreNamedAndHaveNoInterval) {
  const std::vector<Record> records = {none("m", 64, 1), half("m", 64, 2), all("m", 64, 3), all("m", 64, 4)};
  const Grid median = build_grids(records, exact_request(Aggregate::kMedian))[0];
  EXPECT_EQ(median.aggregate, "median");
  EXPECT_DOUBLE_EQ(*median.rows[0].cells[0].value, 0.75);
  EXPECT_FALSE(median.rows[0].cells[0].low.has_value());
  EXPECT_EQ(median.interval_kind, "");
  const Grid maximum = build_grids(records, exact_request(Aggregate::kMax))[0];
  EXPECT_DOUBLE_EQ(*maximum.rows[0].cells[0].value, 1);
  EXPECT_FALSE(maximum.rows[0].cells[0].high.has_value());
  EXPECT_DOUBLE_EQ(*build_grids(records, exact_request())[0].rows[0].cells[0].value, 0.625);
}

TEST(Grid, APartWithoutAnErrorLeavesTheMeanWithoutOne) {
  std::vector<Record> records = {perplexity_record("m", 64, 2), perplexity_record("m", 64, 4)};
  records[1].question.data_seed = 1;
  records[0].measurement.perplexity_low = 1.5;
  records[0].measurement.perplexity_high = 2.5;
  const Grid grid = build_grids(records)[0];
  EXPECT_EQ(grid.metric, "perplexity");
  EXPECT_DOUBLE_EQ(*grid.rows[0].cells[0].value, 3);
  EXPECT_FALSE(grid.rows[0].cells[0].low.has_value());
}

TEST(Grid, MissingRepeatsAreNamedInTheCell) {
  const Grid grid = build_grids({half("m", 64, 1), half("m", 64, 2), half("m", 128, 1),
                                 failed_record("m", 128, "out of memory", 2), half("m", 256, 2)},
                                exact_request())[0];
  EXPECT_EQ(grid.rows[0].cells[0].reason, "");
  EXPECT_EQ(grid.rows[0].cells[1].reason, "1 of 2 repeats: data seed 2 failed: out of memory");
  EXPECT_EQ(grid.rows[0].cells[1].repeats, 1);
  EXPECT_EQ(grid.rows[0].cells[2].reason, "1 of 2 repeats: data seed 1 not measured");
}

TEST(Grid, ACellWithoutAnyValueSaysWhy) {
  const Grid grid = build_grids({half("m", 64), failed_record("m", 128, "out of memory")}, exact_request())[0];
  EXPECT_FALSE(grid.rows[0].cells[1].value.has_value());
  EXPECT_EQ(grid.rows[0].cells[1].reason, "failed: out of memory");
}

TEST(Grid, SubjectsOfOneNameAreNotMixed) {
  std::vector<Record> records = {half("m", 64), all("m", 64), none("other", 64)};
  records[0].subject.dtype = "float32";
  records[1].subject.dtype = "float64";
  EXPECT_THAT(row_names(build_grids(records, exact_request())[0]), ElementsAre("m (float32)", "m (float64)", "other"));
}

TEST(Grid, CheckpointsOfOneNameAreRepeatsUnlessToldApart) {
  std::vector<Record> records = {half("m", 64), all("m", 64)};
  records[0].subject.checkpoint_sha256 = "0123456789abcdef";
  records[1].subject.checkpoint_sha256 = "fedcba9876543210";
  records[0].subject.train_length = records[1].subject.train_length = 64;
  const Grid pooled = build_grids(records, exact_request())[0];
  ASSERT_EQ(pooled.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(*pooled.rows[0].cells[0].value, 0.75);
  EXPECT_EQ(pooled.rows[0].cells[0].checkpoints, 2);
  GridRequest request = exact_request();
  request.rows_by = {"checkpoint"};
  EXPECT_THAT(row_names(build_grids(records, request)[0]), ElementsAre("m (01234567)", "m (fedcba98)"));
  request.rows_by = row_field_names();
  EXPECT_THAT(
      row_names(build_grids(records, request)[0]),
      ElementsAre("m (cpu, trained at 64, 01234567, data seed 0)", "m (cpu, trained at 64, fedcba98, data seed 0)"));
  request.rows_by = {"chekpoint"};
  EXPECT_THAT(error_of([&] { build_grids(records, request); }), HasSubstr("did you mean 'checkpoint'?"));
}

TEST(Grid, OtherParametersTasksOrSplitsAreOtherTables) {
  std::vector<Record> records = {half("m", 64), half("m", 64), half("m", 64), perplexity_record("m", 64, 3)};
  records[1].question.parameters["density"] = "4";
  records[2].question.split = "validation";
  GridRequest request;
  request.default_parameters = [](const std::string& task) {
    return task == "recall" ? std::map<std::string, std::string>{{"density", "8"}, {"keys", "256"}}
                            : std::map<std::string, std::string>{};
  };
  const std::vector<Grid> grids = build_grids(records, request);
  ASSERT_EQ(grids.size(), 4U);
  EXPECT_EQ(grids[0].parameters, "");
  EXPECT_EQ(grids[1].parameters, "density=4");
  EXPECT_EQ(grids[2].split, "validation");
  EXPECT_EQ(grids[3].parameters, "bos=window");
  EXPECT_EQ(build_grids(records)[0].parameters, "density=8,keys=256");
}

TEST(Grid, ConflictingRecordsAreRefused) {
  EXPECT_THAT(error_of([] {
                build_grids({half("m", 64), none("m", 64)});
              }),
              HasSubstr("two different Records of m on recall at length 64, data seed 0"));
  EXPECT_EQ(build_grids({half("m", 64), half("m", 64)})[0].rows[0].cells[0].repeats, 1);
  Record more = half("m", 64);
  more.samples_requested = 1000;
  EXPECT_THAT(error_of([&] { build_grids({half("m", 64), more}); }), HasSubstr("with 100 and with 1000 samples"));
}

TEST(Grid, AProportionThatContradictsItsCountsIsRefused) {
  Record record = record_of("m", 64);
  record.measurement.exact = proportion_of(14, 307, 14.0 / 307, 14.0 / 307);  // an interval without width
  EXPECT_THAT(error_of([&] { build_grids({record}); }), HasSubstr("contradicts 14 right of 307"));
  record.measurement.exact = proportion_of(14, 307, 0.02, 0.08);
  record.measurement.exact->value = 0.5;
  EXPECT_THAT(error_of([&] { build_grids({record}); }), HasSubstr("contradicts"));
}

TEST(Grid, SamplesOfSeveralAnswersShowAnswersWithChance) {
  Record record = half("m", 64);
  record.measurement.answer = proportion_of(600, 800, 0.70, 0.79);
  record.measurement.chance = 1.0 / 64;
  const Grid grid = build_grids({record})[0];
  EXPECT_EQ(grid.metric, "answer");
  EXPECT_THAT(row_names(grid), ElementsAre("m", "chance"));
  EXPECT_EQ(grid.rows[1].kind, RowKind::kChance);
  EXPECT_DOUBLE_EQ(*grid.rows[1].cells[0].value, 1.0 / 64);
  EXPECT_EQ(*grid.rows[0].cells[0].value, 0.75);
  EXPECT_EQ(build_grids({record}, exact_request())[0].rows.size(), 1U);
  // One answer a sample: the two are the same number, and exact match is shown.
  record.measurement.answer = record.measurement.exact;
  EXPECT_EQ(build_grids({record})[0].metric, "exact");
}

TEST(Grid, EntropyAveragesHeadsOfAGroupAndKeepsRowKindsApart) {
  Record record = half("m", 64);
  record.measurement.probe_rows = "answer";
  record.measurement.heads = {{0, 0, true, 10, 0, 0.2, 4, 0.5, 0},
                              {0, 1, false, 10, 0, 0.6, 10, 0.1, 0},
                              {1, 1, false, 10, 0, 0.8, 20, 0.3, 0},
                              {2, 1, false, 10, 0, std::nullopt, 30, 0.2, 0}};
  GridRequest request;
  const auto value = [&](const char* metric) {
    request.metric = parse_metric(metric);
    return *build_grids({record}, request)[0].rows[0].cells[0].value;
  };
  EXPECT_NEAR(value("entropy"), (0.2 + 0.6 + 0.8) / 3, 1e-12);
  EXPECT_NEAR(value("entropy-positionless"), 0.7, 1e-12);
  EXPECT_NEAR(value("entropy-positional"), 0.2, 1e-12);
  EXPECT_NEAR(value("support"), 16, 1e-12);
  EXPECT_NEAR(value("support-positionless"), 20, 1e-12);
  EXPECT_NEAR(value("sink-positionless"), 0.2, 1e-12);

  Record all_rows = half("m2", 64), unprobed = half("m3", 64);
  all_rows.measurement.heads = record.measurement.heads;
  all_rows.measurement.probe_rows = "all";
  request.metric = parse_metric("entropy");
  const std::vector<Grid> grids = build_grids({record, all_rows, unprobed}, request);
  ASSERT_EQ(grids.size(), 2U);
  EXPECT_EQ(grids[0].probe_rows, "all");
  EXPECT_THAT(row_names(grids[0]), ElementsAre("m2", "m3"));
  EXPECT_EQ(grids[0].rows[1].cells[0].reason, "attention was not probed");
  EXPECT_EQ(grids[1].probe_rows, "answer");
}

TEST(Grid, SourceMassAndOutcomesHaveMetricsOfTheirOwn) {
  Record record = half("m", 64);
  record.measurement.probe_rows = "answer";
  record.measurement.heads = {{0, 0, false, 10, 0, 0.5, 4, 0.5, 0, 0.25}, {0, 1, false, 10, 0, 0.6, 10, 0.1, 0}};
  record.measurement.heads_wrong = {{0, 0, false, 10, 0, 0.9, 40, 0, 0, 0.125}};
  GridRequest request;
  const auto cell = [&](const char* metric) {
    request.metric = parse_metric(metric);
    return build_grids({record}, request)[0].rows[0].cells[0];
  };
  EXPECT_EQ(*cell("source").value, 0.25);  // heads without one do not count
  EXPECT_EQ(*cell("source-wrong").value, 0.125);
  EXPECT_EQ(*cell("entropy-positionless-wrong").value, 0.9);
  EXPECT_FALSE(cell("entropy-right").value);
  EXPECT_THAT(cell("entropy-right").reason, HasSubstr("outcome"));
}

TEST(Grid, ColumnsOfAnotherFieldPutLengthsIntoRows) {
  std::vector<Record> records = {half("a-softmax", 64), all("a-softmax", 128), none("a-ssmax", 64)};
  records[0].subject.transform = records[1].subject.transform = "softmax";
  records[2].subject.transform = "ssmax";
  GridRequest request = exact_request();
  request.columns = "transform";
  const Grid grid = build_grids(records, request)[0];
  EXPECT_THAT(row_names(grid), ElementsAre("length 64", "length 128"));
  ASSERT_EQ(grid.columns.size(), 2U);
  EXPECT_EQ(grid.columns[1].label, "ssmax");
  EXPECT_EQ(*grid.rows[1].cells[0].value, 1);
  EXPECT_EQ(grid.rows[1].cells[1].reason, "not measured");
  EXPECT_EQ(grid.rows[0].cells[0].reason, "");
  // Two models of one transform would be averaged.
  records.push_back(none("another-softmax", 64));
  records.back().subject.transform = "softmax";
  records.back().subject.checkpoint_sha256 = "ff";
  EXPECT_THAT(error_of([&] { build_grids(records, request); }), HasSubstr("add model to --rows-by"));
  request.rows_by = {"model"};
  EXPECT_EQ(build_grids(records, request)[0].rows.size(), 4U);
}

TEST(Grid, BestSeedShowsOneRunAndNamesIt) {
  GridRequest request = exact_request(Aggregate::kBestSeed);
  // Seed 1 has the best cell, seed 2 the better mean.
  const Grid grid = build_grids({all("m", 64, 1), none("m", 128, 1), half("m", 64, 2), all("m", 128, 2)}, request)[0];
  EXPECT_EQ(*grid.rows[0].cells[0].value, 0.5);
  EXPECT_EQ(*grid.rows[0].cells[1].value, 1);
  EXPECT_EQ(*grid.rows[0].cells[1].low, 0.9630);
  EXPECT_THAT(grid.rows[0].cells[0].data_seeds, ElementsAre(2U));
  EXPECT_THAT(grid.rows[0].remark, HasSubstr("best of 2 runs by the mean of its cells: data seed 2"));
}

TEST(Grid, IntervalsOnDemand) {
  Record record = half("m", 64);
  record.outcomes = std::string(50, '1') + std::string(50, '0');
  GridRequest request = exact_request();
  request.interval = IntervalChoice::kNone;
  EXPECT_FALSE(build_grids({record}, request)[0].rows[0].cells[0].low);
  request.interval = IntervalChoice::kBootstrap;
  const Grid grid = build_grids({record, all("m", 128)}, request)[0];
  // Binomial(100, 1/2): P(X <= 39) = 0.0176, P(X <= 40) = 0.0284, P(X <= 60) = 0.9824, P(X <= 59) = 0.9716.
  EXPECT_DOUBLE_EQ(*grid.rows[0].cells[0].low, 0.40);
  EXPECT_DOUBLE_EQ(*grid.rows[0].cells[0].high, 0.60);
  EXPECT_LT(*grid.rows[0].cells[1].low, 0.97);  // all right: Wilson
  EXPECT_THAT(grid.interval_kind, HasSubstr("bootstrap"));
  record.measurement.answer = proportion_of(600, 800, 0.70, 0.79);
  request.metric = parse_metric("answer");
  EXPECT_THAT(error_of([&] { build_grids({record}, request); }), HasSubstr("cannot be resampled"));
}

TEST(Grid, DoublesThatDoNotReadAreFloors) {
  const Grid grid = build_grids({half("m", 64), none("blind", 64)}, exact_request())[0];
  EXPECT_EQ(grid.rows[0].kind, RowKind::kMeasured);
  EXPECT_EQ(grid.rows[1].kind, RowKind::kFloor);
}

TEST(Grid, NamesOfMetricsAndAggregates) {
  for (const std::string& name : interval_names()) parse_interval(name);

  for (const std::string& name : metric_names()) EXPECT_EQ(metric_name(parse_metric(name)), name);
  for (const std::string& name : aggregate_names()) EXPECT_EQ(aggregate_name(parse_aggregate(name)), name);
  EXPECT_THAT(error_of([] { parse_metric("entrpy"); }), HasSubstr("did you mean 'entropy'?"));
  EXPECT_THAT(error_of([] { parse_aggregate("men"); }), HasSubstr("did you mean 'mean'?"));
}

TEST(Grid, NoRecordsNoTables) { EXPECT_TRUE(build_grids({}).empty()); }

}  // namespace
}  // namespace lenbench
