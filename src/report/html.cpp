// Semantic HTML tables in one self-contained page.
#include "report/html.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/format.h"
#include "report/grid_text.h"
#include "report/kind.h"

namespace lenbench {

namespace {

constexpr const char* kStyle =
    R"css(:root { color-scheme: light dark; --back: #ffffff; --text: #1a1a1a; --faint: #666666; --line: #cccccc; --tint: #f3f5f7; --link: #0a58ca; --series-black: #000000; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --text: #e8e8e8; --faint: #a3a8ad; --line: #3b4147; --tint: #1e2328; --link: #7ab7ff; --series-black: #ffffff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .5rem 0; } caption strong, caption span { display: block; max-width: min(70rem, calc(100vw - 2rem)); } caption span { color: var(--faint); font-size: .85rem; }
th, td { padding: .3rem .4rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; font-size: .9rem; }
thead th { border-bottom: 2px solid var(--text); white-space: normal; } tbody th, th:first-child { text-align: left; font-weight: normal; }
tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; } .manifest th { min-width: 0; } .manifest .text { text-align: left; white-space: normal; overflow-wrap: anywhere; }
tr.chance th, tr.chance td, tr.floor th, tr.floor td { color: var(--faint); background: var(--tint); }
tr.published th, tr.published td { color: var(--faint); font-style: italic; }
.interval { color: var(--faint); font-size: .8em; display: block; }
.notes { color: var(--faint); font-size: .85rem; padding-left: 1.5rem; overflow-wrap: anywhere; }
@media print { body { max-width: none; font-size: 10pt; } h2 { break-after: avoid; } table, figure { break-inside: avoid; } .screen { display: none; } .scroll { overflow: visible; } }
)css";

// "99.5 [98.1, 99.9] (1)" with its interval in a span.
std::string cell_html(const std::string& text, bool best) {
  const std::size_t bracket = text.find(" [");
  std::string value = html_escape(text.substr(0, bracket)), rest;
  if (bracket != std::string::npos) {
    const std::size_t end = text.find(']') + 1;
    rest = fmt::format(" <span class=\"interval\">{}</span>{}",
                       html_escape(text.substr(bracket + 1, end - bracket - 1)), html_escape(text.substr(end)));
  }
  return (best ? "<strong>" + value + "</strong>" : value) + rest;
}

}  // namespace

std::string html_escape(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string html_table(const Grid& grid, const std::string& id) {
  const GridText text = grid_text(grid);
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-caption\">\n<table id=\"{0}\">\n"
      "<caption id=\"{0}-caption\"><strong>{1}</strong><span>{2}</span></caption>\n<thead><tr>",
      id, html_escape(text.title), html_escape(text.caption));
  for (const std::string& name : text.header) out += "<th scope=\"col\">" + html_escape(name) + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < text.rows.size(); ++row) {
    out += fmt::format("<tr class=\"{}\">", kind_name(text.kinds[row]));
    for (std::size_t i = 0; i < text.rows[row].size(); ++i) {
      const std::string& cell = text.rows[row][i];
      out += i == 0 ? "<th scope=\"row\">" + html_escape(cell) + "</th>"
                    : "<td>" + cell_html(cell, text.best[row][i]) + "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n";
  if (text.notes.empty()) return out;
  out += "<ol class=\"notes\">";
  for (const std::string& note : text.notes) out += "<li>" + html_escape(note) + "</li>";
  return out + "</ol>\n";
}

std::string html_style() { return kStyle; }

std::string html_page(std::string_view title, std::string_view head, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"lenbench\">\n<title>{}</title>\n<style>\n{}</style>\n{}</head>\n<body>\n{}"
      "</body>\n</html>\n",
      html_escape(title), html_style(), head, body);
}

std::string render_html(std::span<const Grid> grids) {
  std::string body = "<main>\n<h1>lenbench table</h1>\n";
  if (grids.empty()) body += "<p>no records</p>\n";
  for (std::size_t i = 0; i < grids.size(); ++i) body += html_table(grids[i], fmt::format("table-{}", i + 1));
  return html_page("lenbench table", "", body + "</main>\n");
}

}  // namespace lenbench
