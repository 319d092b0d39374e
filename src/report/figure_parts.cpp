// Panels from Grids.
#include "report/figure_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/fact_axis.h"
#include "report/grid_text.h"

namespace lenbench {

GridRequest grid_request(const FigureRequest& request, std::optional<MetricChoice> metric) {
  GridRequest grid;
  grid.metric = metric;
  grid.aggregate = request.aggregate;
  grid.rows_by = request.rows_by;
  grid.mark_best = false;  // no figure shows it
  grid.x = request.x;
  grid.default_parameters = request.default_parameters;
  return grid;
}

std::string figure_title(const Grid& grid) { return place_title(grid) + ": " + metric_title(grid); }

LinePanel panel_of(const Grid& grid, const std::string& x) {
  LinePanel panel;
  panel.title = place_title(grid);
  panel.value_title = metric_title(grid);
  if (grid.percent) {
    panel.low = 0;
    panel.high = 100;
  }
  const double factor = grid.percent ? 100 : 1;
  std::set<std::int64_t> trained;
  for (const GridRow& row : grid.rows) {
    if (row.kind == RowKind::kPublished) continue;
    ChartLine line{row.name, row.transform, {}};
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const GridCell& cell = row.cells[i];
      if (!cell.value || (!x.empty() && !cell.x)) continue;
      ChartPoint point{grid.columns[i].length, *cell.value * factor, {}, {}, cell.n};
      point.x = x.empty() ? static_cast<double>(point.length) : *cell.x;
      if (!x.empty()) point.place = fmt::format("{} {:.4g} (length {})", x, point.x, point.length);
      if (cell.low && cell.high) {
        point.low = *cell.low * factor;
        point.high = *cell.high * factor;
      }
      line.points.push_back(point);
    }
    if (line.points.empty()) continue;
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    if (row.train_length > 0) trained.insert(row.train_length);
    panel.lines.push_back(std::move(line));
  }
  if (x.empty()) {
    panel.train_lengths.assign(trained.begin(), trained.end());
  } else {
    panel.axis = fact_axis(x, places_of(panel));
  }
  return panel;
}

std::map<HeadPlace, bool> heads_of(const std::vector<Record>& records) {
  std::map<HeadPlace, bool> heads;
  for (const Record& record : records) {
    for (const HeadMeans& head : record.measurement.heads) {
      bool& positional = heads[{head.layer, head.head}];
      positional = positional || head.has_position;
    }
  }
  return heads;
}

std::string head_name(const HeadPlace& place, bool positional) {
  return fmt::format("layer {} head {}{}", place.layer, place.head, positional ? ", positional" : "");
}

std::vector<Figure> heat_figures(const std::vector<Slice>& slices, const std::string& row_title) {
  std::vector<Figure> figures;
  if (slices.empty()) return figures;
  for (std::size_t i = 0; i < slices.front().grids.size(); ++i) {
    const Grid& first = slices.front().grids[i];
    Figure figure{figure_title(first), "", 2, {}, {}};
    for (std::size_t row = 0; row < first.rows.size(); ++row) {
      if (first.rows[row].kind == RowKind::kChance) continue;
      HeatPanel panel;
      panel.title = first.rows[row].name;
      panel.row_title = row_title;
      panel.value_title = metric_title(first);
      for (const GridColumn& column : first.columns) panel.lengths.push_back(column.length);
      for (const Slice& slice : slices) {
        const std::vector<GridCell>& cells = slice.grids[i].rows[row].cells;
        if (std::none_of(cells.begin(), cells.end(), [](const GridCell& cell) { return cell.value; })) continue;
        panel.rows.push_back(slice.name);
        for (const GridCell& cell : cells) {
          panel.values.push_back(cell.value && first.percent ? std::optional<double>(100 * *cell.value) : cell.value);
          panel.n.push_back(cell.n);
        }
      }
      if (!panel.rows.empty()) figure.heats.push_back(std::move(panel));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace lenbench
