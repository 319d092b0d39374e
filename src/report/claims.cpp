// The claims about why attention fails at length, each as a figure of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/fact_axis.h"
#include "report/figure_parts.h"
#include "report/grid_text.h"
#include "report/prefix_rows.h"

namespace lenbench {

namespace {

constexpr const char* kPairs = "pairs";

// ln(support) and entropy of every head and length of `group`, one line a model, in each of `figures` (one a Grid).
void add_spread(const std::vector<Record>& records, const FigureRequest& request, const HeadPlace& place,
                HeadGroup group, std::vector<LinePanel>& panels, std::vector<std::string>& titles) {
  const auto grids_of = [&](Metric metric) {
    return build_grids(records,
                       grid_request(request, MetricChoice{metric, group, RowOutcome::kAny, place.layer, place.head}));
  };
  const std::vector<Grid> entropies = grids_of(Metric::kNats), supports = grids_of(Metric::kSupport);
  panels.resize(entropies.size());
  titles.resize(entropies.size());
  for (std::size_t g = 0; g < entropies.size(); ++g) {
    const Grid& grid = entropies[g];
    titles[g] = place_title(grid) + ": entropy against the log of the support, " + grid.probe_rows + " rows";
    for (std::size_t r = 0; r < grid.rows.size(); ++r) {
      const GridRow& row = grid.rows[r];
      std::vector<ChartPoint> points;
      for (std::size_t c = 0; c < row.cells.size(); ++c) {
        const std::optional<double>& support = supports[g].rows[r].cells[c].value;
        if (!row.cells[c].value || !support || *support < 1) continue;
        ChartPoint point{grid.columns[c].length, *row.cells[c].value, {}, {}, row.cells[c].n};
        point.x = std::log(*support);
        point.place = fmt::format("layer {} head {} at {}", place.layer, place.head, point.length);
        points.push_back(point);
      }
      if (points.empty()) continue;
      std::vector<ChartLine>& lines = panels[g].lines;
      auto line =
          std::find_if(lines.begin(), lines.end(), [&](const ChartLine& each) { return each.name == row.name; });
      if (line == lines.end()) line = lines.insert(lines.end(), ChartLine{row.name, row.transform, {}});
      line->points.insert(line->points.end(), points.begin(), points.end());
    }
  }
}

}  // namespace

std::vector<Figure> relevant_figures(const std::vector<Record>& records, FigureRequest request) {
  request.statistic = "source";
  const std::vector<std::string> facts = fact_names(records);
  const bool counts_pairs = std::find(facts.begin(), facts.end(), kPairs) != facts.end();
  if (request.x.empty() && counts_pairs) request.x = kPairs;
  std::vector<Figure> figures = dispersion_figures(records, request);
  for (Figure& figure : figures) {
    figure.description =
        "Mass of attention on the token that holds the row's answer, as what could be mistaken for it grows in number; "
        "means over heads, samples and answer rows, for each layer.";
  }
  return figures;
}

std::vector<Figure> spread_figures(const std::vector<Record>& records, const FigureRequest& request) {
  const std::vector<Record> chosen = probed_records(records);
  const auto heads = heads_of(chosen);
  std::vector<Figure> figures;
  for (const HeadGroup group : {HeadGroup::kPositionless, HeadGroup::kPositional}) {
    std::vector<LinePanel> panels;
    std::vector<std::string> titles;
    for (const auto& [place, positional] : heads) {
      if (group == HeadGroup::kPositional && !positional) continue;
      add_spread(chosen, request, place, group, panels, titles);
    }
    figures.resize(std::max(figures.size(), panels.size()));
    for (std::size_t i = 0; i < panels.size(); ++i) {
      LinePanel& panel = panels[i];
      figures[i].title = titles[i];
      if (panel.lines.empty()) continue;
      panel.title = group == HeadGroup::kPositionless ? "heads without positions" : "heads with positions";
      panel.value_title = "entropy, nats";
      panel.axis = {"ln(support)", false, false};
      panel.joined = false;
      panel.diagonal = true;
      figures[i].lines.push_back(std::move(panel));
    }
  }
  for (Figure& figure : figures) {
    figure.columns = 2;
    figure.description =
        "One point for each head and length: means over samples and rows. On the rule a row's mass is uniform over its "
        "support; below it, some keys of the support hold more than others.";
  }
  return figures;
}

std::vector<Figure> representation_figures(const std::vector<Record>& records, const FigureRequest& request) {
  std::vector<Record> chosen;
  std::size_t depths = 0;
  for (const Record& record : records) {
    if (record.measurement.representations.empty()) continue;
    chosen.push_back(record);
    depths = std::max(depths, record.measurement.representations.size());
  }
  const bool cosine = request.statistic == "cosine";
  const Metric metric = cosine ? Metric::kRepresentationCosine : Metric::kRepresentation;
  std::vector<Figure> figures;
  for (std::size_t depth = 0; depth < depths; ++depth) {
    MetricChoice choice{metric};
    choice.layer = static_cast<std::int64_t>(depth);
    const std::vector<Grid> grids = build_grids(chosen, grid_request(request, choice));
    figures.resize(grids.size());
    for (std::size_t i = 0; i < grids.size(); ++i) {
      Figure& figure = figures[i];
      figure.title = figure_title(grids[i]);
      figure.columns = 2;
      figure.description = fmt::format(
          "{} of the residual stream between samples of one length at their last judged row, by depth; means over "
          "pairs of neighbouring samples. {} Dashed vertical rules mark training lengths.",
          cosine ? "Cosine distance" : "Distance",
          cosine ? "0: one direction, 1: orthogonal." : "|a - b| / sqrt(|a|^2 + |b|^2): 0 equal, 1 orthogonal.");
      LinePanel panel = panel_of(grids[i], request.x);
      if (panel.lines.empty()) continue;
      panel.title = depth == 0 ? "embeddings" : fmt::format("after block {}", depth);
      panel.low = 0;
      double high = 1;
      for (const ChartLine& line : panel.lines) {
        for (const ChartPoint& point : line.points) high = std::max(high, point.value);
      }
      panel.high = high;
      figure.lines.push_back(std::move(panel));
    }
  }
  return figures;
}

std::vector<Figure> temperature_figures(const std::vector<Record>& records, FigureRequest request) {
  std::vector<Figure> figures;
  for (const char* statistic : {"scale", "alpha", "support"}) {
    request.statistic = statistic;
    for (Figure& figure : head_figures(records, request)) {
      if (!figure.heats.empty()) figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace lenbench
