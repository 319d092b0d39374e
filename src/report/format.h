// The formats that draw Grids. A format computes nothing. Adding one: a file with a function, a line in catalog.def.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/grid.h"

namespace lenbench {

// Names in catalogue order, and one line on each.
std::vector<std::string> format_names();
std::vector<std::string> format_summaries();

// The text of `grids` in `format`, ending in one LF. Numbers have a decimal point whatever the locale. Throws Error on
// an unknown format ("did you mean").
std::string render(std::string_view format, std::span<const Grid> grids);

// The formats themselves.
std::string render_markdown(std::span<const Grid> grids);
std::string render_csv(std::span<const Grid> grids);   // RFC 4180, one line for each cell, LF as line end
std::string render_json(std::span<const Grid> grids);  // one object; every cell with n, value, low, high, reason
std::string render_latex(std::span<const Grid> grids);
std::string render_html(std::span<const Grid> grids);

}  // namespace lenbench
