// A figure as data, and the fixed look of its lines. Drawn as Vega-Lite (vega.h) or as SVG (svg.h), which compute
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lenbench {

struct ChartPoint {
  std::int64_t length = 0;  // tokens
  double value = 0;
  std::optional<double> low, high;  // together or not at all
  std::int64_t n = 0;               // samples behind the value
  double x = 0;                     // place on the panel's axis
  std::string place = {};           // what the point is, where its length does not say it
};

// The horizontal axis.
struct ChartAxis {
  std::string title = "length, tokens (log scale)";
  bool log = true;        // of base 2
  bool is_length = true;  // places are nominal lengths, each of which is named
};

struct ChartLine {
  std::string name;
  std::string transform;  // decides the colour; may be empty
  std::vector<ChartPoint> points;
};

// Values over length or another axis.
struct LinePanel {
  std::string title;
  std::string value_title;          // with its unit
  std::optional<double> low, high;  // ends of the value axis, where the quantity has ends
  std::vector<ChartLine> lines;
  std::vector<std::int64_t> train_lengths;  // ascending; each is marked by a rule; for axes of length only
  ChartAxis axis = {};
  bool joined = true;     // points of a line are joined
  bool diagonal = false;  // a rule where the value equals the place
};

// Values over length and a second axis of names.
struct HeatPanel {
  std::string title;
  std::string row_title;  // what the rows are
  std::string value_title;
  double low = 0, high = 1;  // ends of the colour scale; above 0 where it is logarithmic
  bool log_colour = false;
  std::vector<std::string> rows;
  std::vector<std::int64_t> lengths;
  std::vector<std::optional<double>> values;  // rows x lengths, row-major
  std::vector<std::int64_t> n;                // samples behind each value
};

struct Figure {
  std::string title;
  std::string description;  // what a reader who sees no picture should know
  std::size_t columns = 1;  // panels side by side
  std::vector<LinePanel> lines;
  std::vector<HeatPanel> heats;
};

// The look of one line. Colours are Okabe and Ito's (2008), which most readers with a colour-vision deficiency tell
// apart; the shape says the same again for print without colour.
struct LineStyle {
  const char* colour;     // "#RRGGBB"
  const char* shape;      // a Vega symbol: "circle", "square", ...
  std::vector<int> dash;  // lengths of strokes and gaps in pixels; empty: solid
};

// The look of a transform, the same in every figure. Options in brackets ("entmax(alpha=2)") look like the plain name
// but for those that have a name in the literature. Unknown and empty names are grey.
LineStyle style_of(std::string_view transform);

// Looks of all lines of a figure by name, in order of first appearance: the look of their transform, with other dashes
// where several lines of a panel share one.
struct NamedStyle {
  std::string name;
  LineStyle style;
};
std::vector<NamedStyle> line_styles(const Figure& figure);

// All places of a panel's points, ascending, distinct.
std::vector<double> places_of(const LinePanel& panel);

}  // namespace lenbench
