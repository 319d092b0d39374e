// What was run, of Records: subjects, circumstances and cells, each told once.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace lenbench {

// HTML tables: subjects and circumstances with a number each, and every cell with the numbers of its own.
std::string manifest_html(const std::vector<Record>& records);

}  // namespace lenbench
