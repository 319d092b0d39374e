// Vega-Lite JSON: lines with bands and rules, heat maps, one concatenation of panels for each figure.
#include "report/vega.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace lenbench {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 330, kHeight = 220;

// `places` ascending: those of the points, and of all that is marked beside them.
Json place_axis(const ChartAxis& axis, const std::vector<double>& places) {
  const double low = places.front(), high = places.back();
  Json json = {{"field", "x"}, {"type", "quantitative"}, {"title", axis.title}};
  // One place alone would make an axis without extent.
  const Json domain = low == high ? Json::array({low / 2, high * 2}) : Json::array({low, high});
  if (axis.log) {
    json["scale"] = {{"type", "log"}, {"base", 2}, {"nice", false}, {"domain", domain}};
  } else {
    json["scale"] = {{"zero", false}, {"nice", true}};
  }
  json["axis"] = {{"grid", false}, {"labelOverlap", true}, {"labelAngle", 0}};
  return json;
}

Json line_points(const LinePanel& panel) {
  Json values = Json::array();
  for (const ChartLine& line : panel.lines) {
    for (const ChartPoint& point : line.points) {
      Json value = {
          {"line", line.name}, {"x", point.x}, {"length", point.length}, {"value", point.value}, {"n", point.n}};
      if (!point.place.empty()) value["place"] = point.place;
      // As text too, because a tooltip shows a number that is not there as NaN.
      value["interval"] = "none";
      if (point.low && point.high) {
        value["interval"] = fmt::format("{:.4g} to {:.4g}", *point.low, *point.high);
        value["low"] = *point.low;
        value["high"] = *point.high;
      }
      values.push_back(std::move(value));
    }
  }
  return values;
}

Json style_scale(const std::vector<NamedStyle>& styles, Json (*part)(const LineStyle&)) {
  Json names = Json::array(), range = Json::array();
  for (const NamedStyle& style : styles) {
    names.push_back(style.name);
    range.push_back(part(style.style));
  }
  return {{"domain", std::move(names)}, {"range", std::move(range)}};
}

Json value_ends(const LinePanel& panel) {
  double low = panel.lines[0].points[0].value, high = low;
  for (const ChartLine& line : panel.lines) {
    for (const ChartPoint& point : line.points) {
      low = std::min(low, point.value);
      high = std::max(high, point.value);
    }
  }
  return low < high ? Json::array({low, high}) : Json::array({low - 1, high + 1});
}

