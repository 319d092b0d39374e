// What a Grid's cells, title and caption read.
#include "report/grid_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"

namespace lenbench {

namespace {

bool starts_with(const std::string& text, std::string_view head) { return text.rfind(head, 0) == 0; }

// "1000", "500-1000" or "" (nothing measured) for one column.
std::string samples_text(const Grid& grid, std::size_t column) {
  std::int64_t low = 0, high = 0;
  for (const GridRow& row : grid.rows) {
    const std::int64_t n = row.cells[column].n;
    if ((row.kind != RowKind::kMeasured && row.kind != RowKind::kFloor) || n == 0) continue;
    low = low == 0 ? n : std::min(low, n);
    high = std::max(high, n);
  }
  if (high == 0) return "";
  return low == high ? std::to_string(low) : fmt::format("{}-{}", low, high);
}

std::string n_text(const Grid& grid) {
  std::set<std::string> different;
  std::vector<std::string> each;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    const std::string samples = samples_text(grid, i);
    if (samples.empty()) continue;
    different.insert(samples);
    each.push_back(fmt::format("{} at {}", samples, grid.columns[i].label));
  }
  if (different.empty()) return "";
  return "n = " + (different.size() == 1 ? *different.begin() : join(each, ", ")) + " samples";
}

std::string seeds_text(const Grid& grid) {
  std::set<std::uint64_t> seeds;
  std::int64_t checkpoints = 0, repeats = 0;
  for (const GridRow& row : grid.rows) {
    for (const GridCell& cell : row.cells) {
      seeds.insert(cell.data_seeds.begin(), cell.data_seeds.end());
      checkpoints = std::max(checkpoints, cell.checkpoints);
      repeats = std::max(repeats, cell.repeats);
    }
  }
  if (seeds.empty()) return "";
  std::vector<std::string> names;
  for (const std::uint64_t seed : seeds) names.push_back(std::to_string(seed));
  std::string text = fmt::format("data seed{} {}", names.size() > 1 ? "s" : "", join(names, ", "));
  if (checkpoints > 1) text += fmt::format(", up to {} checkpoints", checkpoints);
  const std::string runs = repeats > 1 ? fmt::format("{} of up to {} runs a cell", grid.aggregate, repeats) : "1 run";
  return runs + "; " + text;
}

}  // namespace

std::string number_text(double value, const std::string& metric, bool percent) {
  if (percent) return fmt::format("{:.1f}", 100 * value);
  if (metric != "perplexity-ratio" && starts_with(metric, "perplexity")) return fmt::format("{:.2f}", value);
  if (starts_with(metric, "support") || starts_with(metric, "degradation") || metric == "as named")
    return fmt::format("{:.1f}", value);
  return fmt::format("{:.3f}", value);
}

std::string cell_text(const Grid& grid, std::size_t column, const GridCell& cell) {
  if (!cell.value) return "-";
  const auto shown = [&](double value) {
    return grid.columns[column].whole ? fmt::format("{:.0f}", value) : number_text(value, grid.metric, grid.percent);
  };
  if (!cell.low || !cell.high) return shown(*cell.value);
  return fmt::format("{} [{}, {}]", shown(*cell.value), shown(*cell.low), shown(*cell.high));
}

std::string Notes::mark(const std::string& reason) {
  if (reason.empty()) return "";
  auto found = std::find(list_.begin(), list_.end(), reason);
  if (found == list_.end()) found = list_.insert(list_.end(), reason);
  return fmt::format(" ({})", found - list_.begin() + 1);
}

std::string place_title(const Grid& grid) {
  std::string title = grid.task;
  if (!grid.parameters.empty()) title += ":" + grid.parameters;
  if (grid.task_version > 1) title += fmt::format(":v{}", grid.task_version);
  if (!grid.documents.empty()) title += " (documents " + grid.documents + ")";
  return title;
}

std::string metric_title(const Grid& grid) {
  std::string title = grid.metric;
  if (grid.metric == "answer" || grid.metric == "token") title += " accuracy";
  if (grid.metric == "exact") title = "exact match";
  if (grid.metric == "perplexity-ratio") title = "perplexity, as a multiple of that at the training length";
  for (const auto& [name, words] :
       {std::pair{"entropy", "normalized entropy"}, std::pair{"nats", "entropy in nats"},
        std::pair{"support", "support"}, std::pair{"source", "weight on the answer's token"},
        std::pair{"sink", "weight on the first key (sink)"}, std::pair{"top", "largest weight"},
        std::pair{"scale", "query scale"}, std::pair{"alpha", "alpha of entmax"}}) {
    if (!starts_with(grid.metric, name)) continue;
    title = words;
    for (const std::string& part : split(grid.metric.substr(std::string_view(name).size()), '-')) {
      if (part.empty()) continue;
      title += ", " + part + (part == "right" || part == "wrong" ? " answers" : " heads");
    }
  }
  if (grid.metric == "representation") title = "distance between representations";
  if (grid.metric == "representation-cosine") title = "cosine distance between representations";
  if (grid.percent) title += ", percent";
  if (!grid.probe_rows.empty()) title += ", " + grid.probe_rows + " rows";
  return title;
}

GridText grid_text(const Grid& grid) {
  GridText text;
  text.title = place_title(grid) + " - " + metric_title(grid);

  std::vector<std::string> parts;
  const std::string seeds = seeds_text(grid), samples = n_text(grid);
  if (!seeds.empty()) parts.push_back(seeds);
  if (!samples.empty()) parts.push_back(samples);
  if (!grid.split.empty()) parts.push_back(grid.split + " split");
  if (!grid.interval_kind.empty()) parts.push_back("intervals: " + grid.interval_kind);
  if (!grid.best_rule.empty()) parts.push_back("bold: " + grid.best_rule);
  if (!grid.comparability.empty()) parts.push_back(grid.comparability);
  text.caption = parts.empty() ? "" : join(parts, "; ") + ".";

  bool trained = false;
  for (const GridRow& row : grid.rows) trained = trained || row.train_length > 0;
  text.header.push_back("model");
  if (trained) text.header.push_back("trained at");
  Notes notes;
  for (const GridColumn& column : grid.columns) text.header.push_back(column.label + notes.mark(column.remark));

  for (const GridRow& row : grid.rows) {
    std::vector<std::string> line = {row.name + notes.mark(row.remark)};
    if (trained) line.push_back(row.train_length > 0 ? std::to_string(row.train_length) : "");
    std::vector<bool> best(line.size(), false);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      line.push_back(cell_text(grid, i, row.cells[i]) + notes.mark(row.cells[i].reason));
      best.push_back(row.cells[i].best);
    }
    text.best.push_back(std::move(best));
    text.rows.push_back(std::move(line));
    text.kinds.push_back(row.kind);
  }
  text.notes = notes.list();
  return text;
}

}  // namespace lenbench
