// Perplexity as a multiple of that at the training length.
#include "report/growth.h"

#include <gmock/gmock.h>

#include <cmath>

#include "report/grid_text.h"
#include "tests/base/expect_error.h"
#include "tests/report/golden_grids.h"

namespace lenbench {
namespace {

using ::testing::HasSubstr;

Grid perplexities() {
  Grid grid;
  grid.task = "text";
  grid.metric = "perplexity";
  grid.interval_kind = "95 % Student t";
  grid.columns = {{"64", 64}, {"512", 512}};
  GridRow row;
  row.name = "m";
  row.train_length = 64;
  row.cells.resize(2);
  row.cells[0].value = 4;
  row.cells[0].low = 4 / 1.3;
  row.cells[0].high = 4 * 1.3;
  row.cells[1].value = 5;
  row.cells[1].low = 5 / 1.2;
  row.cells[1].high = 5 * 1.2;
  grid.rows = {row};
  return grid;
}

TEST(Growth, IsTheRatioToTheTrainingLengthWithBothIntervals) {
  const Grid grid = relative_to_training(perplexities());
  EXPECT_EQ(grid.metric, "perplexity-ratio");
  const std::vector<GridCell>& cells = grid.rows[0].cells;
  EXPECT_EQ(cells[0].value, 1);
  EXPECT_FALSE(cells[0].low.has_value()) << "one is one";
  EXPECT_DOUBLE_EQ(*cells[1].value, 1.25);
  const double width = std::sqrt(std::pow(std::log(1.2), 2) + std::pow(std::log(1.3), 2));
  EXPECT_NEAR(*cells[1].low, 1.25 * std::exp(-width), 1e-12);
  EXPECT_NEAR(*cells[1].high, 1.25 * std::exp(width), 1e-12);
  EXPECT_THAT(grid.interval_kind, HasSubstr("in quadrature"));
  EXPECT_THAT(grid_text(grid).title, HasSubstr("multiple of that at the training length"));
  EXPECT_EQ(grid_text(grid).rows[0][2], "1.000");
}

TEST(Growth, WithoutTheTrainingLengthThereIsNone) {
  Grid grid = perplexities();
  grid.rows[0].train_length = 128;
  EXPECT_THAT(relative_to_training(grid).rows[0].cells[0].reason, HasSubstr("at its training length 128"));
  EXPECT_FALSE(relative_to_training(grid).rows[0].cells[1].value.has_value());
  grid.rows[0].train_length = 0;
  EXPECT_THAT(relative_to_training(grid).rows[0].cells[0].reason, HasSubstr("not known"));
  EXPECT_EQ(relative_to_training(grid).interval_kind, "");
  GridRequest request;
  request.metric = parse_metric("perplexity-ratio");
  request.columns = "model";
  EXPECT_THAT(error_of([&] { GridBuilder builder(request); }), HasSubstr("needs lengths"));
}

}  // namespace
}  // namespace lenbench
