// Baselines, policies, matching and comparison tables.
#include "verdict/baseline.h"

#include <gtest/gtest.h>

#include "tests/base/expect_error.h"
#include "tests/verdict/cells.h"
#include "verdict/compare.h"
#include "verdict/matching.h"

namespace lenbench {
namespace {

Baseline sample_baseline() {
  Baseline baseline;
  baseline.written_at = "2026-01-02T03:04:05Z";
  baseline.source_commit = "c0ffee";
  baseline.policy.alpha = 0.01;
  baseline.policy.min_accuracy["recall@64"] = 0.9;
  baseline.policy.acknowledgements = {
      {.cell = "recall@64", .reason = "why \"not\"", .expires = "2026-12-31", .max_drop = 0.25}};
  baseline.cells = {cell_of("1101"), cell_of("000000001", 128), text_cell(1.25, 3)};
  baseline.cells[0].subject.name = "模型|\n\"x\"";
  return baseline;
}

TEST(Outcomes, PackFourToADigit) {
  EXPECT_EQ(pack_outcomes("1101"), "d");
  EXPECT_EQ(pack_outcomes("11011"), "d8");
  EXPECT_EQ(pack_outcomes(""), "");
  for (const std::string outcomes : {"1", "0", "10110", "00000000", "111111111"}) {
    EXPECT_EQ(unpack_outcomes(pack_outcomes(outcomes), static_cast<std::int64_t>(outcomes.size()), "x"), outcomes);
  }
  EXPECT_NE(error_of([] { unpack_outcomes("d8", 4, "x"); }).find("2 digits for 4 samples"), std::string::npos);
  EXPECT_NE(error_of([] { unpack_outcomes("g", 4, "x"); }).find("'g'"), std::string::npos);
  EXPECT_NE(error_of([] { unpack_outcomes("f", 3, "x"); }).find("behind the last"), std::string::npos);
}

TEST(Baseline, SurvivesARoundTrip) {
  const Baseline before = sample_baseline();
  const std::string text = baseline_text(before);
  EXPECT_TRUE(is_baseline(text));
  const Baseline after = parse_baseline(text, "b.json");
  EXPECT_EQ(after.policy, before.policy);
  EXPECT_EQ(after.source_commit, "c0ffee");
  ASSERT_EQ(after.cells.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(after.cells[i].question, before.cells[i].question);
    EXPECT_EQ(after.cells[i].subject, before.cells[i].subject);
    EXPECT_EQ(after.cells[i].outcomes, before.cells[i].outcomes);
    EXPECT_EQ(after.cells[i].nats, before.cells[i].nats);
    EXPECT_EQ(after.cells[i].tokens, before.cells[i].tokens);
  }
  Baseline again = after;
  EXPECT_EQ(baseline_text(again), text);
}

TEST(Baseline, IsCompact) {
  Baseline baseline;
  baseline.cells = {cell_of(outcomes_of(500, 1000))};
  EXPECT_LT(baseline_text(baseline).size(), 1500u);
}

TEST(Baseline, HoldsResultsOnly) {
  Baseline baseline = sample_baseline();
  baseline.cells[1].status = "failed";
  baseline.cells[1].reason = "out of memory";
  EXPECT_NE(error_of([&] { baseline_text(baseline); }, ExitCode::kNotMeasured).find("out of memory"),
            std::string::npos);
}

TEST(Baseline, RefusesWhatItCannotRead) {
  const std::string text = baseline_text(sample_baseline());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  const auto message = [](const std::string& bytes) { return error_of([&] { parse_baseline(bytes, "b.json"); }); };
  EXPECT_NE(message(with("\"schema\": 1", "\"schema\": 2")).find("schema 2 is newer than schema 1"), std::string::npos);
  EXPECT_NE(message("{}").find("not a baseline"), std::string::npos);
  EXPECT_NE(message("[]").find("not a baseline"), std::string::npos);
  EXPECT_NE(message(with("\"outcomes\":\"d\"", "\"outcomes\":\"dd\"")).find("cells[0]"), std::string::npos);
  EXPECT_NE(message(with("\"samples\":4", "\"samples\":0")).find("at least 1"), std::string::npos);
  EXPECT_NE(message(with("\"length\":128", "\"length\":64")).find("recall@64 twice"), std::string::npos);
  EXPECT_NE(message(with("written_at", "writen_at")).find("writen_at"), std::string::npos);
  EXPECT_NE(message(with("\"alpha\":0.01", "\"alpha\":1")).find("alpha is 1"), std::string::npos);
  EXPECT_NE(message(with("2026-12-31", "2026-02-30")).find("2026-02-30"), std::string::npos);
  EXPECT_NE(message(with("[100,100,100]", "[100,100]")).find("differ in length"), std::string::npos);
  EXPECT_NE(message(text.substr(0, text.size() / 2)).find("b.json"), std::string::npos);
}

TEST(Baseline, UpdatesTheNamedCellsOnly) {
  Baseline baseline = sample_baseline();
  std::vector<GateCell> update = {cell_of("0000"), cell_of("111111111", 128), cell_of("11", 256)};
  EXPECT_EQ(update_cells(baseline, update, {"recall@128"}), std::vector<std::string>{"recall@128"});
  ASSERT_EQ(baseline.cells.size(), 3u);
  EXPECT_EQ(baseline.cells[0].outcomes, "1101");
  EXPECT_EQ(baseline.cells[1].outcomes, "111111111");
  EXPECT_NE(error_of([&] { update_cells(baseline, update, {"recall@99"}); }).find("'recall@99'"), std::string::npos);
  EXPECT_EQ(update_cells(baseline, update, {}).size(), 3u);
  ASSERT_EQ(baseline.cells.size(), 4u);
  EXPECT_EQ(baseline.cells[0].outcomes, "0000");
  EXPECT_EQ(baseline.cells[3].question.length, 256);
  // A newer version of the task takes the place of the old question.
  update = {cell_of("1010")};
  update[0].question.task_version = 2;
  update_cells(baseline, update, {});
  EXPECT_EQ(baseline.cells.size(), 4u);
  EXPECT_EQ(baseline.cells[0].question.task_version, 2);
}

TEST(Policy, RatiosOfLengths) {
  const LengthRatio relative = parse_length_ratio("8x/1x", 64, "here");
  EXPECT_EQ(relative.longer, 512);
  EXPECT_EQ(relative.shorter, 64);
  EXPECT_EQ(parse_length_ratio("8192/1024", 0, "here").longer, 8192);
  for (const char* bad : {"8x", "8x/0x", "a/b", "8x/1x/2x", "/", ""}) {
    error_of([&] { parse_length_ratio(bad, 64, "here"); });
  }
  error_of([] { parse_length_ratio("8x/1x", 0, "here"); });
}

TEST(Policy, DaysOfTheCalendar) {
  EXPECT_TRUE(is_date("2028-02-29"));
  for (const char* bad : {"2026-02-29", "2026-13-01", "2026-1-01", "tomorrow", "", "2026-01-01 "}) {
    EXPECT_FALSE(is_date(bad)) << bad;
  }
}

TEST(Names, TellCellsApart) {
  GateCell dense = cell_of("1"), seeded = cell_of("1"), validation = cell_of("1", 128), test = cell_of("1", 128);
  dense.question.parameters["density"] = "4";
  seeded.question.data_seed = 3;
  validation.question.split = "validation";
  const std::vector<std::string> names =
      display_names({cell_of("1").question, dense.question, seeded.question, validation.question, test.question,
                     cell_of("1", 256).question});
  EXPECT_EQ(names, (std::vector<std::string>{"recall:density=8@64", "recall:density=4@64", "recall:density=8@64 seed 3",
                                             "recall@128 validation", "recall@128 test", "recall@256"}));
}

TEST(Matching, PrefersTheSameQuestion) {
  GateCell dense = cell_of("1");
  dense.question.parameters["density"] = "4";
  const std::vector<GateCell> first = {dense, cell_of("1")}, second = {cell_of("0"), dense};
  const std::vector<CellPair> pairs = match_cells(first, second);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].second, &second[1]);
  EXPECT_EQ(pairs[1].second, &second[0]);
  for (const CellPair& pair : pairs) EXPECT_EQ(pair.pairing, Pairing::kPaired);
}

