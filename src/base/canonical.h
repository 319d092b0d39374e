// Structs with a field list (fields.h) read from JSON of exactly the form that write_fields and dump_json give it: keys
// in the order of the list, no blanks, text in plain ASCII without escapes. Twenty times as fast as reading any JSON;
// whatever looks different is left to read_fields, which also says what is wrong.
// Include in .cpp files only.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/fields.h"

namespace lenbench {

namespace fields_detail {

class CanonicalReader {
 public:
  explicit CanonicalReader(std::string_view text) : rest_(text) {}
  bool at_end() const { return rest_.empty(); }

  template <class T>
  bool value(T& into);

 private:
  template <class Struct>
  friend struct CanonicalFields;

  bool eat(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool eat(std::string_view wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  // "name": at the start of the rest.
  bool eat_key(std::string_view name) {
    if (rest_.size() < name.size() + 3 || rest_[0] != '"' || rest_[name.size() + 1] != '"' ||
        rest_[name.size() + 2] != ':' || rest_.substr(1, name.size()) != name) {
      return false;
    }
    rest_.remove_prefix(name.size() + 3);
    return true;
  }
  bool text(std::string& into) {
    if (!eat('"')) return false;
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') {
      const auto c = static_cast<unsigned char>(rest_[end]);
      if (c < 0x20 || c > 0x7E || c == '\\') return false;
      ++end;
    }
    if (end == rest_.size()) return false;
    into.assign(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return true;
  }
  std::size_t digits_from(std::size_t at) const {
    while (at < rest_.size() && rest_[at] >= '0' && rest_[at] <= '9') ++at;
    return at;
  }
  // The length of a number of JSON's grammar at the start of the rest; 0: none. `whole`: without fraction and exponent.
  std::size_t number_size(bool& whole) const {
    whole = true;
    const std::size_t first = !rest_.empty() && rest_[0] == '-' ? 1 : 0;
    std::size_t end = digits_from(first);
    if (end == first || (end - first > 1 && rest_[first] == '0')) return 0;
    if (end < rest_.size() && rest_[end] == '.') {
      whole = false;
      const std::size_t fraction = end + 1;
      end = digits_from(fraction);
      if (end == fraction) return 0;
    }
    if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
      whole = false;
      std::size_t exponent = end + 1;
      if (exponent < rest_.size() && (rest_[exponent] == '+' || rest_[exponent] == '-')) ++exponent;
      end = digits_from(exponent);
      if (end == exponent) return 0;
    }
    return end;
  }
  template <class Number>
  bool number(Number& into) {
    bool whole = true;
    const std::size_t size = number_size(whole);
    if (size == 0 || (std::integral<Number> && !whole)) return false;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + size, into);
    if (failure != std::errc() || end != rest_.data() + size) return false;
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(into)) return false;
    }
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
};

// Visits the fields of one object, whose brace is open.
template <class Struct>
struct CanonicalFields {
  CanonicalReader& reader;
  bool ok = true, first = true;

  // Whether the next key is `name`; the comma before it is read with it.
  bool next_is(const char* name) {
    const std::string_view before = reader.rest_;
    if ((first || reader.eat(',')) && reader.eat_key(name)) {
      first = false;
      return true;
    }
    reader.rest_ = before;
    return false;
  }
  template <class T>
  void operator()(const char* name, T& field) {
    if (!ok) return;
    if (next_is(name)) {
      ok = reader.value(field);
    } else if constexpr (IsOptional<T>::value) {
      field.reset();
    } else {
      ok = false;
    }
  }
  void defaulted(const char* name, auto& field) {
    if (ok && next_is(name)) ok = reader.value(field);
  }
  void sparse(const char* name, auto& field) { defaulted(name, field); }
};

template <class T>
bool CanonicalReader::value(T& into) {
  if constexpr (HasFields<T>) {
    if (!eat('{')) return false;
    CanonicalFields<T> fields{*this};
    T::fields(fields, into);
    return fields.ok && eat('}');
  } else if constexpr (IsOptional<T>::value) {
    into.reset();
    if (eat("null")) return true;
    return value(into.emplace());
  } else if constexpr (IsVector<T>::value) {
    into.clear();
    if (!eat('[')) return false;
    if (eat(']')) return true;
    do {
      if (!value(into.emplace_back())) return false;
    } while (eat(','));
    return eat(']');
  } else if constexpr (IsStringMap<T>::value) {
    into.clear();
    if (!eat('{')) return false;
    if (eat('}')) return true;
    do {
      std::string key;
      typename T::mapped_type item{};
      if (!text(key) || !eat(':') || !value(item)) return false;
      if (!into.emplace(std::move(key), std::move(item)).second) return false;
    } while (eat(','));
    return eat('}');
  } else if constexpr (std::is_same_v<T, bool>) {
    if (eat("true")) {
      into = true;
      return true;
    }
    into = false;
    return eat("false");
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text(into);
  } else {
    return number(into);
  }
}

}  // namespace fields_detail

// Fills `value` and returns true when `text` is a struct in its canonical form and nothing else; else false, with
// `value` left in any state. Whatever it takes, read_fields takes with the same result.
template <class Struct>
bool read_canonical(std::string_view text, Struct& value) {
  fields_detail::CanonicalReader reader(text);
  return reader.value(value) && reader.at_end();
}

}  // namespace lenbench
