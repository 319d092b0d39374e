// Comparison tables.
#include "verdict/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "report/grid_text.h"

namespace lenbench {

namespace {

std::string why_not(const CellPair& pair) {
  switch (pair.pairing) {
    case Pairing::kMissing:
      return "only on the first side";
    case Pairing::kNew:
      return "only on the second side";
    case Pairing::kNotComparable:
      return "another question: " + pair.why;
    default:
      break;
  }
  for (const auto& [cell, side] : {std::pair(pair.first, "first"), std::pair(pair.second, "second")}) {
    if (cell->status != "ok")
      return std::string(cell->status) + " on the " + side + " side: " + printable(cell->reason);
  }
  return pair.why;
}

std::string number(double value) { return std::isfinite(value) ? format_real(value) : ""; }

std::vector<std::string> plain_row(const ComparedCell& cell) {
  if (!cell.evidence) return {cell.name, "", "", "", "", "", "", "", "", "", cell.why};
  const Evidence& seen = *cell.evidence;
  const bool flips = seen.paired && !seen.is_perplexity;
  return {cell.name,
          seen.is_perplexity ? "perplexity" : "exact_match",
          number(seen.first_value),
          number(seen.second_value),
          number(seen.change),
          number(seen.low),
          number(seen.high),
          std::to_string(seen.n),
          flips ? std::to_string(seen.lost) : "",
          flips ? std::to_string(seen.gained) : "",
          cell.why};
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

const std::vector<std::string> kColumns = {"cell", "metric", "first",   "second",           "change",
                                           "low",  "high",   "samples", "right_only_first", "right_only_second",
                                           "note"};

std::string csv_text(const std::vector<ComparedCell>& cells) {
  std::string text = join(kColumns, ",") + "\n";
  for (const ComparedCell& cell : cells) {
    std::vector<std::string> fields;
    for (const std::string& field : plain_row(cell)) fields.push_back(csv_field(field));
    text += join(fields, ",") + "\n";
  }
  return text;
}

nlohmann::ordered_json finite(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

std::string json_text(const std::vector<ComparedCell>& cells, const std::string& first_name,
                      const std::string& second_name) {
  nlohmann::ordered_json json = {{"first", first_name}, {"second", second_name}};
  json["cells"] = nlohmann::ordered_json::array();
  for (const ComparedCell& cell : cells) {
    nlohmann::ordered_json item = {{"cell", cell.name}, {"comparable", cell.evidence.has_value()}, {"note", cell.why}};
    if (cell.evidence) {
      const Evidence& seen = *cell.evidence;
      item["metric"] = seen.is_perplexity ? "perplexity" : "exact_match";
      item["paired"] = seen.paired;
      item["first"] = finite(seen.first_value);
      item["second"] = finite(seen.second_value);
      item["change"] = finite(seen.change);
      item["low"] = finite(seen.low);
      item["high"] = finite(seen.high);
      item["samples"] = seen.n;
      if (seen.paired && !seen.is_perplexity) {
        item["right_only_first"] = seen.lost;
        item["right_only_second"] = seen.gained;
      }
    }
    json["cells"].push_back(std::move(item));
  }
  return dump_json(json) + "\n";
}

std::string signed_percent(double value) {
  return std::isfinite(value) ? fmt::format("{:+.1f}", 100 * value) : value > 0 ? "+inf" : "-inf";
}

std::string markdown_text(const std::vector<ComparedCell>& cells, const std::string& first_name,
                          const std::string& second_name) {
  std::vector<std::vector<std::string>> rows;
  Notes notes;
  for (const ComparedCell& cell : cells) {
    const std::string name = cell.name + notes.mark(cell.why);
    if (!cell.evidence) {
      rows.push_back({name, "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const Evidence& seen = *cell.evidence;
    const auto value = [&](double of) {
      return seen.is_perplexity ? fmt::format("{:.3f}", of) : fmt::format("{:.1f}", 100 * of);
    };
    const bool flips = seen.paired && !seen.is_perplexity;
    rows.push_back(
        {name, value(seen.first_value), value(seen.second_value),
         signed_percent(seen.change) + " [" + signed_percent(seen.low) + ", " + signed_percent(seen.high) + "]",
         std::to_string(seen.n), flips ? std::to_string(seen.lost) : "-", flips ? std::to_string(seen.gained) : "-"});
  }
  std::string text =
      markdown_table({"cell", first_name, second_name, "change", "n", "right only before", "right only after"}, rows);
  text +=
      "\n*Exact match in percent, change in points with its 95 % interval (paired: Agresti-Min, else Newcombe); "
      "perplexity, change in percent.*\n";
  const std::string list = markdown_notes(notes.list());
  return list.empty() ? text : text + "\n" + list;
}

}  // namespace

std::vector<ComparedCell> compare_cells(const std::vector<GateCell>& first, const std::vector<GateCell>& second) {
  std::vector<ComparedCell> cells;
  for (const CellPair& pair : match_cells(first, second)) {
    ComparedCell cell;
    cell.name = pair.name;
    cell.pairing = pair.pairing;
    const bool matched = pair.pairing == Pairing::kPaired || pair.pairing == Pairing::kUnpaired;
    if (matched && pair.first->status == "ok" && pair.second->status == "ok") {
      cell.evidence = weigh(pair, Policy{}, TestLevels{});
    }
    cell.why = why_not(pair);
    cells.push_back(std::move(cell));
  }
  return cells;
}

std::vector<std::string> compare_formats() { return {"markdown", "csv", "json"}; }

std::string compare_text(const std::vector<ComparedCell>& cells, const std::string& format,
                         const std::string& first_name, const std::string& second_name) {
  if (format == "csv") return csv_text(cells);
  if (format == "json") return json_text(cells, first_name, second_name);
  return markdown_text(cells, first_name, second_name);
}

}  // namespace lenbench
