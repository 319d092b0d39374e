// The fixed look of transforms.
#include "report/chart.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace lenbench {

namespace {

struct TransformStyle {
  const char* transform;
  LineStyle style;
};

const TransformStyle kStyles[] = {
    {"softmax", {"#000000", "circle", {}}},
    {"adaptive-temperature", {"#999999", "square", {}}},
    {"ssmax", {"#E69F00", "diamond", {}}},
    {"entmax", {"#56B4E9", "triangle-up", {}}},
    {"entmax-learned-alpha", {"#56B4E9", "triangle-down", {6, 2}}},
    {"entmax(alpha=2)", {"#009E73", "square", {}}},  // sparsemax
    {"entmax-theta", {"#F0E442", "cross", {}}},
    {"entmax-theta-learned-alpha", {"#F0E442", "triangle-right", {6, 2}}},
    {"asentmax", {"#D55E00", "circle", {}}},
    {"asentmax-learned-alpha", {"#CC79A7", "diamond", {}}},
    {"learn", {"#0072B2", "square", {}}},
    {"topk", {"#0072B2", "triangle-down", {6, 2}}},
};

const std::vector<int> kDashes[] = {{}, {8, 3}, {2, 2}, {8, 3, 2, 3}, {4, 4}, {12, 3}};

}  // namespace

LineStyle style_of(std::string_view transform) {
  for (const std::string_view wanted : {transform, transform.substr(0, transform.find('('))}) {
    for (const TransformStyle& known : kStyles) {
      if (wanted == known.transform) return known.style;
    }
  }
  return {"#777777", "cross", {2, 2}};
}

std::vector<NamedStyle> line_styles(const Figure& figure) {
  std::vector<NamedStyle> styles;
  for (const LinePanel& panel : figure.lines) {
    std::map<std::string, std::size_t> sharing;
    for (const ChartLine& line : panel.lines) {
      const bool known =
          std::any_of(styles.begin(), styles.end(), [&](const NamedStyle& style) { return style.name == line.name; });
      const std::size_t place = sharing[line.transform]++;
      if (known) continue;
      LineStyle style = style_of(line.transform);
      if (place > 0) style.dash = kDashes[place % std::size(kDashes)];
      styles.push_back({line.name, style});
    }
  }
  return styles;
}

std::vector<double> places_of(const LinePanel& panel) {
  std::set<double> places;
  for (const ChartLine& line : panel.lines) {
    for (const ChartPoint& point : line.points) places.insert(point.x);
  }
  return {places.begin(), places.end()};
}

}  // namespace lenbench
