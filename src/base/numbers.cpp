// Numbers through from_chars and to_chars, which know no locale.
#include "base/numbers.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "base/text.h"

namespace lenbench {

namespace {

template <class Integer>
Integer parse_integer(std::string_view text, std::string_view what, const char* wanted) {
  Integer value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stopped == end) {
    throw Error(std::string(what) + ": " + printable(text) + " does not fit into 64 bits");
  }
  if (error != std::errc{} || stopped != end) {
    throw Error(std::string(what) + ": '" + printable(text) + "' is not " + wanted);
  }
  return value;
}

}  // namespace

std::int64_t parse_int(std::string_view text, std::string_view what) {
  return parse_integer<std::int64_t>(text, what, "an integer (digits only, e.g. 64)");
}

std::uint64_t parse_uint(std::string_view text, std::string_view what) {
  return parse_integer<std::uint64_t>(text, what, "an integer of 0 or more (digits only, e.g. 64)");
}

double parse_real(std::string_view text, std::string_view what) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stopped == end) {
    throw Error(std::string(what) + ": " + printable(text) + " is beyond double precision");
  }
  if (error != std::errc{} || stopped != end || !std::isfinite(value)) {
    throw Error(std::string(what) + ": '" + printable(text) + "' is not a finite number (decimal point, e.g. 0.5)");
  }
  return value;
}

std::string format_real(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("format_real: not a finite number");
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  if (error != std::errc{}) throw std::logic_error("format_real: buffer too small");
  return std::string(buffer, end);
}

}  // namespace lenbench
