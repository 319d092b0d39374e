// GitHub-flavoured Markdown.
#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "report/format.h"
#include "report/grid_text.h"

namespace lenbench {

namespace {

// Characters of UTF-8 text, close enough to columns of a terminal for padding.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// Whether a cell reads as a number, a gap or nothing.
bool is_numeric(const std::string& cell) {
  return cell.empty() || cell.find_first_of("0123456789") == 0 || cell.front() == '-' || cell.front() == '+' ||
         cell.starts_with("**");
}

std::string pad(const std::string& text, std::size_t columns, bool left) {
  const std::string blanks(columns - width(text), ' ');
  return left ? text + blanks : blanks + text;
}

}  // namespace

std::string markdown_escape(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '|' || c == '`' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string markdown_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                           const std::vector<std::vector<bool>>& bold) {
  std::vector<std::vector<std::string>> lines = {header};
  lines.insert(lines.end(), rows.begin(), rows.end());
  std::vector<std::size_t> widths(header.size(), 3);
  for (std::size_t row = 0; row < lines.size(); ++row) {
    std::vector<std::string>& line = lines[row];
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] = markdown_escape(line[i]);
      if (row > 0 && !bold.empty() && bold[row - 1][i]) line[i] = "**" + line[i] + "**";
      widths[i] = std::max(widths[i], width(line[i]));
    }
  }
  std::vector<bool> left(widths.size(), false);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool numbers =
        std::all_of(lines.begin() + 1, lines.end(), [&](const auto& line) { return is_numeric(line[i]); });
    left[i] = i == 0 || !numbers;
  }
  std::string text;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    text += '|';
    for (std::size_t i = 0; i < widths.size(); ++i) text += ' ' + pad(lines[row][i], widths[i], left[i]) + " |";
    text += '\n';
    if (row > 0) continue;
    text += '|';
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += ' ' + std::string(widths[i] - 1, '-') + (left[i] ? "-" : ":") + " |";
    }
    text += '\n';
  }
  return text;
}

std::string markdown_notes(const std::vector<std::string>& notes) {
  std::string text;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    text += (i > 0 ? "\n(" : "(") + std::to_string(i + 1) + ") " + markdown_escape(notes[i]) + "\n";
  }
  return text;
}

std::string render_markdown(std::span<const Grid> grids) {
  std::vector<std::string> parts;
  for (const Grid& grid : grids) {
    const GridText text = grid_text(grid);
    std::string part = "### " + markdown_escape(text.title) + "\n\n";
    if (!text.caption.empty()) part += markdown_escape(text.caption) + "\n\n";
    part += markdown_table(text.header, text.rows, text.best);
    if (!text.notes.empty()) part += "\n" + markdown_notes(text.notes);
    parts.push_back(part);
  }
  return parts.empty() ? "no records\n" : join(parts, "\n");
}

}  // namespace lenbench
