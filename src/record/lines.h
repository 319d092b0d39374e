// The bytes of a Record file taken apart; shared by reader and writer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace lenbench {

struct RecordLines {
  std::vector<Record> records;
  std::size_t torn_bytes = 0;  // at the end of the file, after the last whole Record
  bool unterminated = false;   // the last line, torn or whole, has no line feed
};

// Throws Error opening with "PATH:LINE" on every line that is no Record, except a torn last one.
RecordLines parse_record_lines(std::string_view bytes, const std::string& path);

}  // namespace lenbench
