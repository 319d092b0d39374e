// Curves, small multiples and heat maps from Grids.
#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/figure_parts.h"
#include "report/grid_text.h"
#include "report/prefix_rows.h"
#include "stats/intervals.h"

namespace lenbench {

namespace {

std::vector<Record> of_metric(const std::vector<Record>& records, const char* metric) {
  std::vector<Record> chosen;
  std::copy_if(records.begin(), records.end(), std::back_inserter(chosen),
               [&](const Record& record) { return record.question.metric == metric; });
  return chosen;
}

Figure curves(const std::vector<Record>& records, const char* metric, const FigureRequest& request) {
  Figure figure;
  for (const Grid& grid : build_grids(of_metric(records, metric), grid_request(request, std::nullopt))) {
    LinePanel panel = panel_of(grid, request.x);
    if (!panel.lines.empty()) figure.lines.push_back(std::move(panel));
    if (figure.description.empty() && !grid.interval_kind.empty()) {
      figure.description = "Bands: " + grid.interval_kind + ". ";
    }
  }
  if (request.x.empty()) figure.description += "Dashed vertical rules mark training lengths.";
  figure.columns = std::min<std::size_t>(2, std::max<std::size_t>(1, figure.lines.size()));
  return figure;
}

Metric metric_of(const FigureRequest& request) { return parse_metric(request.statistic).metric; }

bool is_share(Metric metric) {
  return metric == Metric::kEntropy || metric == Metric::kSink || metric == Metric::kTop || metric == Metric::kSource;
}

// Title and description of a figure of small multiples; its panels stay.
Figure dispersion_frame(const Grid& grid, const FigureRequest& request, Figure figure) {
  figure.title = figure_title(grid);
  figure.columns = 2;
  figure.description = fmt::format("Means over heads, samples and {} rows{}, for each layer.", grid.probe_rows,
                                   request.by_outcome ? ", of right and of wrong answers apart" : "");
  if (request.statistic == "entropy") {
    figure.description += " A row's entropy is divided by the logarithm of the number of keys it sees.";
  }
  if (grid.probe_rows == "prefix") {
    figure.description += " All rows are of one long pass: a point at n covers those that see n/2 + 1 to n keys.";
  }
  if (request.x.empty()) figure.description += " Dashed vertical rules mark training lengths.";
  return figure;
}

// Adds the lines of `more`, their names ending in `ending`.
void add_lines(LinePanel more, const std::string& ending, LinePanel& panel) {
  std::vector<ChartLine> lines = std::move(panel.lines);
  for (ChartLine& line : more.lines) {
    line.name += ending;
    lines.push_back(std::move(line));
  }
  if (!more.lines.empty()) panel = std::move(more);
  panel.lines = std::move(lines);
}

constexpr int kBandWidth = 10;  // percent of depth

// The samples of `record` whose answer stands in [low, low + kBandWidth), the last band closed, as a Record.
Record band_record(const Record& record, const std::vector<double>& depths, int low) {
  std::int64_t right = 0, n = 0;
  for (std::size_t i = 0; i < std::min(depths.size(), record.outcomes.size()); ++i) {
    const int band = std::clamp(static_cast<int>(depths[i]) / kBandWidth * kBandWidth, 0, 100 - kBandWidth);
    if (band != low) continue;
    ++n;
    right += record.outcomes[i] == '1' ? 1 : 0;
  }
  Record part = record;
  part.outcomes.clear();
  part.measurement = {};
  part.measurement.samples = n;
  if (n == 0) {
    part.status = "skipped";
    part.reason = "no sample in this band";
    return part;
  }
  const Interval interval = wilson(static_cast<double>(right), static_cast<double>(n));
  part.measurement.exact =
      Proportion{n, right, static_cast<double>(right) / static_cast<double>(n), interval.low, interval.high};
  return part;
}

// What the horizontal axis shows, for titles.
std::string axis_word(const FigureRequest& request) {
  if (request.x.empty()) return "length";
  return request.x == "effective" ? "effective length" : request.x;
}

}  // namespace

std::vector<std::string> figure_names() {
  return {"accuracy", "perplexity", "dispersion",      "heads",       "depth",
          "relevant", "spread",     "representations", "temperature", "training"};
}

std::vector<std::string> statistic_names() {
  return {"entropy", "nats", "support", "sink", "top", "source", "scale", "alpha"};
}

Figure accuracy_figure(const std::vector<Record>& records, const FigureRequest& request) {
  Figure figure = curves(records, "exact_match", request);
  figure.title = "Accuracy by " + axis_word(request);
  return figure;
}

Figure perplexity_figure(const std::vector<Record>& records, const FigureRequest& request) {
  Figure figure = curves(records, "perplexity", request);
  figure.title = "Perplexity by " + axis_word(request);
  return figure;
}

std::vector<Figure> dispersion_figures(const std::vector<Record>& records, const FigureRequest& request) {
  const std::vector<Record> chosen = probed_records(records);
  std::set<std::int64_t> layers;
  for (const auto& [place, positional] : heads_of(chosen)) layers.insert(place.layer);
  std::vector<std::pair<RowOutcome, std::string>> outcomes = {{RowOutcome::kAny, ""}};
  if (request.by_outcome) outcomes = {{RowOutcome::kRight, ", right"}, {RowOutcome::kWrong, ", wrong"}};
  std::vector<Figure> figures;
  const Metric metric = metric_of(request);
  for (const std::int64_t layer : layers) {
    for (const HeadGroup group : {HeadGroup::kPositionless, HeadGroup::kPositional}) {
      std::vector<LinePanel> panels;
      for (const auto& [outcome, ending] : outcomes) {
        const std::vector<Grid> grids =
            build_grids(chosen, grid_request(request, MetricChoice{metric, group, outcome, layer}));
        figures.resize(grids.size());
        panels.resize(grids.size());
        for (std::size_t i = 0; i < grids.size(); ++i) {
          Grid grid = grids[i];
          grid.metric = request.statistic;
          figures[i] = dispersion_frame(grid, request, std::move(figures[i]));
          add_lines(panel_of(grid, request.x), ending, panels[i]);
        }
      }
      for (std::size_t i = 0; i < panels.size(); ++i) {
        if (panels[i].lines.empty()) continue;
        panels[i].title =
            fmt::format("layer {}, heads {} positions", layer, group == HeadGroup::kPositionless ? "without" : "with");
        if (is_share(metric)) {
          panels[i].low = 0;
          panels[i].high = 1;
        }
        figures[i].lines.push_back(std::move(panels[i]));
      }
    }
  }
  return figures;
}

std::vector<Figure> head_figures(const std::vector<Record>& records, const FigureRequest& request) {
  const std::vector<Record> chosen = probed_records(records);
  const Metric metric = metric_of(request);
  std::vector<Slice> slices;
  for (const auto& [place, positional] : heads_of(chosen)) {
    slices.push_back({head_name(place, positional),
                      build_grids(chosen, grid_request(request, MetricChoice{metric, HeadGroup::kAll, RowOutcome::kAny,
                                                                             place.layer, place.head}))});
  }
  std::vector<Figure> figures = heat_figures(slices, "head");
  for (Figure& figure : figures) {
    figure.description = "Means over samples and probed rows of every head.";
    // One scale for all models, so that their colours compare.
    double high = 1;
    for (const HeatPanel& panel : figure.heats) {
      for (const std::optional<double>& value : panel.values) high = std::max(high, value.value_or(0));
    }
    for (HeatPanel& panel : figure.heats) {
      panel.high = high;
      if (metric != Metric::kSupport) continue;
      panel.low = 1;
      panel.high = std::max(high, 2.0);
      panel.log_colour = true;
    }
  }
  return figures;
}

std::vector<Figure> depth_figures(const std::vector<Record>& records, const Depths& depths,
                                  const FigureRequest& request) {
  std::vector<Slice> slices;
  for (int low = 0; low < 100; low += kBandWidth) {
    std::vector<Record> band;
    for (const Record& record : records) {
      const auto found = depths.find(&record);
      if (found != depths.end()) band.push_back(band_record(record, found->second, low));
    }
    slices.push_back(
        {fmt::format("{}-{}", low, low + kBandWidth), build_grids(band, grid_request(request, parse_metric("exact")))});
  }
  std::vector<Figure> figures = heat_figures(slices, "depth of the answer, percent");
  for (Figure& figure : figures) {
    figure.description = "Depth 0 is the start of the prompt, 100 its end; a cell without a sample stays empty.";
    for (HeatPanel& panel : figure.heats) panel.high = 100;
  }
  return figures;
}

}  // namespace lenbench
