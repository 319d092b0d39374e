// A SAX handler that builds ordered_json and refuses what the DOM parser lets through.
#include "base/json.h"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace lenbench {

namespace {

using Json = nlohmann::ordered_json;

// A pointer into the text that leaves behind how far the parser has read, which SAX events do not say.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

class Builder {
 public:
  // Events return whether to go on; `problem` says why not.
  bool null() { return place(Json(nullptr)); }
  bool boolean(bool value) { return place(Json(value)); }
  bool number_integer(Json::number_integer_t value) { return place(Json(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return place(Json(value)); }
  bool number_float(Json::number_float_t value, const std::string&) { return place(Json(value)); }
  bool string(std::string& value) { return place(Json(std::move(value))); }
  bool binary(Json::binary_t&) { return stop("binary data"); }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second) return stop("the key '" + printable(name) + "' occurs twice");
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: reason": our own message says where.
    const std::string whole = error.what();
    std::string_view reason = std::string_view(whole).substr(whole.find("] ") + 2);
    if (reason.starts_with("parse error at line ")) reason.remove_prefix(reason.find(": ") + 2);
    return stop(std::string(reason));
  }

  const std::string& problem() const { return problem_; }
  Json take() { return std::move(root_); }

 private:
  struct Open {
    Json value;
    std::string key;  // under which it goes into its parent
    std::unordered_set<std::string> keys;
  };

  bool stop(std::string problem) {
    // A message quotes what was read last, which may be a megabyte.
    constexpr std::size_t kLongest = 300;
    problem_ = problem.size() <= kLongest ? std::move(problem) : problem.substr(0, kLongest) + "...";
    return false;
  }

  bool open(Json value) {
    if (open_.size() == static_cast<std::size_t>(kMaxJsonDepth)) {
      return stop("more than " + std::to_string(kMaxJsonDepth) + " nested brackets");
    }
    open_.push_back({std::move(value), std::move(key_), {}});
    return true;
  }

  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    key_ = std::move(done.key);
    return place(std::move(done.value));
  }

  bool place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.get_ref<Json::array_t&>().push_back(std::move(value));
    } else {
      // Straight into the vector below: ordered_map's own insertion searches all keys, quadratic in a large header.
      open_.back().value.get_ref<Json::object_t&>().emplace_back(std::move(key_), std::move(value));
    }
    return true;
  }

  Json root_;
  std::vector<Open> open_;
  std::string key_;
  std::string problem_;
};

// True when every number is finite; sets `clean` to whether every text is UTF-8.
void inspect(const Json& value, bool& clean) {
  if (value.is_number_float()) {
    if (!std::isfinite(value.get<double>())) throw std::logic_error("dump_json: a number is not finite");
  } else if (value.is_string()) {
    clean = clean && is_valid_utf8(value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    for (const auto& [key, item] : value.items()) {
      clean = clean && (value.is_array() || is_valid_utf8(key));
      inspect(item, clean);
    }
  }
}

Json escaped(const Json& value) {
  if (value.is_string()) return escape_invalid_utf8(value.get_ref<const std::string&>());
  if (value.is_array()) {
    Json copy = Json::array();
    for (const Json& item : value) copy.push_back(escaped(item));
    return copy;
  }
  if (value.is_object()) {
    Json copy = Json::object();
    for (const auto& [key, item] : value.items()) copy[escape_invalid_utf8(key)] = escaped(item);
    return copy;
  }
  return value;
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text, const std::string& where) {
  Builder builder;
  const char* begin = text.data();
  const char* reached = begin;
  const char* end = begin + text.size();
  // The library takes a NUL for the end of the text, and so would let anything follow it.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    throw Error(printable(where) + ": byte " + std::to_string(nul + 1) + ": a NUL, which JSON text cannot hold");
  }
  if (Json::sax_parse(Cursor(begin, &reached), Cursor(end, &reached), &builder)) return builder.take();
  std::size_t line = 1;
  for (const char* at = begin; at + 1 < reached; ++at) line += *at == '\n' ? 1 : 0;
  throw Error(printable(where) + ": line " + std::to_string(line) + ", byte " + std::to_string(reached - begin) + ": " +
              printable(builder.problem()));
}

std::string dump_json(const nlohmann::ordered_json& value) {
  bool clean = true;
  inspect(value, clean);
  return clean ? value.dump() : escaped(value).dump();
}

}  // namespace lenbench
