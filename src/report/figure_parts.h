// Panels from Grids: what the figures share. Private to figures.cpp and claims.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/figures.h"

namespace lenbench {

GridRequest grid_request(const FigureRequest& request, std::optional<MetricChoice> metric);

// "TASK:PARAMETERS: METRIC".
std::string figure_title(const Grid& grid);

// One line for each measured row; with `x` its points stand at GridCell::x, and those without it are left out.
LinePanel panel_of(const Grid& grid, const std::string& x = "");

struct HeadPlace {
  std::int64_t layer = 0, head = 0;
  auto operator<=>(const HeadPlace&) const = default;
};

// Every head of every model, and whether any model gives it a position.
std::map<HeadPlace, bool> heads_of(const std::vector<Record>& records);

// "layer 0 head 1, positional".
std::string head_name(const HeadPlace& place, bool positional);

// One row of every heat map: its name, and its Grids.
struct Slice {
  std::string name;
  std::vector<Grid> grids;
};

// A figure for each Grid and a heat map for each of its rows. Slices are of the same Records, so that their Grids and
// rows stand in the same order.
std::vector<Figure> heat_figures(const std::vector<Slice>& slices, const std::string& row_title);

}  // namespace lenbench
