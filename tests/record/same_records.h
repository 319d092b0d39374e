// Whether two processes, or many, measured the same: everything equal but time, memory and batch; reals to a tolerance.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lenbench {

// How far apart reals may be that different processes measured: sums in another order.
inline constexpr double kReals = 1e-6;

// What says under which circumstances, not what was measured.
inline nlohmann::ordered_json without_circumstances(nlohmann::ordered_json record) {
  record.erase("setting");
  record["measurement"].erase("seconds");
  record["measurement"].erase("peak_bytes");
  return record;
}

// First path at which two JSON values differ; reals may by `tolerance`, relative to the larger (or to 1, for sums of
// nats near 0); empty when none.
inline std::string first_difference(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b, double tolerance,
                                    const std::string& path = "") {
  const std::string here = path + ": " + a.dump().substr(0, 200) + " and " + b.dump().substr(0, 200);
  if (a.is_number_float() && b.is_number()) {
    const double x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) <= tolerance * std::max({1.0, std::abs(x), std::abs(y)}) ? "" : here;
  }
  if (a.type() != b.type() && !(a.is_number() && b.is_number())) return here;
  if (a.is_array() || a.is_object()) {
    if (a.size() != b.size()) return here;
    if (a.is_array()) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        const std::string problem = first_difference(a[i], b[i], tolerance, path + "[" + std::to_string(i) + "]");
        if (!problem.empty()) return problem;
      }
      return "";
    }
    for (const auto& [key, value] : a.items()) {
      if (!b.contains(key)) return path + "." + key + " is missing";
      const std::string problem = first_difference(value, b[key], tolerance, path + "." + key);
      if (!problem.empty()) return problem;
    }
    return "";
  }
  return a == b ? "" : here;
}

// Two Record files, or the lines of two, in the same order.
inline testing::AssertionResult same_records(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                             double tolerance) {
  if (a.size() != b.size()) {
    return testing::AssertionFailure() << a.size() << " Records and " << b.size() << " Records";
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string problem =
        first_difference(without_circumstances(nlohmann::ordered_json::parse(a[i])),
                         without_circumstances(nlohmann::ordered_json::parse(b[i])), tolerance, "");
    if (!problem.empty()) return testing::AssertionFailure() << "Record " << i + 1 << problem;
  }
  return testing::AssertionSuccess();
}

}  // namespace lenbench
