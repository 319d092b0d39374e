// Running text and its sentence ends.
#include "tasks/haystack.h"

#include <algorithm>

namespace lenbench {
namespace {

constexpr std::int64_t kReach = 400;

bool is_inside_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Bytes of the letter whose first byte this is.
std::size_t letter_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
}

}  // namespace

std::string running_text(std::string_view source, std::int64_t start, std::int64_t bytes) {
  auto at = static_cast<std::size_t>(start);
  while (at > 0 && is_inside_letter(source[at])) --at;
  std::string text;
  text.reserve(static_cast<std::size_t>(bytes));
  while (static_cast<std::int64_t>(text.size()) < bytes) {
    text += source.substr(at, static_cast<std::size_t>(bytes) - text.size());
    at = 0;
  }
  std::size_t last = text.size();
  while (last > 0 && is_inside_letter(text[last - 1])) --last;
  if (last > 0 && last - 1 + letter_bytes(text[last - 1]) > text.size()) {
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(last - 1), text.end(), ' ');
  }
  return text;
}

std::int64_t sentence_end(std::string_view text, std::int64_t point) {
  for (std::int64_t at = point; at >= std::max<std::int64_t>(0, point - kReach); --at) {
    const auto i = static_cast<std::size_t>(at);
    if (i == 0 || text[i - 1] == '\n') return at;
    if (i >= 2 && text[i - 1] == ' ' && std::string_view(".!?").find(text[i - 2]) != std::string_view::npos) return at;
  }
  while (point < static_cast<std::int64_t>(text.size()) && is_inside_letter(text[static_cast<std::size_t>(point)])) {
    --point;
  }
  return point;
}

}  // namespace lenbench
