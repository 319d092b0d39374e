// JUnit XML as Ant and Jenkins read it.
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "base/text.h"
#include "verdict/render.h"

namespace lenbench {

namespace {

// `printable` leaves no control character; what XML 1.0 forbids beyond those is U+FFFE and U+FFFF.
std::string xml_text(const std::string& text) {
  std::string safe = printable(text);
  for (const char* forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = safe.find(forbidden); at != std::string::npos; at = safe.find(forbidden)) {
      safe.replace(at, 3, "?");
    }
  }
  return safe;
}

void add_outcome(pugi::xml_node& test, const char* element, const char* type, const CellVerdict& cell) {
  pugi::xml_node node = test.append_child(element);
  if (type != nullptr) node.append_attribute("type").set_value(type);
  node.append_attribute("message").set_value(xml_text(verdict_name(cell.verdict) + ": " + cell.why).c_str());
}

}  // namespace

std::string check_junit(const CheckResult& result, const CheckHeading& heading) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version").set_value("1.0");
  declaration.append_attribute("encoding").set_value("UTF-8");
  pugi::xml_node suite = document.append_child("testsuites").append_child("testsuite");
  int failures = 0, errors = 0, skipped = 0;
  suite.append_attribute("name").set_value(
      xml_text("lenbench check " + heading.now + " against " + heading.baseline).c_str());
  const char* const attributes[] = {"tests", "failures", "errors", "skipped"};
  for (const char* name : attributes) suite.append_attribute(name).set_value(0);
  suite.append_attribute("time").set_value("0");
  for (const CellVerdict& cell : result.cells) {
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("classname")
        .set_value(xml_text("lenbench." + cell.cell.substr(0, cell.cell.find('@'))).c_str());
    test.append_attribute("name").set_value(xml_text(cell.name).c_str());
    test.append_attribute("time").set_value("0");
    const bool unusable = cell.verdict == Verdict::kFailed || cell.verdict == Verdict::kNotComparable;
    const std::string verdict = verdict_name(cell.verdict);
    if (cell.red || (cell.verdict == Verdict::kMissing && !result.overlap)) {
      add_outcome(test, "failure", verdict.c_str(), cell);
      ++failures;
    } else if (unusable) {
      add_outcome(test, "error", verdict.c_str(), cell);
      ++errors;
    } else if (cell.acknowledged || cell.verdict == Verdict::kUndecided || cell.verdict == Verdict::kMissing) {
      add_outcome(test, "skipped", nullptr, cell);
      ++skipped;
    }
  }
  suite.attribute("tests").set_value(static_cast<long long>(result.cells.size()));
  suite.attribute("failures").set_value(failures);
  suite.attribute("errors").set_value(errors);
  suite.attribute("skipped").set_value(skipped);
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace lenbench
