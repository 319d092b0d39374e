// How accuracy falls with length, as a table: the lengths up to which a model can be used.
#pragma once

#include "report/grid.h"

namespace lenbench {

// One row for each measured row of `accuracy`, a Grid of a proportion by length with the Records' own intervals:
// columns L85 and L50 in tokens, L50 over the training length, the area under the curve in percent, the fitted ceiling
// in percent and the slope per octave (stats/curve.h). Floor: the chance row of `accuracy`, else 0. A landmark beyond
// the measured lengths is a gap with its reason; an interval that leaves them ends at the last one. Holes are the row's
// remark. Rows with fewer than three lengths are gaps.
Grid degradation_grid(const Grid& accuracy);

}  // namespace lenbench
