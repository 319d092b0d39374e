// One HTML page on everything that a set of Records says.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "record/record.h"
#include "report/figures.h"
#include "report/published.h"

namespace lenbench {

// One sample, drawn and judged elsewhere: Records keep outcomes, not answers.
struct SampleView {
  std::string address, prompt, target;
  std::vector<std::pair<std::string, std::string>> outcomes;  // model, "right", "wrong" or "non-finite"
};

struct QuestionView {
  std::string title;
  std::string note;  // why there are no samples; may be empty
  std::vector<SampleView> samples;
};

struct ReportRequest {
  std::string title = "lenbench report";
  std::string producer;  // who wrote the page: version and commit
  FigureRequest figures;
  std::vector<QuestionView> questions;
  std::vector<PublishedTable> published;  // shown beside measured rows of the same task and metric, and in full
  bool published_in_name = false;         // also those that may be about the task, see is_about()
};

// The page, ending in one LF: summary, tables and figures of accuracy, perplexity and dispersion, samples, what was
// run, published references, downloads. One file without any reference to another; text of any origin stays text; the
// same bytes for the same arguments. Figures are drawn here, as SVG that needs no script: a page of a plotting library
// would weigh a megabyte before the first point, and be empty where scripts are off. Throws as build_grids does.
std::string html_report(const std::vector<Record>& records, const ReportRequest& request);

}  // namespace lenbench
