// Record files of the parts of a plan, joined into the Records of a single process.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace lenbench {

// A Record and the file it came from, for messages.
struct SourcedRecord {
  Record record;
  std::string file;
};

// All Cells of the plan that `records` are parts of, in the plan's order, then Records that were whole already, in
// theirs. Throws Error in one line naming the files where parts overlap, are missing, or differ in model, build or
// plan, and where a Cell is measured twice.
std::vector<Record> merge_records(const std::vector<SourcedRecord>& records);

}  // namespace lenbench
