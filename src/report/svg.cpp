// Inline SVG: axes, bands, lines with shapes, heat maps.
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/names.h"
#include "report/html.h"

namespace lenbench {

namespace {

constexpr double kWidth = 460, kHeight = 300, kLeft = 58, kRight = 16, kTop = 10, kBottom = 46;

struct Scale {
  double from = 0, to = 1;    // values
  double begin = 0, end = 1;  // pixels
  double at(double value) const { return begin + (value - from) / (to - from) * (end - begin); }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor, html_escape(text));
}

std::string short_number(double value) { return fmt::format("{:.4g}", value); }

// About five round values that cover [low, high].
std::vector<double> ticks(double low, double high) {
  const double raw = (high - low) / 5, power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> values;
  // Adding 0 makes -0 a 0.
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) values.push_back(k * step + 0.0);
  return values;
}

Scale value_scale(const LinePanel& panel) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ChartLine& line : panel.lines) {
    for (const ChartPoint& point : line.points) {
      low = std::min({low, point.value, point.low.value_or(point.value)});
      high = std::max({high, point.value, point.high.value_or(point.value)});
    }
  }
  if (!(low < high)) {
    const double margin = low == 0 ? 1 : std::abs(low) / 2;
    low -= margin;
    high += margin;
  }
  const double margin = (high - low) / 20;
  return {panel.low.value_or(low - margin), panel.high.value_or(high + margin), kHeight - kBottom, kTop};
}

// Of places, or of their logarithms.
struct PlaceScale {
  Scale scale;
  bool log = true;
  double at(double place) const { return scale.at(log ? std::log2(place) : place); }
};

PlaceScale place_scale(const ChartAxis& axis, const std::vector<double>& places) {
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  double from = axis.log ? std::log2(*low) : *low, to = axis.log ? std::log2(*high) : *high;
  if (from == to) {
    from -= 1;
    to += 1;
  }
  return {{from, to, kLeft + 8, kWidth - kRight - 8}, axis.log};
}

// Every length, or about five round places.
std::vector<double> place_ticks(const ChartAxis& axis, const PlaceScale& x, const std::vector<double>& places) {
  if (axis.is_length) return places;
  if (!axis.log) return ticks(x.scale.from, x.scale.to);
  std::vector<double> powers;
  for (double k = std::ceil(x.scale.from - 1e-9); k <= x.scale.to + 1e-9; ++k) powers.push_back(std::exp2(k));
  return powers;
}

std::string colour_of(const LineStyle& style) {
  return std::string_view(style.colour) == "#000000" ? "var(--series-black)" : style.colour;
}

std::string shape_path(std::string_view shape, double x, double y) {
  constexpr double r = 4.2;
  if (shape == "circle") return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", x, y, r - 0.4);
  const auto polygon = [&](std::initializer_list<std::array<double, 2>> corners) {
    std::string points;
    for (const auto& corner : corners) points += fmt::format("{:.1f},{:.1f} ", x + corner[0] * r, y + corner[1] * r);
    return "<polygon points=\"" + points + "\"/>";
  };
  if (shape == "square") return polygon({{-0.85, -0.85}, {0.85, -0.85}, {0.85, 0.85}, {-0.85, 0.85}});
  if (shape == "diamond") return polygon({{0, -1.2}, {1.2, 0}, {0, 1.2}, {-1.2, 0}});
  if (shape == "triangle-up") return polygon({{0, -1.1}, {1, 0.8}, {-1, 0.8}});
  if (shape == "triangle-down") return polygon({{0, 1.1}, {1, -0.8}, {-1, -0.8}});
  if (shape == "triangle-right") return polygon({{1.1, 0}, {-0.8, 1}, {-0.8, -1}});
  constexpr double t = 0.35;
  return polygon(
      {{-t, -1}, {t, -1}, {t, -t}, {1, -t}, {1, t}, {t, t}, {t, 1}, {-t, 1}, {-t, t}, {-1, t}, {-1, -t}, {-t, -t}});
}

std::string dash_of(const LineStyle& style) {
  std::vector<std::string> lengths;
  for (const int length : style.dash) lengths.push_back(std::to_string(length));
  return lengths.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", join(lengths, " "));
}

const LineStyle& style_named(const std::vector<NamedStyle>& styles, const std::string& name) {
  return std::find_if(styles.begin(), styles.end(), [&](const NamedStyle& style) { return style.name == name; })->style;
}

std::string point_text(const ChartLine& line, const ChartPoint& point) {
  const std::string place = point.place.empty() ? "at " + std::to_string(point.length) : point.place;
  std::string text = fmt::format("{} {}: {}", line.name, place, short_number(point.value));
  if (point.low && point.high) text += fmt::format(" [{}, {}]", short_number(*point.low), short_number(*point.high));
  if (point.n > 0) text += fmt::format(", {} samples", point.n);
  return text;
}

