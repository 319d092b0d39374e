// SHA-256 as 64 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace lenbench {

std::string sha256_hex(std::string_view bytes);
// Reads in pieces, so the file may exceed memory. Throws Error when it is missing, a folder or unreadable.
std::string sha256_file(const std::string& path);

}  // namespace lenbench
