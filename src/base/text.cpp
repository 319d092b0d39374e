// UTF-8 by RFC 3629's table.
#include "base/text.h"

#include <cstdint>

namespace lenbench {

namespace {

// Length in bytes of the character at `at`, or 0 when the bytes there are none.
std::size_t utf8_length(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool too_large = first == 0xF4 && byte(1) > 0x8F;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

std::string escaped_byte(char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
}

std::string escaped_control(std::string_view character) {
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (character == "\r") return "\\r";
  if (character == "\u2028") return "\\u{2028}";
  if (character == "\u2029") return "\\u{2029}";
  const auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x20 || first == 0x7F) return escaped_byte(character[0]);
  // C1 controls, U+0085 among them.
  const bool c1 = first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  if (!c1) return std::string(character);
  return "\\u{00" + escaped_byte(character[1]).substr(2) + "}";
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string escape_invalid_utf8(std::string_view bytes) {
  std::string escaped;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes, at);
    escaped += length == 0 ? escaped_byte(bytes[at]) : std::string(bytes.substr(at, length));
    at += length == 0 ? 1 : length;
  }
  return escaped;
}

std::string printable(std::string_view bytes) {
  std::string escaped;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes, at);
    escaped += length == 0 ? escaped_byte(bytes[at]) : escaped_control(bytes.substr(at, length));
    at += length == 0 ? 1 : length;
  }
  return escaped;
}

std::string first_line(std::string_view text) { return printable(text.substr(0, text.find('\n'))); }

}  // namespace lenbench
