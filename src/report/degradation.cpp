// Landmarks of fitted curves in a Grid of named columns.
#include "report/degradation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "report/best.h"
#include "stats/curve.h"

namespace lenbench {

namespace {

std::vector<LengthCounts> counts_of(const Grid& grid, const GridRow& row) {
  std::vector<LengthCounts> counts;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const GridCell& cell = row.cells[i];
    if (!cell.value || !cell.low || !cell.high || grid.columns[i].length == 0) continue;
    const double n = effective_count(*cell.value, *cell.low, *cell.high);
    counts.push_back({grid.columns[i].length, *cell.value * n, n});
  }
  return counts;
}

double floor_of(const Grid& grid) {
  double floor = 0;
  for (const GridRow& row : grid.rows) {
    if (row.kind != RowKind::kChance) continue;
    for (const GridCell& cell : row.cells) floor = std::max(floor, cell.value.value_or(0));
  }
  return floor;
}

// Tokens from a landmark in log2 tokens; ends outside the measured lengths are named.
GridCell length_cell(const Landmark& landmark, const std::vector<LengthCounts>& points, int percent) {
  const std::int64_t first = points.front().length, last = points.back().length;
  GridCell cell;
  if (std::isinf(landmark.value)) {
    cell.reason = landmark.value > 0
                      ? fmt::format("the curve is above {} % at {}, the longest length measured", percent, last)
                      : fmt::format("the curve is below {} % at {}, the shortest length measured", percent, first);
    return cell;
  }
  cell.value = std::exp2(landmark.value);
  cell.low = std::isinf(landmark.low) ? static_cast<double>(first) : std::exp2(landmark.low);
  cell.high = std::isinf(landmark.high) ? static_cast<double>(last) : std::exp2(landmark.high);
  if (std::isinf(landmark.low)) cell.reason = fmt::format("the interval goes below {}, the shortest length", first);
  if (std::isinf(landmark.high)) cell.reason = fmt::format("the interval goes beyond {}, the longest length", last);
  return cell;
}

GridCell plain_cell(double value) {
  GridCell cell;
  cell.value = value;
  return cell;
}

std::string hole_text(const std::vector<Hole>& holes) {
  std::vector<std::string> texts;
  for (const Hole& hole : holes) {
    texts.push_back(fmt::format("hole at {}: worse than at {} and at {} (p = {:.2g})", hole.length, hole.shorter,
                                hole.longer, hole.p_value));
  }
  return texts.empty() ? "" : join(texts, "; ");
}

}  // namespace

Grid degradation_grid(const Grid& accuracy) {
  Grid grid = accuracy;
  grid.metric = "degradation of " + accuracy.metric + " accuracy";
  grid.percent = false;
  grid.best_rule.clear();
  grid.rows.clear();
  grid.columns = {{"L85", 0}, {"L50", 0}, {"L50 / trained", 0}, {"area %", 0}, {"ceiling %", 0}, {"slope", 0}};
  const double floor = floor_of(accuracy);
  grid.interval_kind = fmt::format(
      "95 % bootstrap over samples (400 resamples); L85 and L50 are the lengths in tokens where a logistic curve of {} "
      "accuracy over log2 length, with floor {:.1f} % (chance), falls below 85 % and 50 %; area is that under the "
      "measured values; slope is per octave; holes are lengths significantly worse than a shorter and a longer one "
      "(score tests on both sides, Bonferroni over lengths, Holm, 5 %)",
      accuracy.metric, 100 * floor);
  for (const GridRow& row : accuracy.rows) {
    if (row.kind != RowKind::kMeasured) continue;
    GridRow line = row;
    line.cells.clear();
    const std::vector<LengthCounts> counts = counts_of(accuracy, row);
    if (counts.size() < 3) {
      GridCell gap;
      gap.reason = fmt::format("{} lengths with an interval, a curve needs 3", counts.size());
      line.cells.assign(grid.columns.size(), gap);
      grid.rows.push_back(std::move(line));
      continue;
    }
    const DegradationCurve fitted = fit_degradation(counts, floor);
    line.cells = {length_cell(fitted.l85, counts, 85), length_cell(fitted.l50, counts, 50)};
    GridCell times = line.cells[1];
    if (row.train_length == 0) {
      times = {};
      times.reason = "the training length is unknown";
    } else if (times.value) {
      const auto trained = static_cast<double>(row.train_length);
      times.value = *times.value / trained;
      times.low = *times.low / trained;
      times.high = *times.high / trained;
    }
    line.cells.push_back(times);
    GridCell area = plain_cell(100 * fitted.area.value);
    area.low = 100 * fitted.area.low;
    area.high = 100 * fitted.area.high;
    line.cells.push_back(area);
    line.cells.push_back(plain_cell(100 * fitted.curve.ceiling));
    line.cells.push_back(plain_cell(fitted.curve.slope));
    const std::string holes = hole_text(find_holes(counts));
    if (!holes.empty()) line.remark += (line.remark.empty() ? "" : "; ") + holes;
    std::int64_t n = 0;
    for (const GridCell& cell : row.cells) n += cell.n;
    for (GridCell& cell : line.cells) {
      if (!cell.value) continue;
      cell.n = n;
      cell.repeats = row.cells.front().repeats;
      cell.checkpoints = row.cells.front().checkpoints;
      cell.data_seeds = row.cells.front().data_seeds;
    }
    grid.rows.push_back(std::move(line));
  }
  return grid;
}

}  // namespace lenbench
