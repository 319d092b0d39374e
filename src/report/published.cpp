// Reads published tables and places them beside measured rows.
#include "report/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/names.h"

namespace lenbench {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPercentMetric = "exact_match_percent";
constexpr const char* kShortFor = "paper-1-";
constexpr const char* kNotPublished = "not published";

const Json& member(const Json& json, const char* key, const std::string& where) {
  if (!json.is_object()) throw Error(fmt::format("{}: an object was expected", where));
  const auto found = json.find(key);
  if (found == json.end()) throw Error(fmt::format("{}: '{}' is missing", where, key));
  return *found;
}

std::string text_of(const Json& json, const std::string& where) {
  if (!json.is_string()) throw Error(fmt::format("{}: a text was expected, not {}", where, json.dump()));
  return json.get<std::string>();
}

std::string optional_text(const Json& json, const char* key, const std::string& where) {
  return json.contains(key) ? text_of(json[key], where + "." + key) : "";
}

std::int64_t whole_number(const Json& json, const std::string& where) {
  if (!json.is_number_integer())
    throw Error(fmt::format("{}: a whole number was expected, not {}", where, json.dump()));
  return json.get<std::int64_t>();
}

std::optional<double> value_of(const Json& json, const std::string& where) {
  if (json.is_null()) return std::nullopt;
  if (!json.is_number()) throw Error(fmt::format("{}: a number or null was expected, not {}", where, json.dump()));
  return json.get<double>();
}

// Rows with one value for each of the table's lengths.
void read_by_length(const Json& json, const std::string& where, PublishedTable& table) {
  for (const Json& length : json["lengths"]) {
    const std::int64_t value = whole_number(length, where + ".lengths");
    table.columns.push_back({std::to_string(value), value});
  }
  for (const Json& row : json["rows"]) {
    PublishedRow published;
    published.method = text_of(member(row, "method", where), where + ".method");
    const std::string place = where + ", row '" + published.method + "'";
    const Json& values = member(row, "values", place);
    if (!values.is_array() || values.size() != table.columns.size()) {
      throw Error(fmt::format("{}: {} values were expected, one for each length", place, table.columns.size()));
    }
    for (const Json& value : values) published.values.push_back(value_of(value, place));
    published.confidence = optional_text(row, "confidence", place);
    table.rows.push_back(std::move(published));
  }
}

// Rows whose values each have a name of their own.
void read_by_name(const Json& json, const std::string& where, PublishedTable& table) {
  const auto is_value = [](const std::string& key) { return key != "method" && key != "confidence"; };
  for (const Json& row : json["rows"]) {
    member(row, "method", where);
    for (const auto& [key, value] : row.items()) {
      const bool known = std::any_of(table.columns.begin(), table.columns.end(),
                                     [&name = key](const GridColumn& column) { return column.label == name; });
      if (is_value(key) && !known) table.columns.push_back({key, 0});
    }
  }
  for (const Json& row : json["rows"]) {
    PublishedRow published;
    published.method = text_of(row["method"], where + ".method");
    published.confidence = optional_text(row, "confidence", where);
    for (const GridColumn& column : table.columns) {
      published.values.push_back(row.contains(column.label) ? value_of(row[column.label], where + "." + column.label)
                                                            : std::nullopt);
    }
    table.rows.push_back(std::move(published));
  }
}

bool is_percent(const PublishedTable& table) { return table.metric == kPercentMetric; }
std::string metric_of(const PublishedTable& table) { return is_percent(table) ? "exact" : table.metric; }

GridRow row_of(const PublishedTable& table, const PublishedRow& published, const std::vector<GridColumn>& columns,
               const std::string& grid_metric) {
  GridRow row;
  row.kind = RowKind::kPublished;
  row.source = table.source;
  row.train_length = table.train_length;
  row.remark = fmt::format("published, not measured here; {}: {}", table.source, table.source_description);
  if (!published.confidence.empty()) row.remark += "; confidence of this row: " + published.confidence;
  const std::string metric = metric_of(table);
  row.name = metric == grid_metric ? fmt::format("{} ({})", published.method, table.source)
                                   : fmt::format("{} ({}, {})", published.method, table.source, metric);
  for (const GridColumn& column : columns) {
    GridCell cell;
    cell.reason = kNotPublished;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].label != column.label || !published.values[i]) continue;
      cell.value = is_percent(table) ? *published.values[i] / 100 : *published.values[i];
      cell.reason.clear();
    }
    row.cells.push_back(std::move(cell));
  }
  return row;
}

