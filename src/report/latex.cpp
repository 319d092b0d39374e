// LaTeX tables for the booktabs and xcolor packages.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/names.h"
#include "base/text.h"
#include "report/format.h"
#include "report/grid_text.h"

namespace lenbench {

namespace {

// Characters that pdfLaTeX does not print as they are.
struct Character {
  char32_t code;
  const char* latex;
};

constexpr Character kCharacters[] = {
    {U'\\', "\\textbackslash{}"},
    {U'~', "\\textasciitilde{}"},
    {U'^', "\\textasciicircum{}"},
    {U'<', "\\textless{}"},
    {U'>', "\\textgreater{}"},
    {U'|', "\\textbar{}"},
    {U'"', "{\\ttfamily\\char34}"},
    {U'`', "\\textasciigrave{}"},
    {U'[', "{[}"},  // \\[ would be the space after a row
    {U'&', "\\&"},
    {U'%', "\\%"},
    {U'$', "\\$"},
    {U'#', "\\#"},
    {U'_', "\\_"},
    {U'{', "\\{"},
    {U'}', "\\}"},
    {U'\u00B1', "\\ensuremath{\\pm}"},
    {U'\u00D7', "\\ensuremath{\\times}"},
    {U'\u03B1', "\\ensuremath{\\alpha}"},
    {U'\u03B2', "\\ensuremath{\\beta}"},
    {U'\u03B3', "\\ensuremath{\\gamma}"},
    {U'\u03B4', "\\ensuremath{\\delta}"},
    {U'\u03B8', "\\ensuremath{\\theta}"},
    {U'\u03BB', "\\ensuremath{\\lambda}"},
    {U'\u03BC', "\\ensuremath{\\mu}"},
    {U'\u03C3', "\\ensuremath{\\sigma}"},
    {U'\u03C4', "\\ensuremath{\\tau}"},
    {U'\u2013', "--"},
    {U'\u2014', "---"},
};

// The code point at `at` of valid UTF-8, and the place after it.
char32_t next_character(const std::string& text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  char32_t code = lead & (0x3FU >> more);
  for (; more > 0; --more) code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  return code;
}

// Letters of Latin-1 that pdfLaTeX's default encodings have.
bool is_plain_letter(char32_t code) {
  return code >= 0xC0 && code <= 0xFF && code != 0xD0 && code != 0xD7 && code != 0xDE && code != 0xF0 && code != 0xF7 &&
         code != 0xFE;
}

std::string escape(const std::string& raw) {
  const std::string text = printable(raw);
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t code = next_character(text, at);
    const auto* known = std::find_if(std::begin(kCharacters), std::end(kCharacters),
                                     [&](const Character& character) { return character.code == code; });
    if (known != std::end(kCharacters)) {
      escaped += known->latex;
    } else if (code < 0x80 || is_plain_letter(code)) {
      escaped += text.substr(begin, at - begin);
    } else {
      escaped += fmt::format("\\lenbenchsymbol{{{:04X}}}", static_cast<std::uint32_t>(code));
    }
  }
  return escaped;
}

std::string line(const std::vector<std::string>& cells) { return join(cells, " & ") + " \\\\\n"; }

std::vector<std::string> escape_all(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = escape(cell);
  return cells;
}

// The best in bold, floors grey, published rows in italics.
std::vector<std::string> row_cells(const GridText& text, std::size_t row) {
  std::vector<std::string> cells = escape_all(text.rows[row]);
  const RowKind kind = text.kinds[row];
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].empty()) continue;
    if (text.best[row][i]) cells[i] = "\\textbf{" + cells[i] + "}";
    if (kind == RowKind::kChance || kind == RowKind::kFloor) cells[i] = "\\textcolor{gray}{" + cells[i] + "}";
    if (kind == RowKind::kPublished) cells[i] = "\\textit{" + cells[i] + "}";
  }
  return cells;
}

std::string table(const GridText& text) {
  std::string out = "\\begin{table}\n\\caption{" + escape(text.title);
  if (!text.caption.empty()) out += ". " + escape(text.caption);
  for (std::size_t i = 0; i < text.notes.size(); ++i) {
    out += " (" + std::to_string(i + 1) + ") " + escape(text.notes[i]) + ".";
  }
  out += "}\n\\begin{tabular}{l" + std::string(text.header.size() - 1, 'r') + "}\n\\toprule\n" +
         line(escape_all(text.header));
  for (std::size_t i = 0; i < text.rows.size(); ++i) {
    if (i == 0 || text.kinds[i] != text.kinds[i - 1]) out += "\\midrule\n";
    out += line(row_cells(text, i));
  }
  return out + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

}  // namespace

std::string render_latex(std::span<const Grid> grids) {
  std::string tables;
  for (const Grid& grid : grids) tables += table(grid_text(grid));
  std::string out = "% needs \\usepackage{booktabs,xcolor}\n";
  if (tables.find("\\lenbenchsymbol") != std::string::npos) {
    out +=
        "% characters that pdfLaTeX lacks: their number there, themselves in XeLaTeX and LuaLaTeX\n"
        "\\providecommand{\\lenbenchsymbol}[1]{\\ifdefined\\Umathchar\\symbol{\"#1}\\else\\texttt{U+#1}\\fi}\n";
  }
  return out + tables;
}

}  // namespace lenbench