Json line_panel(const LinePanel& panel, const std::vector<NamedStyle>& styles) {
  const std::vector<double> places = places_of(panel);
  std::vector<double> marked = places;
  for (const std::int64_t length : panel.train_lengths) marked.push_back(static_cast<double>(length));
  std::sort(marked.begin(), marked.end());
  Json x = place_axis(panel.axis, marked);
  if (panel.axis.is_length) {
    x["axis"]["values"] = places;
    x["axis"]["format"] = "d";
  }
  Json scale = {{"zero", false}};
  if (panel.low && panel.high) scale = {{"domain", {*panel.low, *panel.high}}};
  // The diagonal is clipped to the values rather than the values squeezed to make room for it.
  if (panel.diagonal) scale["domain"] = value_ends(panel);
  const auto y = [&](const char* field) {
    return Json{{"field", field}, {"type", "quantitative"}, {"title", panel.value_title}, {"scale", scale}};
  };
  const auto by_line = [&](Json (*part)(const LineStyle&)) {
    return Json{{"field", "line"}, {"type", "nominal"}, {"title", nullptr}, {"scale", style_scale(styles, part)}};
  };
  // A legend draws dashes or shapes, not both.
  const bool dashed = panel.joined && std::any_of(styles.begin(), styles.end(),
                                                  [](const NamedStyle& style) { return !style.style.dash.empty(); });
  const auto with_legend = [&](Json channel, bool is_shape) {
    if (dashed && is_shape) channel["legend"] = nullptr;
    if (dashed && !is_shape)
      channel["legend"] = {{"symbolType", "stroke"}, {"symbolSize", 900}, {"symbolStrokeWidth", 2}};
    return channel;
  };
  const Json colour = with_legend(by_line([](const LineStyle& style) { return Json(style.colour); }), false);
  Json tooltip = Json::array({{{"field", "line"}, {"type", "nominal"}},
                              panel.axis.is_length ? Json{{"field", "length"}, {"type", "quantitative"}}
                                                   : Json{{"field", "place"}, {"type", "nominal"}},
                              {{"field", "value"}, {"type", "quantitative"}, {"format", ".4g"}},
                              {{"field", "interval"}, {"type", "nominal"}}});
  const auto counts_samples = [](const ChartLine& line) {
    return std::any_of(line.points.begin(), line.points.end(), [](const ChartPoint& point) { return point.n > 0; });
  };
  if (std::any_of(panel.lines.begin(), panel.lines.end(), counts_samples)) {
    tooltip.push_back({{"field", "n"}, {"type", "quantitative"}, {"title", "samples"}});
  }
  Json layers = Json::array();
  if (!panel.train_lengths.empty()) {
    Json rules = Json::array();
    for (const std::int64_t length : panel.train_lengths) {
      rules.push_back({{"x", length}, {"label", "trained at " + std::to_string(length)}});
    }
    layers.push_back({{"data", {{"values", std::move(rules)}}},
                      {"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}, {"color", "#888888"}, {"tooltip", true}}},
                      {"encoding", {{"x", x}, {"tooltip", {{"field", "label"}, {"type", "nominal"}}}}}});
  }
  if (panel.diagonal) {
    layers.push_back({{"data", {{"values", Json::array({{{"x", marked.front()}}, {{"x", marked.back()}}})}}},
                      {"mark", {{"type", "line"}, {"clip", true}, {"strokeDash", {4, 4}}, {"color", "#888888"}}},
                      {"encoding", {{"x", x}, {"y", y("x")}}}});
  }
  const Json whole = Json::array({{{"filter", "isValid(datum.low)"}}});
  layers.push_back({{"transform", whole},
                    {"mark", {{"type", "area"}, {"opacity", 0.13}}},
                    {"encoding", {{"x", x}, {"y", y("low")}, {"y2", {{"field", "high"}}}, {"color", colour}}}});
  // The band of a line with one point has no area.
  layers.push_back({{"transform", whole},
                    {"mark", {{"type", "rule"}, {"opacity", 0.35}}},
                    {"encoding", {{"x", x}, {"y", y("low")}, {"y2", {{"field", "high"}}}, {"color", colour}}}});
  const Json point = {{"size", 42}, {"filled", true}};
  Json encoding = {{"x", x},
                   {"y", y("value")},
                   {"color", colour},
                   {"shape", with_legend(by_line([](const LineStyle& style) { return Json(style.shape); }), true)}};
  if (panel.joined) {
    encoding["strokeDash"] = with_legend(by_line([](const LineStyle& style) {
                                           return style.dash.empty() ? Json::array({1, 0}) : Json(style.dash);
                                         }),
                                         false);
  }
  encoding["tooltip"] = tooltip;
  Json mark = {{"type", "line"}, {"point", point}};
  if (!panel.joined) {
    mark = point;
    mark["type"] = "point";
  }
  layers.push_back({{"mark", std::move(mark)}, {"encoding", std::move(encoding)}});
  return {{"title", panel.title},
          {"width", kWidth},
          {"height", kHeight},
          {"data", {{"values", line_points(panel)}}},
          {"layer", std::move(layers)}};
}

Json heat_panel(const HeatPanel& panel) {
  Json values = Json::array();
  for (std::size_t row = 0; row < panel.rows.size(); ++row) {
    for (std::size_t column = 0; column < panel.lengths.size(); ++column) {
      const std::size_t place = row * panel.lengths.size() + column;
      const std::optional<double>& value = panel.values[place];
      values.push_back({{"row", panel.rows[row]},
                        {"length", panel.lengths[column]},
                        {"value", value ? Json(*value) : Json(nullptr)},
                        {"n", panel.n[place]}});
    }
  }
  Json scale = {{"scheme", "viridis"}, {"domain", {panel.low, panel.high}}, {"clamp", true}};
  if (panel.log_colour) scale["type"] = "log";
  const Json colour = {{"field", "value"},
                       {"type", "quantitative"},
                       {"title", panel.value_title + (panel.log_colour ? " (log scale)" : "")},
                       {"scale", std::move(scale)}};
  const Json tooltip = Json::array({{{"field", "row"}, {"type", "nominal"}, {"title", panel.row_title}},
                                    {{"field", "length"}, {"type", "ordinal"}},
                                    {{"field", "value"}, {"type", "quantitative"}, {"format", ".4g"}},
                                    {{"field", "n"}, {"type", "quantitative"}, {"title", "samples"}}});
  const int row_height = std::clamp(kHeight / static_cast<int>(panel.rows.size()), 9, 22);
  return {
      {"title", panel.title},
      {"width", kWidth},
      {"height", row_height * static_cast<int>(panel.rows.size())},
      {"data", {{"values", std::move(values)}}},
      // Cells without a value stay empty.
      {"transform", Json::array({{{"filter", "isValid(datum.value)"}}})},
      {"mark", "rect"},
      {"encoding",
       {{"x",
         {{"field", "length"},
          {"type", "ordinal"},
          {"title", "length, tokens"},
          {"scale", {{"domain", panel.lengths}}},
          {"axis", {{"labelAngle", 0}, {"labelOverlap", true}}}}},
        {"y", {{"field", "row"}, {"type", "nominal"}, {"title", panel.row_title}, {"scale", {{"domain", panel.rows}}}}},
        {"color", colour},
        {"tooltip", tooltip}}}};
}

Json figure_json(const Figure& figure) {
  Json panels = Json::array();
  const std::vector<NamedStyle> styles = line_styles(figure);
  for (const LinePanel& panel : figure.lines) panels.push_back(line_panel(panel, styles));
  for (const HeatPanel& panel : figure.heats) panels.push_back(heat_panel(panel));
  return {{"title", {{"text", figure.title}, {"anchor", "start"}}},
          {"description", figure.description},
          {"columns", figure.columns},
          {"concat", std::move(panels)}};
}

}  // namespace

std::string vega_lite(std::span<const Figure> figures) {
  Json parts = Json::array();
  for (const Figure& figure : figures) {
    if (figure.lines.empty() && figure.heats.empty()) continue;
    parts.push_back(figure_json(figure));
  }
  if (parts.empty()) throw Error("there is nothing to draw in these Records");
  Json json = {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"}, {"background", "white"}};
  if (parts.size() == 1) {
    json.update(parts.front());
  } else {
    json["resolve"] = {{"scale", {{"color", "independent"}, {"shape", "independent"}, {"strokeDash", "independent"}}}};
    json["vconcat"] = std::move(parts);
  }
  json["config"] = {{"view", {{"stroke", "#dddddd"}}},
                    {"axis", {{"labelFontSize", 10}}},
                    {"legend", {{"orient", "right"}, {"labelLimit", 400}, {"symbolSize", 60}, {"symbolOpacity", 1}}}};
  return dump_json(json) + "\n";
}

}  // namespace lenbench
