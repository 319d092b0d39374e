// Divides perplexities by that at the training length.
#include "report/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lenbench {
namespace {

// Distance on the logarithm to an end of the interval, of both together.
double joint(double value, double end, double base, double base_end) {
  return std::hypot(std::log(end / value), std::log(base_end / base));
}

void divide(GridRow& row, std::size_t base_place) {
  const GridCell base = row.cells[base_place];
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    GridCell& cell = row.cells[i];
    if (!cell.value) continue;
    const double ratio = *cell.value / *base.value;
    if (i == base_place) {
      cell.low.reset();
      cell.high.reset();
    } else if (cell.low && base.low) {
      cell.low = ratio * std::exp(-joint(*cell.value, *cell.low, *base.value, *base.high));
      cell.high = ratio * std::exp(joint(*cell.value, *cell.high, *base.value, *base.low));
    }
    cell.value = ratio;
  }
}

}  // namespace

Grid relative_to_training(Grid grid) {
  grid.metric = metric_name({Metric::kPerplexityRatio});
  bool has_interval = false;
  for (GridRow& row : grid.rows) {
    const auto base = std::find_if(grid.columns.begin(), grid.columns.end(), [&](const GridColumn& column) {
      return row.train_length > 0 && column.length == row.train_length;
    });
    const std::size_t place = static_cast<std::size_t>(base - grid.columns.begin());
    if (base != grid.columns.end() && row.cells[place].value) {
      divide(row, place);
    } else {
      for (GridCell& cell : row.cells) {
        if (!cell.value) continue;
        cell.value.reset();
        cell.low.reset();
        cell.high.reset();
        cell.reason = row.train_length > 0 ? fmt::format("not measured at its training length {}", row.train_length)
                                           : "its training length is not known";
      }
    }
    has_interval = has_interval || std::any_of(row.cells.begin(), row.cells.end(),
                                               [](const GridCell& cell) { return cell.low.has_value(); });
  }
  grid.interval_kind =
      has_interval ? grid.interval_kind + ", of both lengths combined in quadrature as if independent" : "";
  return grid;
}

}  // namespace lenbench