// Adds an empty column to every row of `grid`, in its place.
void insert_column(Grid& grid, const GridColumn& column) {
  std::size_t place = 0;
  while (place < grid.columns.size() && grid.columns[place].length < column.length) ++place;
  if (place < grid.columns.size() && grid.columns[place].length == column.length) return;
  grid.columns.insert(grid.columns.begin() + static_cast<std::ptrdiff_t>(place), column);
  for (GridRow& row : grid.rows) {
    GridCell cell;
    cell.reason = row.kind == RowKind::kPublished ? kNotPublished : "not measured";
    row.cells.insert(row.cells.begin() + static_cast<std::ptrdiff_t>(place), cell);
  }
}

}  // namespace

std::vector<PublishedTable> read_published(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  const Json& sources = member(json, "sources", path);
  const Json& list = member(json, "tables", path);
  if (!list.is_array()) throw Error(fmt::format("{}: 'tables' must be an array", path));
  std::vector<PublishedTable> tables;
  for (const Json& entry : list) {
    PublishedTable table;
    table.id = text_of(member(entry, "id", path), path + ": id");
    const std::string where = path + ": table '" + table.id + "'";
    table.source = text_of(member(entry, "source", where), where + ".source");
    table.source_description = text_of(member(sources, table.source.c_str(), where + ", sources"), where);
    table.task = text_of(member(entry, "task", where), where + ".task");
    table.metric = text_of(member(entry, "metric", where), where + ".metric");
    table.positions = optional_text(entry, "positions", where);
    if (entry.contains("train_length")) table.train_length = whole_number(entry["train_length"], where);
    if (!member(entry, "rows", where).is_array()) throw Error(fmt::format("{}: 'rows' must be an array", where));
    if (entry.contains("lengths")) {
      read_by_length(entry, where, table);
    } else {
      read_by_name(entry, where, table);
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<std::string> papers(const std::vector<PublishedTable>& tables) {
  std::vector<std::string> ids;
  for (const PublishedTable& table : tables) ids.push_back(table.id);
  return ids;
}

const PublishedTable& find_published(const std::vector<PublishedTable>& tables, std::string_view id) {
  std::vector<std::string> known = papers(tables);
  for (const PublishedTable& table : tables) {
    if (table.id == id) return table;
  }
  for (const PublishedTable& table : tables) {
    if (table.id.rfind(kShortFor, 0) != 0) continue;
    const std::string short_name = table.id.substr(std::string_view(kShortFor).size());
    if (short_name == id) return table;
    known.push_back(short_name);
  }
  throw Error(
      fmt::format("unknown table '{}'{}; there are {}", id, did_you_mean(id, known), join(papers(tables), ", ")));
}

bool is_about(const PublishedTable& table, const std::string& task) {
  return table.task == task || (table.task == "associative recall" && (task == "recall" || task == "recall-dense"));
}

Grid published_grid(const PublishedTable& table) {
  Grid grid;
  grid.task = table.task;
  grid.metric = metric_of(table);
  grid.percent = is_percent(table);
  grid.columns = table.columns;
  for (const PublishedRow& row : table.rows) grid.rows.push_back(row_of(table, row, grid.columns, grid.metric));
  return grid;
}

void add_published(Grid& grid, const PublishedTable& table) {
  if (!is_about(table, grid.task)) {
    throw Error(fmt::format("table '{}' is about {}, not about {}: it cannot stand beside these records", table.id,
                            table.task, grid.task));
  }
  if (is_percent(table) != grid.percent) {
    throw Error(
        fmt::format("table '{}' shows {}, the records {}: choose --metric exact", table.id, table.metric, grid.metric));
  }
  for (const GridColumn& column : table.columns) {
    if (column.length == 0) {
      throw Error(fmt::format("table '{}' has no columns by length: it can only be shown alone", table.id));
    }
    insert_column(grid, column);
  }
  for (const PublishedRow& row : table.rows) grid.rows.push_back(row_of(table, row, grid.columns, grid.metric));
}

}  // namespace lenbench
