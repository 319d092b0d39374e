// How perplexity grows with length: a Grid of perplexities, each divided by that at its row's training length.
#pragma once

#include "report/grid.h"

namespace lenbench {

// Requires columns of lengths. A row whose training length is not known, or not among the columns, gets reasons in
// place of values. Intervals combine those of both perplexities in quadrature on the logarithm, as if they were of
// different windows: where they share text, which makes the ratio surer, the interval is too wide.
Grid relative_to_training(Grid grid);

}  // namespace lenbench
