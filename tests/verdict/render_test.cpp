// Reports: JUnit against the schema, Markdown and JSON against hostile names.
#include "verdict/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/verdict/cells.h"

namespace lenbench {
namespace {

const CheckHeading kHeading{.now = "a <b> & \"c\" | `d`\n",
                            .baseline = "ci.json",
                            .baseline_sha256 = "0123456789abcdef",
                            .baseline_commit = "c0ffee",
                            .policy_source = "defaults"};

// One of each verdict.
CheckResult every_verdict() {
  std::vector<GateCell> baseline, now;
  for (std::int64_t length : {64, 65, 66, 67, 68, 69}) baseline.push_back(cell_of(outcomes_of(100, 200), length));
  baseline.push_back(cell_of("1", 70, "a<&>\"'\x01\xEF\xBF\xBF|`"));
  now = baseline;
  now[0].outcomes = outcomes_of(0, 200);
  now.erase(now.begin() + 1);
  now[1].status = "failed";
  now[1].reason = "out of memory <script>";
  now[2].question.task_version = 2;
  now[3].outcomes = outcomes_of(200, 200);
  now.push_back(cell_of("1", 71));
  return judge(baseline, now, {}, {.today = "2026-01-01", .watched = {}, .left_out = {}});
}

TEST(JUnit, FitsTheSchema) {
  const std::string xml = check_junit(every_verdict(), kHeading);
  const TemporaryFolder folder;
  std::ofstream(folder / "check.xml") << xml;
  const std::string command = "xmllint --noout --schema '" LENBENCH_TEST_DATA "/verdict/junit.xsd' '" +
                              (folder / "check.xml") + "' 2>'" + (folder / "err") + "'";
  const int code = std::system(command.c_str());
  std::ifstream errors(folder / "err");
  EXPECT_EQ(code, 0) << std::string(std::istreambuf_iterator<char>(errors), {}) << xml
                     << "\n(xmllint is in Debian's libxml2-utils)";
  // The schema itself can refuse: an element it does not know.
  std::ofstream(folder / "bad.xml") << "<testsuites><suite/></testsuites>";
  const std::string bad =
      "xmllint --noout --schema '" LENBENCH_TEST_DATA "/verdict/junit.xsd' '" + (folder / "bad.xml") + "' 2>/dev/null";
  EXPECT_NE(std::system(bad.c_str()), 0);
}

TEST(JUnit, CountsWhatItHolds) {
  const CheckResult result = every_verdict();
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(check_junit(result, kHeading).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  for (const pugi::xml_node& test : suite.children("testcase")) {
    ++tests;
    failures += test.child("failure") ? 1 : 0;
    errors += test.child("error") ? 1 : 0;
    skipped += test.child("skipped") ? 1 : 0;
  }
  EXPECT_EQ(tests, static_cast<int>(result.cells.size()));
  EXPECT_EQ(failures, 2) << "worse and missing";
  EXPECT_EQ(errors, 2) << "failed and not comparable";
  EXPECT_EQ(skipped, 1) << "undecided";
  EXPECT_EQ(suite.attribute("tests").as_int(), tests);
  EXPECT_EQ(suite.attribute("failures").as_int(), failures);
  EXPECT_EQ(suite.attribute("errors").as_int(), errors);
  EXPECT_EQ(suite.attribute("skipped").as_int(), skipped);
}

TEST(Table, WorstFirstAndOneLineACell) {
  const CheckResult result = every_verdict();
  std::vector<std::string> words;
  for (const CellVerdict& cell : result.cells) words.push_back(verdict_name(cell.verdict));
  EXPECT_EQ(words, (std::vector<std::string>{"worse", "missing", "failed", "not-comparable", "undecided", "new",
                                             "better", "same"}));
  const std::string table = check_table(result);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), static_cast<std::ptrdiff_t>(result.cells.size()) + 4);
  EXPECT_NE(table.find("FAIL"), std::string::npos);
}

TEST(Markdown, FoldsWhatIsFineAndEscapesTheRest) {
  const std::string text = check_markdown(every_verdict(), kHeading, {});
  EXPECT_TRUE(text.starts_with("### lenbench: 1 worse, 1 missing"));
  EXPECT_NE(text.find("<details><summary>2 cells without a loss</summary>"), std::string::npos);
  EXPECT_EQ(text.find("<script>"), text.find("\\<script>") + 1) << "escaped wherever it stands";
  EXPECT_EQ(text.find("\x01"), std::string::npos);
}

TEST(Json, HasEveryCell) {
  const CheckResult result = every_verdict();
  const auto json = nlohmann::json::parse(check_json(result, kHeading, {}));
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["cells"].size(), result.cells.size());
  EXPECT_EQ(json["cells"][0]["verdict"], "worse");
  EXPECT_EQ(json["cells"][0]["lost"], 100);
  EXPECT_TRUE(json["cells"][0]["red"]);
}

}  // namespace
}  // namespace lenbench
