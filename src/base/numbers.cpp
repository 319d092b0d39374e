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
    throw Error(printable(what) + ": " + printable(text) + " does not fit into 64 bits");
  }
  if (error != std::errc{} || stopped != end) {
    throw Error(printable(what) + ": '" + printable(text) + "' is not " + wanted);
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
    throw Error(printable(what) + ": " + printable(text) + " is beyond double precision");
  }
  if (error != std::errc{} || stopped != end || !std::isfinite(value)) {
    throw Error(printable(what) + ": '" + printable(text) + "' is not a finite number (decimal point, e.g. 0.5)");
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

std::string format_bytes(std::int64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  const auto text = [](double value, int digits, const char* unit) {
    // Fixed-point by hand: printf would follow the locale's decimal point.
    const std::int64_t scale = digits == 2 ? 100 : 10;
    const auto scaled = static_cast<std::int64_t>(value * static_cast<double>(scale) + 0.5);
    std::string fraction = std::to_string(scaled % scale);
    if (digits == 2 && fraction.size() == 1) fraction.insert(0, "0");
    return std::to_string(scaled / scale) + "." + fraction + " " + unit;
  };
  if (bytes < 1024) return std::to_string(bytes) + " B";
  if (bytes < std::int64_t{1} << 20) return text(amount / 1024, 1, "KiB");
  if (amount < 0.1 * 1073741824.0) return text(amount / 1048576, 1, "MiB");
  return text(amount / 1073741824, 2, "GiB");
}

}  // namespace lenbench
