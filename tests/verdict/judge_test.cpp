// Verdicts and exit codes, case by case. "Theme J" are defects of other gates, found in their issue threads.
#include "verdict/judge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/expect_error.h"
#include "tests/verdict/cells.h"

namespace lenbench {
namespace {

using Cells = std::vector<GateCell>;

CheckResult check(const Cells& baseline, const Cells& now, const Policy& policy = {},
                  const std::string& today = "2026-06-01") {
  return judge(baseline, now, policy, {.today = today, .watched = {}, .left_out = {}});
}

const CellVerdict& only(const CheckResult& result) {
  EXPECT_EQ(result.cells.size(), 1u);
  return result.cells.front();
}

void expect_verdict(const CheckResult& result, Verdict verdict, ExitCode code) {
  EXPECT_EQ(only(result).verdict, verdict) << verdict_name(only(result).verdict) << ": " << only(result).why;
  EXPECT_EQ(result.exit_code(), code) << result.summary();
}

// Theme J1: a baseline of 0 is no division by zero.
TEST(ThemeJ, J1ZeroBaselineIsDefined) {
  expect_verdict(check({cell_of(outcomes_of(0, 200))}, {cell_of(outcomes_of(0, 200))}), Verdict::kSame, ExitCode::kOk);
  expect_verdict(check({cell_of(outcomes_of(0, 100))}, {cell_of(outcomes_of(50, 100))}), Verdict::kBetter,
                 ExitCode::kOk);
  expect_verdict(check({cell_of(outcomes_of(50, 100))}, {cell_of(outcomes_of(0, 100))}), Verdict::kWorse,
                 ExitCode::kWorse);
}

// Theme J4: each metric has its direction.
TEST(ThemeJ, J4DirectionPerMetric) {
  EXPECT_EQ(check({cell_of(outcomes_of(100, 200))}, {cell_of(outcomes_of(180, 200))}).exit_code(), ExitCode::kOk);
  expect_verdict(check({text_cell(1.0, 32)}, {text_cell(1.2, 32)}), Verdict::kWorse, ExitCode::kWorse);
  expect_verdict(check({text_cell(1.2, 32)}, {text_cell(1.0, 32)}), Verdict::kBetter, ExitCode::kOk);
}

// Theme J5: missing cells and an empty overlap are not green, new ones not red.
TEST(ThemeJ, J5MissingNewAndDisjoint) {
  const GateCell at64 = cell_of(outcomes_of(200, 200)), at128 = cell_of(outcomes_of(200, 200), 128),
                 at256 = cell_of(outcomes_of(200, 200), 256);
  const CheckResult missing = check({at64, at128}, {at64});
  EXPECT_EQ(missing.exit_code(), ExitCode::kWorse);
  EXPECT_EQ(missing.cells.front().verdict, Verdict::kMissing);
  EXPECT_EQ(missing.cells.front().name, "recall@128");
  Policy allow;
  allow.allow_missing = true;
  const CheckResult allowed = check({at64, at128}, {at64}, allow);
  EXPECT_EQ(allowed.exit_code(), ExitCode::kOk);
  EXPECT_EQ(allowed.count(Verdict::kMissing), 1) << "still shown";
  EXPECT_EQ(check({at64}, {at256}).exit_code(), ExitCode::kNotMeasured) << "disjoint";
  EXPECT_EQ(check({at64}, {at256}, allow).exit_code(), ExitCode::kNotMeasured) << "disjoint is never allowed";
  const CheckResult more = check({at64}, {at64, at256});
  EXPECT_EQ(more.exit_code(), ExitCode::kOk);
  EXPECT_EQ(more.count(Verdict::kNew), 1);
  Policy strict;
  strict.fail_new = true;
  EXPECT_EQ(check({at64}, {at64, at256}, strict).exit_code(), ExitCode::kWorse);
}

// Theme J8: a bound set on many samples is not applied to few as if they were many.
TEST(ThemeJ, J8BoundsKnowN) {
  Policy floor;
  floor.min_accuracy["recall@64"] = 0.95;
  const CheckResult few = check({cell_of(outcomes_of(18, 20))}, {cell_of(outcomes_of(18, 20))}, floor);
  EXPECT_EQ(few.exit_code(), ExitCode::kOk) << "90 % of 20 samples is no proof of less than 95 %";
  EXPECT_EQ(few.cells.front().verdict, Verdict::kUndecided);
  const CheckResult many = check({cell_of(outcomes_of(900, 1000))}, {cell_of(outcomes_of(900, 1000))}, floor);
  EXPECT_EQ(many.exit_code(), ExitCode::kWorse);
  EXPECT_EQ(many.cells.front().name, "recall@64 min 0.95");
  // Another n pairs on the common indices: the 900 samples that only the baseline has say nothing.
  const CheckResult other_n = check({cell_of(outcomes_of(1000, 1000))}, {cell_of(outcomes_of(100, 100))});
  EXPECT_EQ(only(other_n).evidence->n, 100);
  EXPECT_EQ(only(other_n).evidence->lost, 0);
  EXPECT_NE(only(other_n).why.find("1000 samples in the baseline, 100 now"), std::string::npos);
}

// Theme J10: the words and the exit code agree.
TEST(ThemeJ, J10SummaryAgreesWithTheExitCode) {
  for (const std::int64_t right : {0, 150, 190, 200}) {
    const CheckResult result = check({cell_of(outcomes_of(200, 200))}, {cell_of(outcomes_of(right, 200))});
    EXPECT_EQ(result.summary().find("FAIL") != std::string::npos, result.exit_code() == ExitCode::kWorse);
    EXPECT_EQ(result.summary().find("worse") != std::string::npos, result.exit_code() == ExitCode::kWorse);
  }
}

// Theme J11: a perplexity is not compared with an accuracy.
TEST(ThemeJ, J11OtherUnitsAreNotComparable) {
  GateCell text = text_cell(1, 20);
  text.question = cell_of("").question;
  text.question.metric = "perplexity";
  const CheckResult result = check({cell_of(outcomes_of(95, 100))}, {text});
  expect_verdict(result, Verdict::kNotComparable, ExitCode::kNotMeasured);
  EXPECT_NE(only(result).why.find("metric exact_match against perplexity"), std::string::npos) << only(result).why;
}

TEST(Judge, AllRightAndAllWrongHaveVerdicts) {
  expect_verdict(check({cell_of(outcomes_of(200, 200))}, {cell_of(outcomes_of(200, 200))}), Verdict::kSame,
                 ExitCode::kOk);
  expect_verdict(check({cell_of(outcomes_of(200, 200))}, {cell_of(outcomes_of(0, 200))}), Verdict::kWorse,
                 ExitCode::kWorse);
}

TEST(Judge, OneSampleDecidesNothing) {
  for (const char* now : {"0", "1"}) {
    const CheckResult result = check({cell_of("1")}, {cell_of(now)});
    expect_verdict(result, Verdict::kUndecided, ExitCode::kOk);
    EXPECT_GT(only(result).evidence->deciding_n, 1);
    EXPECT_GT(only(result).evidence->detectable, 0.5) << "one sample sees nearly nothing";
  }
  Policy strict;
  strict.fail_undecided = true;
  EXPECT_EQ(check({cell_of("1")}, {cell_of("1")}, strict).exit_code(), ExitCode::kWorse);
  const CheckResult document = check({text_cell(1, 1)}, {text_cell(1, 1)});
  expect_verdict(document, Verdict::kUndecided, ExitCode::kOk);
}

TEST(Judge, AsManySamplesAsItNamesDoDecide) {
  // 100 of 100 against 100 of 100 is undecided; at the n it names, the same picture is the same.
  const CheckResult few = check({cell_of(outcomes_of(100, 100))}, {cell_of(outcomes_of(100, 100))});
  ASSERT_EQ(only(few).verdict, Verdict::kUndecided);
  const std::int64_t n = only(few).evidence->deciding_n;
  EXPECT_LT(n, 300);
  expect_verdict(check({cell_of(outcomes_of(n, n))}, {cell_of(outcomes_of(n, n))}), Verdict::kSame, ExitCode::kOk);
}

TEST(Judge, AnotherQuestionIsSaidInWords) {
  GateCell other = cell_of(outcomes_of(200, 200));
  other.question.task_version = 2;
  other.question.parameters["density"] = "4";
  const CheckResult result = check({cell_of(outcomes_of(200, 200))}, {other});
  expect_verdict(result, Verdict::kNotComparable, ExitCode::kNotMeasured);
  EXPECT_EQ(only(result).why, "another question: task version 1 against 2, density 8 against 4");
}

TEST(Judge, AnotherCheckpointDtypeOrDeviceIsThePoint) {
  GateCell other = cell_of(outcomes_of(200, 200));
  other.subject = {.name = "other",
                   .checkpoint_sha256 = "ff",
                   .transform = "softmax",
                   .positions = "rope",
                   .dtype = "float64",
                   .device = "cuda",
                   .num_parameters = 1,
                   .train_length = 9};
  expect_verdict(check({cell_of(outcomes_of(200, 200))}, {other}), Verdict::kSame, ExitCode::kOk);
}

TEST(Judge, AnotherDataSeedIsUnpaired) {
  GateCell other = cell_of(outcomes_of(500, 1000));
  other.question.data_seed = 7;
  const CheckResult worse = check({cell_of(outcomes_of(990, 1000))}, {other});
  expect_verdict(worse, Verdict::kWorse, ExitCode::kWorse);
  EXPECT_FALSE(only(worse).evidence->paired);
  EXPECT_NE(only(worse).why.find("data seed 0 against 7"), std::string::npos);
  other.outcomes = outcomes_of(0, 20);
  expect_verdict(check({cell_of(outcomes_of(1000, 1000))}, {other}), Verdict::kWorse, ExitCode::kWorse);
}

TEST(Judge, FailedAndNonFiniteCellsAreNotGreen) {
  GateCell failed = cell_of("");
  failed.status = "failed";
  failed.reason = "out of memory";
  expect_verdict(check({cell_of(outcomes_of(200, 200))}, {failed}), Verdict::kFailed, ExitCode::kNotMeasured);
  Record record;
  record.question = cell_of("").question;
  record.outcomes = "11x1";
  record.measurement.samples = 4;
  expect_verdict(check({cell_of(outcomes_of(200, 200))}, {gate_cell(record)}), Verdict::kFailed,
                 ExitCode::kNotMeasured);
  record.outcomes = "";
  record.measurement.samples = 0;
  expect_verdict(check({cell_of(outcomes_of(200, 200))}, {gate_cell(record)}), Verdict::kFailed,
                 ExitCode::kNotMeasured);
  GateCell skipped = failed;
  skipped.status = "skipped";
  expect_verdict(check({cell_of(outcomes_of(200, 200))}, {skipped}), Verdict::kMissing, ExitCode::kWorse);
  expect_verdict(check({failed}, {cell_of(outcomes_of(200, 200))}), Verdict::kNotComparable, ExitCode::kNotMeasured);
}

TEST(Judge, LossBeforeFailure) {
  GateCell failed = cell_of("", 128);
  failed.status = "failed";
  const CheckResult result = check({cell_of(outcomes_of(200, 200)), cell_of(outcomes_of(200, 200), 128)},
                                   {cell_of(outcomes_of(0, 200)), failed});
  EXPECT_EQ(result.exit_code(), ExitCode::kWorse);
  EXPECT_EQ(result.cells[0].verdict, Verdict::kWorse);
  EXPECT_EQ(result.cells[1].verdict, Verdict::kFailed);
}

TEST(Judge, OrderOfCellsDoesNotMatter) {
  Cells baseline, now;
  for (std::int64_t length : {64, 128, 256, 512}) {
    baseline.push_back(cell_of(outcomes_of(200, 200), length));
    now.push_back(cell_of(outcomes_of(length == 256 ? 100 : 200, 200), length));
  }
  const CheckResult straight = check(baseline, now);
  const CheckResult shuffled = check(baseline, {now[2], now[0], now[3], now[1]});
  ASSERT_EQ(straight.cells.size(), shuffled.cells.size());
  for (std::size_t i = 0; i < straight.cells.size(); ++i) {
    EXPECT_EQ(straight.cells[i].name, shuffled.cells[i].name);
    EXPECT_EQ(straight.cells[i].verdict, shuffled.cells[i].verdict);
  }
  EXPECT_EQ(straight.cells.front().name, "recall@256");
}

TEST(Judge, DuplicateQuestionsAreRefused) {
  const Cells twice = {cell_of("11"), cell_of("10")};
  EXPECT_NE(error_of([&] { require_distinct_questions(twice, "a.jsonl"); }).find("recall@64 twice"), std::string::npos);
  EXPECT_NO_THROW(require_distinct_questions({cell_of("11"), cell_of("11", 128)}, "a.jsonl"));
}

TEST(Judge, HolmCountsEveryComparison) {
  // Seven losses without a gain: McNemar's p is 1/128 = 0.0078; enough alone, not among forty.
  Policy exact;
  exact.smallest_effect = 0;
  Cells baseline = {cell_of(outcomes_of(1000, 1000))}, now = {cell_of(outcomes_of(993, 1000))};
  const CheckResult alone = check(baseline, now, exact);
  EXPECT_EQ(alone.cells.front().verdict, Verdict::kWorse);
  EXPECT_NEAR(alone.cells.front().p_worse, 1.0 / 128, 1e-12);
  for (std::int64_t i = 2; i <= 40; ++i) {
    baseline.push_back(cell_of(outcomes_of(1000, 1000), 64 * i));
    now.push_back(baseline.back());
  }
  const CheckResult among = check(baseline, now, exact);
  EXPECT_EQ(among.count(Verdict::kWorse), 0);
  EXPECT_EQ(among.family, 40);
}

TEST(Acknowledgement, ExcusesUntilItExpires) {
  Policy policy;
  policy.acknowledgements = {{.cell = "recall@64", .reason = "new tokenizer", .expires = "2026-06-30", .max_drop = {}}};
  const Cells baseline = {cell_of(outcomes_of(200, 200))}, now = {cell_of(outcomes_of(100, 200))};
  const CheckResult before = check(baseline, now, policy, "2026-06-30");
  EXPECT_EQ(before.exit_code(), ExitCode::kOk);
  EXPECT_TRUE(only(before).acknowledged);
  EXPECT_NE(only(before).why.find("new tokenizer"), std::string::npos);
  const CheckResult after = check(baseline, now, policy, "2026-07-01");
  EXPECT_EQ(after.exit_code(), ExitCode::kWorse);
  EXPECT_NE(only(after).why.find("ACKNOWLEDGEMENT EXPIRED on 2026-06-30"), std::string::npos);
  EXPECT_EQ(after.notes.size(), 1u);
  const CheckResult idle = check(baseline, baseline, policy);
  EXPECT_EQ(idle.exit_code(), ExitCode::kOk);
  ASSERT_EQ(idle.notes.size(), 1u);
  EXPECT_NE(idle.notes[0].find("not needed"), std::string::npos);
}

TEST(Acknowledgement, CoversItsSizeOnly) {
  Policy policy;
  policy.acknowledgements = {{.cell = "recall@64", .reason = "quantized", .expires = "2026-06-30", .max_drop = 0.1}};
  const Cells baseline = {cell_of(outcomes_of(1000, 1000))};
  EXPECT_EQ(check(baseline, {cell_of(outcomes_of(920, 1000))}, policy).exit_code(), ExitCode::kOk);
  const CheckResult beyond = check(baseline, {cell_of(outcomes_of(500, 1000))}, policy);
  EXPECT_EQ(beyond.exit_code(), ExitCode::kWorse);
  EXPECT_NE(only(beyond).why.find("beyond the acknowledged loss of 0.1"), std::string::npos);
}

TEST(Acknowledgement, CoversAMissingCellAndNamesAKnownOne) {
  Policy policy;
  policy.acknowledgements = {{.cell = "recall@128", .reason = "retired", .expires = "2026-06-30", .max_drop = {}}};
  const GateCell at64 = cell_of(outcomes_of(200, 200)), at128 = cell_of(outcomes_of(200, 200), 128);
  EXPECT_EQ(check({at64, at128}, {at64}, policy).exit_code(), ExitCode::kOk);
  EXPECT_NE(error_of([&] { check({at64}, {at64}, policy); }).find("'recall@128'"), std::string::npos);
}

TEST(Limits, CeilingsOfPerplexity) {
  Policy policy;
  policy.max_perplexity["text@256"] = 3.0;
  EXPECT_EQ(check({text_cell(1, 32)}, {text_cell(1, 32)}, policy).exit_code(), ExitCode::kOk) << "e is below 3";
  policy.max_perplexity["text@256"] = 2.0;
  EXPECT_EQ(check({text_cell(1, 32)}, {text_cell(1, 32)}, policy).exit_code(), ExitCode::kWorse);
}

TEST(Limits, RatioOfPerplexitiesInTrainingLengths) {
  Policy policy;
  policy.max_perplexity_ratio["8x/1x"] = 1.05;
  const Cells flat = {text_cell(1, 32), text_cell(1.01, 32, 2048, 5)};
  const Cells steep = {text_cell(1, 32), text_cell(1.5, 32, 2048, 5)};
  EXPECT_EQ(check(flat, flat, policy).exit_code(), ExitCode::kOk);
  EXPECT_EQ(check(steep, steep, policy).exit_code(), ExitCode::kWorse);
  const CheckResult missing = check({flat[0]}, {flat[0]}, policy);
  EXPECT_EQ(missing.exit_code(), ExitCode::kWorse);
  EXPECT_NE(missing.cells.front().why.find("not measured at 2048"), std::string::npos) << missing.cells.front().why;
  Cells unknown = flat;
  for (GateCell& cell : unknown) cell.subject.train_length = 0;
  EXPECT_NE(error_of([&] { check(unknown, unknown, policy); }).find("training length"), std::string::npos);
}

TEST(Limits, OnAnUnknownOrMissingCell) {
  Policy policy;
  policy.min_accuracy["recal@64"] = 0.5;
  const Cells cells = {cell_of(outcomes_of(200, 200))};
  EXPECT_NE(error_of([&] { check(cells, cells, policy); }).find("did you mean 'recall@64'"), std::string::npos);
  Policy known;
  known.min_accuracy["recall@128"] = 0.5;
  known.allow_missing = true;
  const CheckResult result = check({cells[0], cell_of(outcomes_of(9, 9), 128)}, cells, known);
  EXPECT_EQ(result.exit_code(), ExitCode::kWorse) << "a floor under a cell that nobody measured is not kept";
}

TEST(Perplexity, SmallRisesNeverFail) {
  // One seed: the documents differ, the rise is the same everywhere.
  expect_verdict(check({text_cell(1, 32)}, {text_cell(1.004, 32)}), Verdict::kSame, ExitCode::kOk);
  expect_verdict(check({text_cell(1, 32)}, {text_cell(1.006, 32)}), Verdict::kWorse, ExitCode::kWorse);
  expect_verdict(check({text_cell(1, 32)}, {text_cell(1, 32)}), Verdict::kSame, ExitCode::kOk);
}

}  // namespace
}  // namespace lenbench