std::string axes(const LinePanel& panel, const PlaceScale& x, const Scale& y, const std::vector<double>& places) {
  std::string out = "<g class=\"axis\">";
  for (const double value : ticks(y.from, y.to)) {
    out += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, kWidth - kRight,
                       y.at(value), y.at(value)) +
           text_at(kLeft - 6, y.at(value) + 4, "end", short_number(value));
  }
  double last = -1000;
  for (const double value : places) {
    const double place = x.at(value);
    out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>", place, kHeight - kBottom,
                       kHeight - kBottom + 5);
    if (place - last < 42) continue;
    out += text_at(place, kHeight - kBottom + 18, "middle", fmt::format("{:.6g}", value));
    last = place;
  }
  out += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", kLeft, kWidth - kRight, kHeight - kBottom);
  out += text_at((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", panel.axis.title);
  out += fmt::format("<text transform=\"translate(13 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                     (kTop + kHeight - kBottom) / 2, html_escape(panel.value_title));
  return out + "</g>";
}

std::string line_marks(const ChartLine& line, const LineStyle& style, const PlaceScale& x, const Scale& y,
                       bool joined) {
  std::string upper, lower, path;
  std::size_t bounded = 0;
  for (const ChartPoint& point : line.points) {
    const double place = x.at(point.x);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", place, y.at(point.value));
    if (!point.low || !point.high) continue;
    ++bounded;
    upper += fmt::format("{:.1f},{:.1f} ", place, y.at(*point.high));
    lower = fmt::format("{:.1f},{:.1f} ", place, y.at(*point.low)) + lower;
  }
  std::string out = fmt::format("<g style=\"--c:{}\">", colour_of(style));
  if (bounded > 1) out += "<polygon class=\"band\" points=\"" + upper + lower + "\"/>";
  if (joined) out += fmt::format("<path class=\"line\" d=\"{}\"{}/>", path, dash_of(style));
  for (const ChartPoint& point : line.points) {
    const double place = x.at(point.x);
    out += "<g class=\"mark\"><title>" + html_escape(point_text(line, point)) + "</title>";
    if (point.low && point.high) {
      out += fmt::format("<line class=\"whisker\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", place,
                         y.at(*point.low), y.at(*point.high));
    }
    out += shape_path(style.shape, place, y.at(point.value)) + "</g>";
  }
  return out + "</g>\n";
}

std::string opening(const std::string& title, const std::string& description, const std::string& id, double height) {
  return fmt::format(
      "<div class=\"panel\"><h4>{1}</h4><svg viewBox=\"0 0 {3} {4:.0f}\" role=\"img\" aria-labelledby=\"{0}-title "
      "{0}-desc\"><title id=\"{0}-title\">{1}</title><desc id=\"{0}-desc\">{2}</desc>\n",
      id, html_escape(title), html_escape(description), kWidth, height);
}

std::string line_svg(const LinePanel& panel, const std::vector<NamedStyle>& styles, const std::string& id) {
  const std::vector<double> places = places_of(panel);
  std::vector<double> marked = places;
  for (const std::int64_t length : panel.train_lengths) marked.push_back(static_cast<double>(length));
  const PlaceScale x = place_scale(panel.axis, marked);
  const Scale y = value_scale(panel);
  std::vector<std::string> ends;
  for (const ChartLine& line : panel.lines) ends.push_back(point_text(line, line.points.back()));
  std::string out =
      opening(panel.title, panel.value_title + " by " + panel.axis.title + ". " + join(ends, "; ") + ".", id, kHeight);
  out += axes(panel, x, y, place_ticks(panel.axis, x, places)) + "\n";
  if (panel.diagonal) {
    const double from = std::max(x.scale.from, y.from), to = std::min(x.scale.to, y.to);
    out += fmt::format("<line class=\"trained\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                       x.at(from), x.at(to), y.at(from), y.at(to));
  }
  for (const std::int64_t length : panel.train_lengths) {
    out += fmt::format(
        "<g><title>trained at {0}</title><line class=\"trained\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2}\" "
        "y2=\"{3}\"/></g>\n",
        length, x.at(static_cast<double>(length)), kTop, kHeight - kBottom);
  }
  for (const ChartLine& line : panel.lines) out += line_marks(line, style_named(styles, line.name), x, y, panel.joined);
  return out + "</svg></div>\n";
}

// Dark to light, even in perceived lightness and in print without colour: five stops of viridis.
std::string heat_colour(double share) {
  constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double place = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(place), kStops.size() - 2);
  std::array<int, 3> colour{};
  for (std::size_t i = 0; i < colour.size(); ++i) {
    const double mixed =
        kStops[below][i] + (place - static_cast<double>(below)) * (kStops[below + 1][i] - kStops[below][i]);
    colour[i] = static_cast<int>(mixed + 0.5);
  }
  return fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
}

std::string heat_svg(const HeatPanel& panel, const std::string& id) {
  constexpr double kNames = 158, kRow = 15;
  const double bottom = kTop + kRow * static_cast<double>(panel.rows.size());
  const double column = (kWidth - kNames - kRight) / static_cast<double>(panel.lengths.size());
  std::string out =
      opening(panel.title,
              fmt::format("{} by {} and length, from {} (dark) to {} (light){}.", panel.value_title, panel.row_title,
                          short_number(panel.low), short_number(panel.high), panel.log_colour ? ", logarithmic" : ""),
              id, bottom + kBottom);
  const auto share = [&](double value) {
    if (panel.log_colour) return std::log(std::max(value, panel.low) / panel.low) / std::log(panel.high / panel.low);
    return (value - panel.low) / (panel.high - panel.low);
  };
  out += "<g class=\"axis\">";
  for (std::size_t i = 0; i < panel.lengths.size(); ++i) {
    out += text_at(kNames + column * (static_cast<double>(i) + 0.5), bottom + 16, "middle",
                   std::to_string(panel.lengths[i]));
  }
  out += text_at((kNames + kWidth) / 2, bottom + 36, "middle", "length, tokens");
  for (std::size_t row = 0; row < panel.rows.size(); ++row) {
    out += text_at(kNames - 6, kTop + kRow * static_cast<double>(row) + 11, "end", panel.rows[row]);
  }
  out += "</g>\n";
  for (std::size_t row = 0; row < panel.rows.size(); ++row) {
    for (std::size_t i = 0; i < panel.lengths.size(); ++i) {
      const std::size_t place = row * panel.lengths.size() + i;
      if (!panel.values[place]) continue;
      const double value = *panel.values[place];
      out += fmt::format(
          "<rect class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"><title>{} at {}: "
          "{}</title></rect>",
          kNames + column * static_cast<double>(i), kTop + kRow * static_cast<double>(row), column, kRow,
          heat_colour(share(value)), html_escape(panel.rows[row]), panel.lengths[i], short_number(value));
    }
  }
  return out + "</svg></div>\n";
}

std::string legend(const std::vector<NamedStyle>& styles) {
  std::string out = "<ul class=\"legend\">";
  for (const NamedStyle& named : styles) {
    out += fmt::format(
        "<li><svg viewBox=\"0 0 34 12\" width=\"34\" height=\"12\" aria-hidden=\"true\"><g style=\"--c:{}\"><path "
        "class=\"line\" d=\"M1 6L33 6\"{}/><g class=\"mark\">{}</g></g></svg>{}</li>",
        colour_of(named.style), dash_of(named.style), shape_path(named.style.shape, 17, 6), html_escape(named.name));
  }
  return out + "</ul>\n";
}

}  // namespace

std::string html_figure(const Figure& figure, const std::string& id) {
  const std::vector<NamedStyle> styles = line_styles(figure);
  std::string out = fmt::format("<figure id=\"{}\">\n<div class=\"panels\">\n", id);
  std::size_t number = 0;
  for (const LinePanel& panel : figure.lines) out += line_svg(panel, styles, fmt::format("{}-{}", id, ++number));
  for (const HeatPanel& panel : figure.heats) out += heat_svg(panel, fmt::format("{}-{}", id, ++number));
  out += "</div>\n";
  if (!styles.empty()) out += legend(styles);
  return out + "<figcaption><strong>" + html_escape(figure.title) + ".</strong> " + html_escape(figure.description) +
         "</figcaption>\n</figure>\n";
}

std::string svg_style() {
  return R"css(figure { margin: 1rem 0; } figcaption { color: var(--faint); font-size: .85rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; }
.panel h4 { margin: 0 0 .3rem; font-size: .95rem; overflow-wrap: anywhere; } .panel svg { width: 100%; max-width: 36rem; height: auto; display: block; }
svg text { font: 11px system-ui, sans-serif; fill: var(--text); } .axis line { stroke: var(--faint); } .axis .grid { stroke: var(--line); stroke-width: .6; }
.line { fill: none; stroke: var(--c); stroke-width: 1.8; } .band { fill: var(--c); opacity: .13; } .whisker { stroke: var(--c); opacity: .5; }
.mark circle, .mark polygon { fill: var(--c); } .mark:hover { stroke: var(--text); stroke-width: 1.5; } .trained { stroke: var(--faint); stroke-dasharray: 4 4; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; font-size: .85rem; } .legend svg { vertical-align: middle; margin-right: .4rem; }
)css";
}

}  // namespace lenbench
