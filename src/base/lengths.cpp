// Lists and doubling ranges of lengths.
#include "base/lengths.h"

#include <algorithm>
#include <limits>
#include <set>
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

// The lengths of "64" or "64..256", a part of `whole`.
void parse_part(std::string_view part, std::string_view whole, std::vector<std::int64_t>& lengths) {
  const std::size_t dots = part.find("..");
  if (dots == std::string_view::npos) {
    lengths.push_back(parse_length(part, whole));
    return;
  }
  const std::int64_t first = parse_length(part.substr(0, dots), whole);
  const std::int64_t last = parse_length(part.substr(dots + 2), whole);
  if (first > last) {
    throw Error("lengths '" + printable(whole) + "': " + std::to_string(first) + " is above " + std::to_string(last) +
                " (write the shorter end first)");
  }
  // Written so that doubling cannot overflow.
  std::int64_t length = first;
  for (; length <= last / 2; length *= 2) lengths.push_back(length);
  lengths.push_back(length);
  if (length != last) lengths.push_back(last);
}

}  // namespace

std::vector<std::int64_t> parse_lengths(std::string_view text) {
  constexpr std::string_view kAround = "around:";
  std::vector<std::int64_t> lengths;
  std::set<std::int64_t> around;
  for (const std::string& part : split(text, ',')) {
    if (!part.starts_with(kAround)) {
      parse_part(part, text, lengths);
      continue;
    }
    std::vector<std::int64_t> centres;
    parse_part(std::string_view(part).substr(kAround.size()), text, centres);
    for (const std::int64_t centre : centres) {
      if (centre > 1) around.insert(centre - 1);
      around.insert(centre);
      if (centre < std::numeric_limits<std::int64_t>::max()) around.insert(centre + 1);
    }
  }
  std::sort(lengths.begin(), lengths.end());
  const auto twice = std::adjacent_find(lengths.begin(), lengths.end());
  if (twice != lengths.end()) {
    throw Error("lengths '" + printable(text) + "': " + std::to_string(*twice) + " occurs twice");
  }
  // Neighbours are not named, and may fall on lengths that are.
  around.insert(lengths.begin(), lengths.end());
  return {around.begin(), around.end()};
}

}  // namespace lenbench
