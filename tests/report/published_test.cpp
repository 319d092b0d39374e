// Published rows beside measured ones.
#include "report/published.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "report/format.h"
#include "tests/report/records.h"

namespace lenbench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<PublishedTable> bundled() { return read_published(LENBENCH_PUBLISHED); }

TEST(Published, BundledTablesAreRead) {
  const std::vector<PublishedTable> tables = bundled();
  EXPECT_THAT(papers(tables),
              ::testing::ElementsAre("note-1", "note-2", "paper-1-mqmtar", "paper-1-sort", "paper-1-reverse",
                                     "paper-1-copy", "repro-mqmtar", "repro-copy", "repro-sort", "paper-lm"));
  const PublishedTable& table = find_published(tables, "mqmtar");
  EXPECT_EQ(table.id, "paper-1-mqmtar");
  EXPECT_EQ(table.source, "paper-v4");
  EXPECT_EQ(table.train_length, 64);
  EXPECT_EQ(table.columns.back().length, 65536);
  EXPECT_EQ(table.rows[2].method, "asentmax");
  EXPECT_EQ(*table.rows[2].values.back(), 95.3);
  EXPECT_EQ(&find_published(tables, "note-1"), &tables[0]);
  EXPECT_THAT(error_of([&] { find_published(tables, "mqmtr"); }), HasSubstr("did you mean 'mqmtar'?"));
}

TEST(Published, AloneInEveryFormat) {
  const std::vector<PublishedTable> tables = bundled();
  for (const PublishedTable& table : tables) {
    const std::vector<Grid> grids = {published_grid(table)};
    for (const std::string& format : format_names()) EXPECT_THAT(render(format, grids), HasSubstr(table.source));
    for (const GridRow& row : grids[0].rows) {
      EXPECT_EQ(row.kind, RowKind::kPublished);
      EXPECT_EQ(row.cells.size(), grids[0].columns.size());
    }
  }
  const std::string sort = render("markdown", std::vector<Grid>{published_grid(find_published(tables, "sort"))});
  EXPECT_THAT(sort, HasSubstr("### sort - exact match, percent"));
  EXPECT_THAT(sort, HasSubstr("| asentmax (paper-v4) (1) |         64 | 100.0 | 100.0 | 79.7 | 0.0 |"));
  EXPECT_THAT(sort, HasSubstr("(1) published, not measured here; paper-v4: arXiv 2506.16640 v4"));
  // Values with names instead of lengths stay as they are printed in the source.
  const std::string lm = render("markdown", std::vector<Grid>{published_grid(find_published(tables, "paper-lm"))});
  EXPECT_THAT(lm, HasSubstr("s_niah_1_at_16384_percent"));
  EXPECT_THAT(lm, HasSubstr("97.4"));
}

TEST(Published, RowsAreNamedBySourceAndNeverMixed) {
  const std::vector<PublishedTable> tables = bundled();
  Record mine = half("mine", 256);
  mine.question.task = "mqmtar";
  Grid grid = build_grids({mine}, {})[0];
  add_published(grid, find_published(tables, "mqmtar"));
  add_published(grid, find_published(tables, "repro-mqmtar"));
  ASSERT_EQ(grid.columns.size(), 7U);
  std::vector<std::string> names;
  for (const GridRow& row : grid.rows) {
    names.push_back(row.name);
    EXPECT_EQ(row.cells.size(), 7U);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"mine", "softmax (paper-v4)", "entmax (paper-v4)", "asentmax (paper-v4)",
                                      "softmax (reproduction)", "entmax (reproduction)", "asentmax (reproduction)"}));
  EXPECT_EQ(grid.rows[0].kind, RowKind::kMeasured);
  EXPECT_EQ(*grid.rows[0].cells[2].value, 0.5);
  EXPECT_EQ(grid.rows[0].cells[0].reason, "not measured");
  EXPECT_DOUBLE_EQ(*grid.rows[3].cells[6].value, 0.953);
  EXPECT_EQ(grid.rows[4].cells[0].reason, "not published");
  EXPECT_DOUBLE_EQ(*grid.rows[4].cells[6].value, 0);
  EXPECT_EQ(grid.rows[4].cells[6].n, 0);
}

TEST(Published, AnotherMetricIsNamedAndAnotherTaskRefused) {
  const std::vector<PublishedTable> tables = bundled();
  Record record = half("mine", 64);
  record.measurement.answer = proportion_of(600, 800, 0.70, 0.79);
  Grid answers = build_grids({record})[0];
  ASSERT_EQ(answers.metric, "answer");
  add_published(answers, find_published(tables, "note-1"));
  std::vector<std::string> names;
  for (const GridRow& row : answers.rows) names.push_back(row.name);
  EXPECT_THAT(names, Contains("softmax (founding-note, exact)"));

  EXPECT_TRUE(is_about(find_published(tables, "note-1"), "recall"));
  EXPECT_FALSE(is_about(find_published(tables, "note-1"), "mqmtar"));
  EXPECT_THAT(error_of([&] { add_published(answers, find_published(tables, "sort")); }),
              HasSubstr("table 'paper-1-sort' is about sort, not about recall"));
  GridRequest entropy;
  entropy.metric = parse_metric("entropy");
  Grid dispersion = build_grids({record}, entropy)[0];
  EXPECT_THAT(error_of([&] { add_published(dispersion, find_published(tables, "note-1")); }),
              HasSubstr("choose --metric exact"));
}

TEST(Published, MalformedFilesAreRefusedByPlace) {
  const std::string path = ::testing::TempDir() + "lenbench_published_test.json";
  const auto message = [&](const std::string& text) {
    std::ofstream(path) << text;
    return error_of([&] { read_published(path); });
  };
  EXPECT_THAT(message("{}"), HasSubstr("'sources' is missing"));
  EXPECT_THAT(message(R"({"sources": {}, "tables": 3})"), HasSubstr("'tables' must be an array"));
  const std::string head = R"({"sources": {"s": "x"}, "tables": [{"id": "t", "task": "a", "metric": "m", )";
  EXPECT_THAT(message(head + R"("source": "q", "lengths": [1], "rows": []}]})"), HasSubstr("'q' is missing"));
  EXPECT_THAT(message(head + R"("source": "s", "lengths": [1], "rows": [{"method": "x", "values": [1, 2]}]}]})"),
              HasSubstr("row 'x': 1 values were expected"));
  EXPECT_THAT(message(head + R"("source": "s", "lengths": [1], "rows": [{"method": "x", "values": ["1"]}]}]})"),
              HasSubstr("a number or null was expected"));
  EXPECT_THAT(message(head + R"("source": "s", "lengths": [1.5], "rows": []}]})"), HasSubstr("a whole number"));
  EXPECT_THAT(message("[1"), HasSubstr(path));
  std::remove(path.c_str());
  EXPECT_THAT(error_of([&] { read_published(path); }), HasSubstr(path));
}

}  // namespace
}  // namespace lenbench
