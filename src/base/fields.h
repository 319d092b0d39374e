// One list of fields per struct drives strict JSON reading, ordered JSON writing, equality and names.
//
// A struct opts in with one member template, and no header at all:
//
//   struct Recipe {
//     std::int64_t steps = 0;
//     std::optional<double> dropout;
//     template <class Visitor, class Self>
//     static void fields(Visitor&& visit, Self& self) {
//       visit("steps", self.steps);      // required when reading
//       visit("dropout", self.dropout);  // optional: null or absent reads as none, none writes null
//     }
//   };
//
// `visit.defaulted("seed", self.seed)` may be absent when reading and then keeps the value it has.
// `visit.sparse("notes", self.notes)` is the same, and is not written where it is empty (a value of its type's
// default). Field types: bool, integers, float, double, std::string, nested structs with a list, and std::optional,
// std::vector and std::map<std::string, T> of these.
// Include in .cpp files only: it brings the whole JSON library.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"

namespace lenbench {

namespace fields_detail {

struct AnyVisitor {
  template <class T>
  void operator()(const char*, T&&) const {}
  template <class T>
  void defaulted(const char*, T&&) const {}
  template <class T>
  void sparse(const char*, T&&) const {}
};

struct NameList {
  std::vector<std::string>& names;
  void operator()(const char* name, const auto&) { names.emplace_back(name); }
  void defaulted(const char* name, const auto&) { names.emplace_back(name); }
  void sparse(const char* name, const auto&) { names.emplace_back(name); }
};

template <class T>
concept HasFields = requires(T& value) {
  T::fields(AnyVisitor{}, value);
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
struct IsStringMap : std::false_type {};
template <class T>
struct IsStringMap<std::map<std::string, T>> : std::true_type {};

// Where a value stands, for messages: "results.jsonl:3" and "question.length".
struct Place {
  std::string where, path;
  Place key(const std::string& name) const { return {where, path.empty() ? name : path + "." + name}; }
  Place item(std::size_t index) const { return {where, path + "[" + std::to_string(index) + "]"}; }
  std::string text() const { return printable(path.empty() ? where : where + ": " + path); }
};

[[noreturn]] void throw_wrong_type(const Place& place, const char* wanted, const nlohmann::ordered_json& found);
[[noreturn]] void throw_out_of_range(const Place& place, const nlohmann::ordered_json& found);
[[noreturn]] void throw_unknown_key(const Place& place, const std::string& key, const std::vector<std::string>& known);
[[noreturn]] void throw_missing_key(const Place& place, const std::string& key);
[[noreturn]] void throw_not_finite(const Place& place, double value);

template <class T>
void read_value(const nlohmann::ordered_json& json, T& value, const Place& place);

template <class Struct>
void read_struct(const nlohmann::ordered_json& json, Struct& value, const Place& place);

template <class T>
nlohmann::ordered_json write_value(const T& value, const Place& place);

}  // namespace fields_detail

// Names in order of declaration.
template <class Struct>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  const Struct value{};
  Struct::fields(fields_detail::NameList{names}, value);
  return names;
}

// `value` keeps its defaults for absent defaulted fields. Throws Error opening with `where` and the path of the field
// on an unknown key ("did you mean"), a missing one, a wrong type, an integer that does not fit.
template <class Struct>
void read_fields(const nlohmann::ordered_json& json, Struct& value, const std::string& where) {
  fields_detail::read_struct(json, value, {where, ""});
}

// Keys in the order of the list. A non-finite optional becomes null; any other non-finite number throws
// Error(kNotMeasured) opening with `where` and the path of the field.
template <class Struct>
nlohmann::ordered_json write_fields(const Struct& value, const std::string& where = "cannot be written as JSON") {
  return fields_detail::write_value(value, {where, ""});
}

// Field by field, nested lists included; NaN is unequal to itself.
template <class Struct>
bool fields_equal(const Struct& left, const Struct& right);

// A hash of all fields, nested lists included; equal for equal values within one run of the program.
template <class Struct>
std::size_t fields_hash(const Struct& value);

namespace fields_detail {

template <class T>
std::size_t hash_value(const T& value);

struct Hasher {
  std::size_t state = 0;
  void add(std::size_t part) { state ^= part + 0x9E3779B97F4A7C15U + (state << 6U) + (state >> 2U); }
  void operator()(const char*, const auto& field) { add(hash_value(field)); }
  void defaulted(const char*, const auto& field) { add(hash_value(field)); }
  void sparse(const char*, const auto& field) { add(hash_value(field)); }
};

template <class T>
std::size_t hash_value(const T& value) {
  Hasher hasher;
  if constexpr (HasFields<const T>) {
    T::fields(hasher, value);
  } else if constexpr (IsOptional<T>::value) {
    hasher.add(value ? hash_value(*value) : 1);
  } else if constexpr (IsVector<T>::value) {
    for (std::size_t i = 0; i < value.size(); ++i) hasher.add(hash_value<typename T::value_type>(value[i]));
  } else if constexpr (IsStringMap<T>::value) {
    for (const auto& [key, item] : value) {
      hasher.add(hash_value(key));
      hasher.add(hash_value(item));
    }
  } else {
    hasher.add(std::hash<T>()(value));
  }
  return hasher.state;
}

template <class T>
bool equal_values(const T& left, const T& right) {
  if constexpr (HasFields<const T>) {
    return fields_equal(left, right);
  } else if constexpr (IsOptional<T>::value) {
    return left.has_value() == right.has_value() && (!left || equal_values(*left, *right));
  } else if constexpr (IsVector<T>::value) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!equal_values<typename T::value_type>(left[i], right[i])) return false;
    }
    return true;
  } else if constexpr (IsStringMap<T>::value) {
    if (left.size() != right.size()) return false;
    for (auto a = left.begin(), b = right.begin(); a != left.end(); ++a, ++b) {
      if (a->first != b->first || !equal_values(a->second, b->second)) return false;
    }
    return true;
  } else {
    return left == right;
  }
}

