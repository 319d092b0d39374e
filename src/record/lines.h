// The bytes of a Record file taken apart; shared by reader and writer.
#pragma once

#include <cstddef>
#include <cstdint>
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

// Whether an unterminated last line is what a killed writer leaves: a beginning of a Record, or, after a power cut,
// anything behind whole Records.
bool is_torn_line(std::string_view tail, bool follows_records);
// One line on it, without advice.
std::string torn_line_problem(const std::string& path, std::int64_t line, std::size_t bytes);

}  // namespace lenbench
