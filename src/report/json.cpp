// One JSON object with everything a Grid holds; values that may be undefined are null beside a reason.
#include "base/json.h"

#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/kind.h"

namespace lenbench {

namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json cell_json(const Grid& grid, std::size_t column, const GridCell& cell) {
  Json json;
  json["column"] = grid.columns[column].label;
  json["length"] = grid.columns[column].length;
  json["length_note"] = grid.columns[column].remark;
  json["value"] = number(cell.value);
  json["low"] = number(cell.low);
  json["high"] = number(cell.high);
  json["best"] = cell.best;
  json["n"] = cell.n;
  json["aggregate"] = grid.aggregate;
  json["repeats"] = cell.repeats;
  json["data_seeds"] = cell.data_seeds;
  json["checkpoints"] = cell.checkpoints;
  json["reason"] = cell.reason;
  return json;
}

Json grid_json(const Grid& grid) {
  Json json;
  json["task"] = grid.task;
  json["parameters"] = grid.parameters;
  json["task_version"] = grid.task_version;
  json["split"] = grid.split;
  json["comparability"] = grid.comparability;
  json["metric"] = grid.metric;
  json["probe_rows"] = grid.probe_rows;
  json["documents"] = grid.documents;
  json["aggregate"] = grid.aggregate;
  json["interval_kind"] = grid.interval_kind;
  json["best_rule"] = grid.best_rule;
  json["rows"] = Json::array();
  for (const GridRow& row : grid.rows) {
    Json line;
    line["name"] = row.name;
    line["kind"] = kind_name(row.kind);
    line["source"] = row.source;
    line["remark"] = row.remark;
    line["train_length"] = row.train_length;
    line["transform"] = row.transform;
    line["cells"] = Json::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) line["cells"].push_back(cell_json(grid, i, row.cells[i]));
    json["rows"].push_back(std::move(line));
  }
  return json;
}

}  // namespace

std::string render_json(std::span<const Grid> grids) {
  Json json;
  json["format"] = "lenbench-table";
  json["schema"] = 1;
  json["grids"] = Json::array();
  for (const Grid& grid : grids) json["grids"].push_back(grid_json(grid));
  return dump_json(json) + "\n";
}

}  // namespace lenbench
