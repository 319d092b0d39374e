// Pieces of HTML pages, shared by the table format and the report.
#pragma once

#include <string>
#include <string_view>

#include "report/grid.h"

namespace lenbench {

// Text of any origin as HTML text or as the value of a quoted attribute: one line, nothing of it is markup.
std::string html_escape(std::string_view text);

// A <figure>-less semantic table: caption, column and row headers with scope, the best values strong, floors and
// published rows in classes of their own, and the numbered reasons below. `id` is unique in the page.
std::string html_table(const Grid& grid, const std::string& id);

// The style sheet that html_table expects: light and dark, readable on a phone, printable.
std::string html_style();

// A whole page, ending in one LF. `head` and `body` are HTML.
std::string html_page(std::string_view title, std::string_view head, std::string_view body);

}  // namespace lenbench
