// Lists and doubling ranges of lengths.
#include "base/lengths.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"

namespace lenbench {

namespace {

std::int64_t parse_length(std::string_view text, std::string_view whole) {
  const std::string what = "lengths '" + printable(whole) + "'";
  if (text.empty()) throw Error(what + ": a length is missing (e.g. 64,96,128 or 64..65536)");
  const std::int64_t length = parse_int(text, what);
  if (length < 1) throw Error(what + ": " + std::to_string(length) + " is not a length of 1 or more");
  return length;
}

}  // namespace

std::vector<std::int64_t> parse_lengths(std::string_view text) {
  std::vector<std::int64_t> lengths;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      lengths.push_back(parse_length(part, text));
      continue;
    }
    const std::int64_t first = parse_length(std::string_view(part).substr(0, dots), text);
    const std::int64_t last = parse_length(std::string_view(part).substr(dots + 2), text);
    if (first > last) {
      throw Error("lengths '" + printable(text) + "': " + std::to_string(first) + " is above " + std::to_string(last) +
                  " (write the shorter end first)");
    }
    // Written so that doubling cannot overflow.
    std::int64_t length = first;
    for (; length <= last / 2; length *= 2) lengths.push_back(length);
    lengths.push_back(length);
    if (length != last) lengths.push_back(last);
  }
  std::sort(lengths.begin(), lengths.end());
  const auto twice = std::adjacent_find(lengths.begin(), lengths.end());
  if (twice != lengths.end()) {
    throw Error("lengths '" + printable(text) + "': " + std::to_string(*twice) + " occurs twice");
  }
  return lengths;
}

}  // namespace lenbench
