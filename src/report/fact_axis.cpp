// Facts by name, and what an axis says of them.
#include "report/fact_axis.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"

namespace lenbench {

namespace {

constexpr const char* kEffective = "effective";

const std::pair<const char*, const char*> kTitles[] = {
    {kEffective, "effective length, tokens fed"},
    {"given_tokens", "tokens given"},
    {"prompt_tokens", "tokens of the prompt"},
    {"distance", "distance from the query to what it asks for, tokens"},
    {"distance_min", "least distance from a query to what it asks for, tokens"},
    {"distance_max", "largest distance from a query to what it asks for, tokens"},
    {"pairs", "pairs in the context"},
    {"density", "pairs per context token"},
    {"depth", "depth of the answer"},
};

}  // namespace

std::optional<double> fact_of(const Record& record, const std::string& name) {
  const Measurement& m = record.measurement;
  if (name == kEffective) {
    if (m.effective_tokens_max == 0) return std::nullopt;
    return (static_cast<double>(m.effective_tokens_min) + static_cast<double>(m.effective_tokens_max)) / 2;
  }
  const auto found = m.facts.find(name);
  return found == m.facts.end() ? std::nullopt : std::optional(found->second.mean);
}

std::vector<std::string> fact_names(const std::vector<Record>& records) {
  std::set<std::string> names;
  for (const Record& record : records) {
    if (record.measurement.effective_tokens_max > 0) names.insert(kEffective);
    for (const auto& [name, range] : record.measurement.facts) names.insert(name);
  }
  return {names.begin(), names.end()};
}

void require_fact(const std::vector<Record>& records, const std::string& name) {
  const std::vector<std::string> known = fact_names(records);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw Error("these Records say nothing of '" + printable(name) + "'" + did_you_mean(name, known) +
              (known.empty() ? "; they hold no facts of their samples" : "; they hold " + join(known, ", ")));
}

ChartAxis fact_axis(const std::string& name, const std::vector<double>& values) {
  ChartAxis axis;
  axis.is_length = false;
  axis.title = name;
  for (const auto& [known, title] : kTitles) {
    if (name == known) axis.title = title;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  axis.log = !values.empty() && *low > 0 && *high >= 8 * *low;
  if (axis.log) axis.title += " (log scale)";
  return axis;
}

}  // namespace lenbench
