// Every format's render of one fixed set of Records, byte for byte. LENBENCH_UPDATE_GOLDEN=1 writes them anew.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/report.h"
#include "report/vega.h"
#include "tests/base/german_locale.h"
#include "tests/report/golden_grids.h"

namespace lenbench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(LENBENCH_TEST_DATA) + "/golden/report/" + name;
  if (std::getenv("LENBENCH_UPDATE_GOLDEN") != nullptr) {
    create_parent_folders(path);
    write_file_atomically(path, text);
    GTEST_SKIP() << path << " written anew";
  }
  EXPECT_EQ(text, read_file(path)) << name;
}

class GoldenTable : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(GoldenTable, IsTheSameInEveryLocale) {
  const auto [format, file] = GetParam();
  const std::string text = render(format, build_grids(golden_records()));
  {
    const GermanLocale german;
    EXPECT_EQ(render(format, build_grids(golden_records())), text);
  }
  expect_golden(file, text);
}

INSTANTIATE_TEST_SUITE_P(Formats, GoldenTable,
                         ::testing::Values(std::pair("markdown", "table.md"), std::pair("csv", "table.csv"),
                                           std::pair("json", "table.json"), std::pair("latex", "table.tex"),
                                           std::pair("html", "table.html")),
                         [](const auto& each) { return std::string(each.param.first); });

TEST(GoldenTableSuite, CoversEveryFormat) { EXPECT_EQ(format_names().size(), 5U); }

TEST(GoldenFigure, VegaLite) {
  const std::vector<Figure> figures = {accuracy_figure(golden_records(), {})};
  const std::string text = vega_lite(figures);
  {
    const GermanLocale german;
    EXPECT_EQ(vega_lite(figures), text);
  }
  expect_golden("accuracy.vl.json", text);
}

TEST(GoldenReport, Page) {
  ReportRequest request;
  request.producer = "lenbench <test>";
  request.questions = {{"recall at 64", "", {{"recall:64:0", "1 2 </pre><script>", "\"3\"", {{kHostile, "right"}}}}}};
  const std::string text = html_report(golden_records(), request);
  {
    const GermanLocale german;
    EXPECT_EQ(html_report(golden_records(), request), text);
  }
  EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(text, Not(HasSubstr("</pre><script>")));
  expect_golden("report.html", text);
}

TEST(Hostile, NamesAreTextInEveryFormat) {
  const std::vector<Grid> grids = build_grids(golden_records());
  EXPECT_THAT(render("html", grids), HasSubstr("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;|50%_&amp;"));
  EXPECT_THAT(render("html", grids), Not(HasSubstr("<script")));
  EXPECT_THAT(render("markdown", grids), HasSubstr("\\<script>alert(\"x\")\\</script>\\|50%_&"));
  EXPECT_THAT(render("csv", grids), HasSubstr("\"<script>alert(\"\"x\"\")</script>|50%_&\""));
  EXPECT_THAT(render("json", grids), HasSubstr("<script>alert(\\\"x\\\")</script>|50%_&"));
  EXPECT_THAT(render("latex", grids),
              HasSubstr("\\textless{}script\\textgreater{}alert({\\ttfamily\\char34}x{\\ttfamily"
                        "\\char34})\\textless{}/script\\textgreater{}\\textbar{}50\\%\\_\\&"));
  EXPECT_THAT(render("latex", grids), HasSubstr("\\ensuremath{\\alpha}-entmax \xC3\xA9"));
}

TEST(Hostile, NoFormatRefersToTheNetwork) {
  ReportRequest request;
  for (const std::string& text :
       {render("html", build_grids(golden_records())), html_report(golden_records(), request)}) {
    for (const char* reference : {"http:", "https:", "src=", "url(", "@import", "<link"}) {
      EXPECT_THAT(text, Not(HasSubstr(reference)));
    }
  }
}

}  // namespace
}  // namespace lenbench
