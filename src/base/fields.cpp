// Messages of the field reader and writer.
#include "base/fields.h"

#include "base/json.h"
#include "base/numbers.h"

namespace lenbench::fields_detail {

namespace {

// The value as JSON, shortened: enough to find it, not enough to fill a terminal.
std::string shown(const nlohmann::ordered_json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = dump_json(value);
  if (text.size() > kLongest) text = escape_invalid_utf8(text.substr(0, kLongest)) + "...";
  return printable(text);
}

}  // namespace

void throw_wrong_type(const Place& place, const char* wanted, const nlohmann::ordered_json& found) {
  throw Error(place.text() + " must be " + wanted + ", not " + shown(found));
}

void throw_out_of_range(const Place& place, const nlohmann::ordered_json& found) {
  throw Error(place.text() + ": " + shown(found) + " does not fit");
}

void throw_unknown_key(const Place& place, const std::string& key, const std::vector<std::string>& known) {
  const std::string suggestion = did_you_mean(key, known);
  constexpr std::size_t kMostListed = 16;  // a longer list hides the message
  const std::string list = known.size() <= kMostListed ? " (known: " + join(known, ", ") + ")" : "";
  const std::string hint = suggestion.empty() ? list : suggestion;
  throw Error(place.text() + ": unknown key '" + printable(key) + "'" + hint);
}

void throw_missing_key(const Place& place, const std::string& key) {
  throw Error(place.text() + ": the key '" + key + "' is missing");
}

void throw_not_finite(const Place& place, double value) {
  const char* name = std::isnan(value) ? "NaN" : value > 0 ? "infinity" : "-infinity";
  throw Error(place.text() + " is " + name + ", which has no place in a result", ExitCode::kNotMeasured);
}

}  // namespace lenbench::fields_detail
