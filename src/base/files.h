// Whole files in and out.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace lenbench {

// All bytes of a file. Throws Error when it is missing, a folder or unreadable.
std::string read_file(const std::string& path);

// Replaces or creates a file so that a reader, and a machine that loses power, sees the old bytes or the new ones:
// temporary file in the same folder, fsync, rename. A symbolic link is followed; permissions of an existing file are
// kept. Throws Error(kNotMeasured) and leaves the old file.
void write_file_atomically(const std::string& path, std::string_view bytes);

// Creates the folders above `path` that are missing. Throws Error.
void create_parent_folders(const std::string& path);

}  // namespace lenbench
