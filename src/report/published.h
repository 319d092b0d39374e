// Numbers that others published, shown beside measured ones and never as measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/grid.h"

namespace lenbench {

struct PublishedRow {
  std::string method;
  std::vector<std::optional<double>> values;  // parallel to PublishedTable::columns, as printed in the source
  std::string confidence;                     // how sure the transcription is; may be empty
};

struct PublishedTable {
  std::string id;
  std::string source;              // id of the source
  std::string source_description;  // what the source is and how its numbers came about
  std::string task, metric, positions;
  std::int64_t train_length = 0;  // 0: unknown
  std::vector<GridColumn> columns;
  std::vector<PublishedRow> rows;
};

// Reads a file like results/published/paper_tables.json. Throws Error naming the file and the place.
std::vector<PublishedTable> read_published(const std::string& path);

// Ids in file order.
std::vector<std::string> papers(const std::vector<PublishedTable>& tables);

// By id, or by a short name: `mqmtar` is `paper-1-mqmtar`. Throws Error on an unknown id ("did you mean").
const PublishedTable& find_published(const std::vector<PublishedTable>& tables, std::string_view id);

// Whether the table is about a task of ours. The founding note says "associative recall" and no more, which both of our
// recall tasks are.
bool is_about(const PublishedTable& table, const std::string& task);

// The table alone, its rows named `method (source)`.
Grid published_grid(const PublishedTable& table);

// Appends the rows of `table` to `grid`, named `method (source)`, with the table's metric added to the name where it is
// not the grid's. Columns become the union, ascending; cells without a number say "not published". Throws Error when
// the table is of another task, or has no lengths.
void add_published(Grid& grid, const PublishedTable& table);

}  // namespace lenbench
