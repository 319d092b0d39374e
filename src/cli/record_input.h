// Record files that a command reads, and what reports need to know of tasks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "record/record.h"

namespace lenbench::cli {

// All Records of `files` in order. A torn last line is left out with a note. Throws Error on no file and on a file
// without Records.
std::vector<Record> read_record_files(const std::vector<std::string>& files);

// The same, one Record at a time, with progress on a terminal: for commands that need not hold them all.
void stream_record_files(const std::vector<std::string>& files, const std::function<void(const Record&)>& take);

// Defaults of a task, to leave out of headings; a task that this build does not know shows all its parameters.
std::map<std::string, std::string> default_parameters(const std::string& task);

// The names in repeated, comma-separated flags.
std::vector<std::string> comma_parts(const std::vector<std::string>& texts);

}  // namespace lenbench::cli