TEST(Matching, SeedsPairOneToOne) {
  std::vector<GateCell> first = {cell_of("1"), cell_of("1")}, second = first;
  first[1].question.data_seed = 1;
  second[0].question.data_seed = 5;
  second[1].question.data_seed = 6;
  const std::vector<CellPair> pairs = match_cells(first, second);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].pairing, Pairing::kUnpaired);
  EXPECT_EQ(pairs[1].pairing, Pairing::kUnpaired);
  EXPECT_NE(pairs[0].second, pairs[1].second);
}

TEST(Compare, CountsFlipsAndSaysWhyNot) {
  GateCell other_version = cell_of("11", 128), failed = cell_of("", 256);
  other_version.question.task_version = 2;
  failed.status = "failed";
  failed.reason = "out of memory, \"oom\"";
  const std::vector<ComparedCell> cells =
      compare_cells({cell_of("1110000"), cell_of("11", 128), cell_of("1", 256), cell_of("1", 512)},
                    {cell_of("0111100"), other_version, failed, cell_of("1", 1024)});
  ASSERT_EQ(cells.size(), 5u);
  EXPECT_EQ(cells[0].evidence->lost, 1);
  EXPECT_EQ(cells[0].evidence->gained, 2);
  EXPECT_DOUBLE_EQ(cells[0].evidence->change, 1.0 / 7);
  EXPECT_EQ(cells[1].why, "another question: task version 1 against 2");
  EXPECT_EQ(cells[2].why, "failed on the second side: out of memory, \"oom\"");
  EXPECT_EQ(cells[3].why, "only on the first side");
  EXPECT_EQ(cells[4].why, "only on the second side");
  const std::string csv = compare_text(cells, "csv", "a", "b");
  EXPECT_NE(csv.find("\"failed on the second side: out of memory, \"\"oom\"\"\""), std::string::npos) << csv;
  const std::string markdown = compare_text(cells, "markdown", "a|b", "b");
  EXPECT_NE(markdown.find("a\\|b"), std::string::npos);
  EXPECT_NE(markdown.find("(1) another question"), std::string::npos) << markdown;
  EXPECT_NE(compare_text(cells, "json", "a", "b").find("\"right_only_second\":2"), std::string::npos);
}

TEST(Compare, PerplexityIsRelative) {
  const std::vector<ComparedCell> cells = compare_cells({text_cell(1, 16)}, {text_cell(1.01, 16)});
  EXPECT_NEAR(cells[0].evidence->change, std::expm1(0.01), 1e-9) << "the spread between documents cancels";
  EXPECT_NEAR(cells[0].evidence->high - cells[0].evidence->low, 0, 1e-6);
}

}  // namespace
}  // namespace lenbench
