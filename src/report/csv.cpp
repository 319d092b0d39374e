// RFC 4180: every Grid in one table, one line for each cell, the same columns for all tasks.
#include <fmt/format.h>

#include "base/names.h"
#include "base/numbers.h"
#include "report/format.h"
#include "report/kind.h"

namespace lenbench {

namespace {

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string number(const std::optional<double>& value) { return value ? format_real(*value) : ""; }
std::string count(std::int64_t value) { return value > 0 ? std::to_string(value) : ""; }

std::string line(const std::vector<std::string>& values) {
  std::vector<std::string> fields;
  for (const std::string& value : values) fields.push_back(field(value));
  return join(fields, ",") + "\n";
}

}  // namespace

std::string render_csv(std::span<const Grid> grids) {
  std::string text =
      "task,parameters,task_version,split,metric,probe_rows,documents,row,kind,source,remark,train_length,column,"
      "length,length_note,"
      "value,"
      "low,high,best,n,aggregate,repeats,data_seeds,checkpoints,reason\n";
  for (const Grid& grid : grids) {
    for (const GridRow& row : grid.rows) {
      for (std::size_t i = 0; i < grid.columns.size(); ++i) {
        const GridCell& cell = row.cells[i];
        std::vector<std::string> seeds;
        for (const std::uint64_t seed : cell.data_seeds) seeds.push_back(std::to_string(seed));
        text += line({grid.task,
                      grid.parameters,
                      count(grid.task_version),
                      grid.split,
                      grid.metric,
                      grid.probe_rows,
                      grid.documents,
                      row.name,
                      kind_name(row.kind),
                      row.source,
                      row.remark,
                      count(row.train_length),
                      grid.columns[i].label,
                      count(grid.columns[i].length),
                      grid.columns[i].remark,
                      number(cell.value),
                      number(cell.low),
                      number(cell.high),
                      cell.best ? "1" : "",
                      count(cell.n),
                      grid.aggregate,
                      count(cell.repeats),
                      join(seeds, " "),
                      count(cell.checkpoints),
                      cell.reason});
      }
    }
  }
  return text;
}

}  // namespace lenbench
