// Figures as Vega-Lite specifications, for any of its renderers.
#pragma once

#include <span>
#include <string>

#include "report/chart.h"

namespace lenbench {

// A specification of schema v5 with its data inside, ending in one LF; several figures stand below each other. Text of
// any origin stays text. The same bytes whatever the locale. Throws Error when no figure has a panel.
std::string vega_lite(std::span<const Figure> figures);

}  // namespace lenbench
