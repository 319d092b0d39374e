// A result written to a file that the user named: never over what was read, nor over measured data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lenbench::cli {

// Throws Error when `path` is one of `others` (links are followed).
void require_other_file(const std::string& path, const std::string& flag, const std::vector<std::string>& others);

// Throws Error when `path` is one of `others` (inputs, and outputs of the same command; links are followed), or an
// existing file that holds Records or a baseline. `flag` names the output in the message. Call before any work.
void require_free_output(const std::string& path, const std::string& flag, const std::vector<std::string>& others);

// To standard output where `path` is empty; else creates missing folders and replaces the file at once, while a device
// or a pipe is written into. Throws Error.
void write_output(const std::string& path, std::string_view bytes);

}  // namespace lenbench::cli
