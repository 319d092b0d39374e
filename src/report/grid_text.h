// A Grid as strings, shared by the formats that people read.
#pragma once

#include <string>
#include <vector>

#include "report/grid.h"

namespace lenbench {

// A value as tables show it: percent with one decimal, perplexity with two, entropy and masses with three.
std::string number_text(double value, const std::string& metric, bool percent);
// `99.5 [98.1, 99.9]`; "-" without a value.
std::string cell_text(const Grid& grid, std::size_t column, const GridCell& cell);

// "TASK:PARAMETERS:vN (documents 12ab34cd)", and what is measured, with its unit.
std::string place_title(const Grid& grid);
std::string metric_title(const Grid& grid);

struct GridText {
  std::string title;    // task, parameters, version when not 1, metric
  std::string caption;  // aggregate, n, seeds, split, interval kind, level of comparability
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // unescaped; a cell with a reason ends in " (k)"
  std::vector<std::vector<bool>> best;         // parallel to rows: cells to print in bold
  std::vector<RowKind> kinds;                  // parallel to rows
  std::vector<std::string> notes;              // note k-1 is the reason behind "(k)"
};

GridText grid_text(const Grid& grid);

// Collects reasons and numbers them from 1; equal reasons share a number.
class Notes {
 public:
  // " (k)", or "" for no reason.
  std::string mark(const std::string& reason);
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

// Escapes for one cell of a Markdown table: one line, and no character that ends the cell or opens code.
std::string markdown_escape(const std::string& text);
// A table with padded columns, those of numbers right-aligned and those of text left. Escapes every cell. `bold` is
// parallel to `rows`, or empty.
std::string markdown_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                           const std::vector<std::vector<bool>>& bold = {});
// "(1) reason", one to a line with a blank line between, escaped; empty for none.
std::string markdown_notes(const std::vector<std::string>& notes);

}  // namespace lenbench
