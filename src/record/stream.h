// Record files read one Record at a time, for files larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "record/record.h"

namespace lenbench {

struct StreamPlace {
  std::int64_t bytes_read = 0, bytes_total = 0;  // of this file
};

// Hands the Records of a file to `take` in order; memory does not grow with the file. The same strictness and messages
// as read_records(), which refuses parts, and the same treatment of a last line cut short. Returns the number of
// Records.
std::int64_t for_each_record(const std::string& path,
                             const std::function<void(const Record&, const StreamPlace&)>& take,
                             std::string* note = nullptr);

}  // namespace lenbench
