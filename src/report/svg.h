// Figures as inline SVG for HTML pages: no script is needed to read them, hovering a mark shows its values.
#pragma once

#include <string>

#include "report/chart.h"

namespace lenbench {

// A <figure> with a heading, its panels side by side where there is room, a legend and the description. `id` is unique
// in the page. Text of any origin is escaped. Expects svg_style().
std::string html_figure(const Figure& figure, const std::string& id);

std::string svg_style();

}  // namespace lenbench
