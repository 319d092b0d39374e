// Which figures there are, and how they are read from Records: every value is a Grid's, so figures agree with tables.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "record/record.h"
#include "report/chart.h"
#include "report/grid.h"

namespace lenbench {

struct FigureRequest {
  Aggregate aggregate = Aggregate::kMean;
  std::vector<std::string> rows_by;   // as GridRequest::rows_by
  std::string statistic = "entropy";  // dispersion and heads: one of statistic_names(); representations: also "cosine"
  std::string x;                      // figures of lines: what the horizontal axis shows; see GridRequest::x
  bool by_outcome = false;            // dispersion: right and wrong answers as lines of their own
  std::function<std::map<std::string, std::string>(const std::string& task)> default_parameters;
};

// "accuracy", "perplexity", "dispersion", "heads", "depth", "relevant", "spread", "representations", "temperature", and
// "training", which is read from training logs (training_curves.h).
std::vector<std::string> figure_names();
// "entropy", "nats", "support", "sink", "top", "source", "scale", "alpha".
std::vector<std::string> statistic_names();

// One panel for each exact-match task and its parameters: the metric that `table` shows by default.
Figure accuracy_figure(const std::vector<Record>& records, const FigureRequest& request);
// One panel for each perplexity task and its documents.
Figure perplexity_figure(const std::vector<Record>& records, const FigureRequest& request);
// One figure for each task and kind of probed rows: answer rows and other rows are statistics of different things and
// never share a panel. In it, for each layer, heads without and heads with a positional bias side by side.
std::vector<Figure> dispersion_figures(const std::vector<Record>& records, const FigureRequest& request);
// One figure for each task and kind of probed rows, one heat map a model: heads by length.
std::vector<Figure> head_figures(const std::vector<Record>& records, const FigureRequest& request);

// As dispersion, of the mass on the keys that hold the answer, by the number of pairs where the samples count them.
std::vector<Figure> relevant_figures(const std::vector<Record>& records, FigureRequest request);
// As dispersion, a point for each head and length: entropy in nats by the logarithm of the support.
std::vector<Figure> spread_figures(const std::vector<Record>& records, const FigureRequest& request);
// One figure for each task, one panel a depth: distance between the states of different inputs.
std::vector<Figure> representation_figures(const std::vector<Record>& records, const FigureRequest& request);
// As heads, three times: what multiplies the query, alpha, and support.
std::vector<Figure> temperature_figures(const std::vector<Record>& records, FigureRequest request);

// Where the answers stand in a Record's samples, by index: 0 is the start of the prompt's haystack, 100 its end.
using Depths = std::map<const Record*, std::vector<double>>;
// One figure for each task, one heat map a model: right samples by depth (ten bands) and length. Records that `depths`
// does not name are left out.
std::vector<Figure> depth_figures(const std::vector<Record>& records, const Depths& depths,
                                  const FigureRequest& request);

}  // namespace lenbench
