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

// Whether a share lies well between floor and ceiling: only such lengths tell where and how steeply a curve falls.
bool is_between(const LengthCounts& point, const LogisticCurve& curve) {
  const double range = curve.ceiling - curve.floor, share = point.right / point.n;
  return share > curve.floor + 0.1 * range && share < curve.floor + 0.9 * range;
}

GridCell unidentified(const std::string& reason) {
  GridCell cell;
  cell.reason = reason;
  return cell;
}

GridCell slope_cell(const LogisticCurve& curve, const std::vector<LengthCounts>& counts) {
  if (std::any_of(counts.begin(), counts.end(), [&](const LengthCounts& point) { return is_between(point, curve); })) {
    return plain_cell(curve.slope);
  }
  return unidentified("no length measured lies on the fall, so its slope is not known");
}

GridCell ceiling_cell(const LogisticCurve& curve, const std::vector<LengthCounts>& counts) {
  const double upper_half = (curve.floor + curve.ceiling) / 2;
  if (std::any_of(counts.begin(), counts.end(),
                  [&](const LengthCounts& point) { return point.right / point.n > upper_half; })) {
    return plain_cell(100 * curve.ceiling);
  }
  return unidentified("no length measured lies above the fall, so the ceiling is not known");
}

// A landmark in the gap between two lengths of which none lies on the fall is known no better than the gap.
Landmark widened(const Landmark& landmark, const LogisticCurve& curve, const std::vector<LengthCounts>& counts) {
  if (!std::isfinite(landmark.value)) return landmark;
  Landmark wide = landmark;
  for (std::size_t i = 0; i + 1 < counts.size(); ++i) {
    const double low = std::log2(static_cast<double>(counts[i].length));
    const double high = std::log2(static_cast<double>(counts[i + 1].length));
    if (landmark.value < low || landmark.value > high || is_between(counts[i], curve) ||
        is_between(counts[i + 1], curve)) {
      continue;
    }
    wide.low = std::min(wide.low, low);
    wide.high = std::max(wide.high, high);
  }
  return wide;
}

}  // namespace

Grid degradation_grid(const Grid& accuracy) {
  Grid grid = accuracy;
  grid.metric = "degradation of " + accuracy.metric + " accuracy";
  grid.percent = false;
  grid.best_rule.clear();
  grid.rows.clear();
  grid.columns = {{"L85", 0, "", true}, {"L50", 0, "", true}, {"L50 / trained", 0},
                  {"area %", 0},        {"ceiling %", 0},     {"slope", 0}};
  const double floor = floor_of(accuracy);
  grid.interval_kind = fmt::format(
      "95 % bootstrap over samples (400 resamples); L85 and L50 are the lengths in tokens where a logistic curve of {} "
      "accuracy over log2 length, with floor {:.1f} % (chance), falls below 85 % and 50 %; area is that under the "
      "measured values; slope is per octave; holes are lengths significantly worse than a shorter and a longer one "
      "(score tests on both sides, Bonferroni over lengths, Holm, 5 %)",
      accuracy.metric, 100 * floor);
  const bool has_floors = std::any_of(accuracy.rows.begin(), accuracy.rows.end(),
                                      [](const GridRow& row) { return row.kind == RowKind::kFloor; });
  if (has_floors) {
    grid.interval_kind += "; floor rows are left out: what answers without reading does not fall with length";
  }
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
    line.cells = {length_cell(widened(fitted.l85, fitted.curve, counts), counts, 85),
                  length_cell(widened(fitted.l50, fitted.curve, counts), counts, 50)};
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
    line.cells.push_back(ceiling_cell(fitted.curve, counts));
    line.cells.push_back(slope_cell(fitted.curve, counts));
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
