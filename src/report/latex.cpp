// LaTeX tables for the booktabs package.
#include "base/names.h"
#include "base/text.h"
#include "report/format.h"
#include "report/grid_text.h"

namespace lenbench {

namespace {

std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '\\':
        escaped += "\\textbackslash{}";
        break;
      case '~':
        escaped += "\\textasciitilde{}";
        break;
      case '^':
        escaped += "\\textasciicircum{}";
        break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        escaped += '\\';
        [[fallthrough]];
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string line(const std::vector<std::string>& cells) {
  std::vector<std::string> escaped;
  for (const std::string& cell : cells) escaped.push_back(escape(cell));
  return join(escaped, " & ") + " \\\\\n";
}

std::string table(const GridText& text) {
  std::string out = "\\begin{table}\n\\caption{" + escape(text.title);
  if (!text.caption.empty()) out += ". " + escape(text.caption);
  for (std::size_t i = 0; i < text.notes.size(); ++i) {
    out += " (" + std::to_string(i + 1) + ") " + escape(text.notes[i]) + ".";
  }
  out += "}\n\\begin{tabular}{l" + std::string(text.header.size() - 1, 'r') + "}\n\\toprule\n" + line(text.header);
  for (std::size_t i = 0; i < text.rows.size(); ++i) {
    if (i == 0 || text.kinds[i] != text.kinds[i - 1]) out += "\\midrule\n";
    out += line(text.rows[i]);
  }
  return out + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

}  // namespace

std::string render_latex(std::span<const Grid> grids) {
  std::string out = "% needs \\usepackage{booktabs}\n";
  for (const Grid& grid : grids) out += table(grid_text(grid));
  return out;
}

}  // namespace lenbench
