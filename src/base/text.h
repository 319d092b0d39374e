// Bytes as text: is it UTF-8, and how is it shown in a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace lenbench {

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_valid_utf8(std::string_view bytes);

// The same text with every byte that is not part of a UTF-8 character written as the four characters \xNN.
std::string escape_invalid_utf8(std::string_view bytes);

// For one-line messages: as escape_invalid_utf8, and control characters and the line separators U+0085, U+2028, U+2029
// as \n, \t, \xNN or \u{NNNN}.
std::string printable(std::string_view bytes);

// What stands before the first line feed, printable: libraries put traces behind what went wrong.
std::string first_line(std::string_view text);

}  // namespace lenbench
