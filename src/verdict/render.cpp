// Tables and JSON of a check.
#include "verdict/render.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/json.h"
#include "report/grid_text.h"

namespace lenbench {

namespace {

std::string value_text(const Evidence& seen, double value) {
  return seen.is_perplexity ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", 100 * value);
}

std::string signed_percent(double value) {
  return std::isfinite(value) ? fmt::format("{:+.1f}", 100 * value) : value > 0 ? "+inf" : "-inf";
}

std::vector<std::string> row_of(const CellVerdict& cell) {
  std::string word = verdict_name(cell.verdict);
  if (cell.acknowledged) word += " (acknowledged)";
  if (!cell.evidence) return {word, cell.name, "-", "-", "-", "-", "-", "-", cell.why};
  const Evidence& seen = *cell.evidence;
  const std::string change =
      signed_percent(seen.change) + " [" + signed_percent(seen.low) + ", " + signed_percent(seen.high) + "]";
  const bool flips = seen.paired && !seen.is_perplexity;
  const std::string detectable = std::isfinite(seen.detectable) ? fmt::format("{:.1f}", 100 * seen.detectable) : "-";
  return {word,
          cell.name,
          value_text(seen, seen.first_value),
          value_text(seen, seen.second_value),
          change,
          std::to_string(seen.n),
          flips ? fmt::format("{} / {}", seen.lost, seen.gained) : "-",
          detectable,
          cell.why};
}

const std::vector<std::string> kHeader = {"verdict", "cell",          "baseline",  "now", "change",
                                          "n",       "lost / gained", "could see", "why"};

std::string table_of(const std::vector<const CellVerdict*>& cells) {
  std::vector<std::vector<std::string>> rows;
  for (const CellVerdict* cell : cells) rows.push_back(row_of(*cell));
  return markdown_table(kHeader, rows);
}

nlohmann::ordered_json finite(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json cell_json(const CellVerdict& cell) {
  nlohmann::ordered_json json;
  json["cell"] = cell.name;
  json["verdict"] = verdict_name(cell.verdict);
  json["red"] = cell.red;
  json["acknowledged"] = cell.acknowledged;
  json["why"] = cell.why;
  json["p_worse_adjusted"] = cell.p_worse;
  if (!cell.evidence) return json;
  const Evidence& seen = *cell.evidence;
  json["metric"] = seen.is_perplexity ? "perplexity" : "exact_match";
  json["paired"] = seen.paired;
  json["samples"] = seen.n;
  json["baseline"] = finite(seen.first_value);
  json["now"] = finite(seen.second_value);
  json["change"] = finite(seen.change);
  json["change_low"] = finite(seen.low);
  json["change_high"] = finite(seen.high);
  json["lost"] = seen.lost;
  json["gained"] = seen.gained;
  json["detectable_drop"] = finite(seen.detectable);
  json["deciding_samples"] = cell.verdict == Verdict::kUndecided ? nlohmann::ordered_json(seen.deciding_n) : nullptr;
  return json;
}

}  // namespace

std::string check_table(const CheckResult& result) {
  std::vector<const CellVerdict*> cells;
  for (const CellVerdict& cell : result.cells) cells.push_back(&cell);
  return table_of(cells) + "\n" + result.summary() + "\n";
}

std::string check_markdown(const CheckResult& result, const CheckHeading& heading, const Policy& policy) {
  std::string text = "### lenbench: " + markdown_escape(result.summary()) + "\n\n";
  text += markdown_escape(heading.now) + " against " + markdown_escape(heading.baseline);
  if (!heading.baseline_sha256.empty()) text += " (SHA-256 " + heading.baseline_sha256.substr(0, 12) + ")";
  text += fmt::format(
      "; over all cells at most {:g} % of checks call an unchanged model worse, drops up to {:g} points never "
      "fail.\n\n",
      100 * policy.alpha, 100 * policy.smallest_effect);
  std::vector<const CellVerdict*> shown, folded;
  for (const CellVerdict& cell : result.cells) {
    const bool quiet = cell.verdict == Verdict::kSame || cell.verdict == Verdict::kBetter;
    (quiet ? folded : shown).push_back(&cell);
  }
  if (!shown.empty()) text += table_of(shown) + "\n";
  if (!folded.empty()) {
    text += fmt::format("<details><summary>{} cells without a loss</summary>\n\n", folded.size()) + table_of(folded) +
            "\n</details>\n";
  }
  return text + "\n";
}

std::string check_json(const CheckResult& result, const CheckHeading& heading, const Policy& policy) {
  nlohmann::ordered_json json;
  json["format"] = "lenbench-check";
  json["schema"] = 1;
  json["now"] = heading.now;
  json["baseline"] = heading.baseline;
  json["baseline_sha256"] = heading.baseline_sha256;
  json["baseline_source_commit"] = heading.baseline_commit;
  json["policy_source"] = heading.policy_source;
  json["policy"] = write_fields(policy, "policy");
  json["summary"] = result.summary();
  json["exit_code"] = static_cast<int>(result.exit_code());
  json["hypotheses"] = result.family;
  json["cells"] = nlohmann::ordered_json::array();
  for (const CellVerdict& cell : result.cells) json["cells"].push_back(cell_json(cell));
  return dump_json(json) + "\n";
}

}  // namespace lenbench