// Addresses of one struct's fields, in order: equality walks two structs side by side.
struct Addresses {
  std::vector<const void*>& list;
  void operator()(const char*, const auto& field) { list.push_back(&field); }
  void defaulted(const char*, const auto& field) { list.push_back(&field); }
  void sparse(const char*, const auto& field) { list.push_back(&field); }
};

struct CompareWith {
  const std::vector<const void*>& others;
  std::size_t next = 0;
  bool equal = true;
  template <class T>
  void operator()(const char*, const T& field) {
    equal = equal_values(field, *static_cast<const T*>(others[next++])) && equal;
  }
  template <class T>
  void defaulted(const char* name, const T& field) {
    (*this)(name, field);
  }
  template <class T>
  void sparse(const char* name, const T& field) {
    (*this)(name, field);
  }
};

struct Writer {
  nlohmann::ordered_json& json;
  const Place& place;
  void operator()(const char* name, const auto& field) { json[name] = write_value(field, place.key(name)); }
  void defaulted(const char* name, const auto& field) { (*this)(name, field); }
  template <class T>
  void sparse(const char* name, const T& field) {
    if (!equal_values(field, T{})) (*this)(name, field);
  }
};

struct Reader {
  const nlohmann::ordered_json& json;
  const Place& place;
  template <class T>
  void operator()(const char* name, T& field) {
    const auto found = json.find(name);
    if (found != json.end()) {
      read_value(*found, field, place.key(name));
    } else if constexpr (IsOptional<T>::value) {
      field.reset();
    } else {
      throw_missing_key(place, name);
    }
  }
  void defaulted(const char* name, auto& field) {
    const auto found = json.find(name);
    if (found != json.end()) read_value(*found, field, place.key(name));
  }
  void sparse(const char* name, auto& field) { defaulted(name, field); }
};

template <class T>
nlohmann::ordered_json write_value(const T& value, const Place& place) {
  if constexpr (HasFields<const T>) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    T::fields(Writer{json, place}, value);
    return json;
  } else if constexpr (IsOptional<T>::value) {
    if (!value) return nullptr;
    if constexpr (std::is_floating_point_v<typename T::value_type>) {
      if (!std::isfinite(*value)) return nullptr;
    }
    return write_value(*value, place);
  } else if constexpr (IsVector<T>::value) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < value.size(); ++i) {
      json.push_back(write_value<typename T::value_type>(value[i], place.item(i)));
    }
    return json;
  } else if constexpr (IsStringMap<T>::value) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const auto& [key, item] : value) json[key] = write_value(item, place.key(key));
    return json;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) throw_not_finite(place, value);
    }
    return value;
  }
}

template <class Struct>
void read_struct(const nlohmann::ordered_json& json, Struct& value, const Place& place) {
  if (!json.is_object()) throw_wrong_type(place, "an object", json);
  const std::vector<std::string> known = field_names<Struct>();
  for (const auto& [key, item] : json.items()) {
    bool found = false;
    for (const std::string& name : known) found = found || name == key;
    if (!found) throw_unknown_key(place, key, known);
  }
  Struct::fields(Reader{json, place}, value);
}

template <class T>
void read_value(const nlohmann::ordered_json& json, T& value, const Place& place) {
  if constexpr (HasFields<T>) {
    read_struct(json, value, place);
  } else if constexpr (IsOptional<T>::value) {
    value.reset();
    if (json.is_null()) return;
    typename T::value_type item{};
    read_value(json, item, place);
    value = std::move(item);
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array()) throw_wrong_type(place, "an array", json);
    value.clear();
    value.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
      typename T::value_type item{};
      read_value(json[i], item, place.item(i));
      value.push_back(std::move(item));
    }
  } else if constexpr (IsStringMap<T>::value) {
    if (!json.is_object()) throw_wrong_type(place, "an object", json);
    value.clear();
    for (const auto& [key, item] : json.items()) read_value(item, value[key], place.key(key));
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) throw_wrong_type(place, "true or false", json);
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) throw_wrong_type(place, "a text", json);
    value = json.get<std::string>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) throw_wrong_type(place, "a number", json);
    value = json.get<T>();
    if (!std::isfinite(value)) throw_out_of_range(place, json);
  } else {
    static_assert(std::integral<T>, "base/fields.h names the field types that have a JSON form");
    if (!json.is_number_integer()) throw_wrong_type(place, "an integer", json);
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) throw_out_of_range(place, json);
    value = json.get<T>();
  }
}

}  // namespace fields_detail

template <class Struct>
std::size_t fields_hash(const Struct& value) {
  return fields_detail::hash_value(value);
}

template <class Struct>
bool fields_equal(const Struct& left, const Struct& right) {
  std::vector<const void*> others;
  Struct::fields(fields_detail::Addresses{others}, right);
  fields_detail::CompareWith compare{others};
  Struct::fields(compare, left);
  return compare.equal;
}

}  // namespace lenbench
