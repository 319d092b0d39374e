// Policies from JSON, and their limits.
#include "verdict/policy.h"

#include <chrono>

#include "base/error.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"

namespace lenbench {

namespace {

void require(bool holds, const std::string& where, const std::string& what, double value, const char* range) {
  if (!holds) throw Error(printable(where) + ": " + what + " is " + format_real(value) + "; it must be " + range);
}

// "8x" or "8192".
long long parse_end(const std::string& text, long long train_length, const std::string& where) {
  const bool relative = text.ends_with("x");
  const std::int64_t value = parse_int(relative ? text.substr(0, text.size() - 1) : text, where);
  if (value < 1) throw Error(printable(where) + ": a length of " + std::to_string(value) + " does not exist");
  if (relative && train_length == 0) {
    throw Error(printable(where) + ": the training length of the model is unknown; write lengths in tokens, 8192/1024");
  }
  return relative ? value * train_length : value;
}

}  // namespace

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (text[i] < '0' || text[i] > '9') return false;
  }
  const std::chrono::year_month_day day{std::chrono::year(std::stoi(text.substr(0, 4))),
                                        std::chrono::month(static_cast<unsigned>(std::stoi(text.substr(5, 2)))),
                                        std::chrono::day(static_cast<unsigned>(std::stoi(text.substr(8, 2))))};
  return day.ok();
}

LengthRatio parse_length_ratio(const std::string& text, long long train_length, const std::string& where) {
  const std::vector<std::string> ends = split(text, '/');
  if (ends.size() != 2)
    throw Error(printable(where) + ": '" + printable(text) + "' is no ratio of lengths; write 8x/1x or 8192/1024");
  return {parse_end(ends[0], train_length, where), parse_end(ends[1], train_length, where)};
}

void check_policy(const Policy& policy, const std::string& where) {
  require(policy.alpha > 0 && policy.alpha < 0.5, where, "alpha", policy.alpha, "above 0 and below 0.5");
  require(policy.smallest_effect >= 0 && policy.smallest_effect < 1, where, "smallest_effect", policy.smallest_effect,
          "at least 0 and below 1 (0.01 is one point)");
  require(policy.same_within > policy.smallest_effect && policy.same_within < 1, where, "same_within",
          policy.same_within, "above smallest_effect and below 1");
  require(policy.smallest_perplexity_rise >= 0, where, "smallest_perplexity_rise", policy.smallest_perplexity_rise,
          "at least 0 (0.01 is one percent)");
  require(policy.perplexity_same_within > policy.smallest_perplexity_rise, where, "perplexity_same_within",
          policy.perplexity_same_within, "above smallest_perplexity_rise");
  for (const auto& [cell, value] : policy.min_accuracy) {
    require(value > 0 && value <= 1, where, "min_accuracy of '" + printable(cell) + "'", value,
            "above 0 and at most 1 (1 is 100 percent)");
  }
  for (const auto& [cell, value] : policy.max_perplexity) {
    require(value >= 1, where, "max_perplexity of '" + printable(cell) + "'", value, "at least 1");
  }
  for (const auto& [ratio, value] : policy.max_perplexity_ratio) {
    require(value > 0, where, "max_perplexity_ratio of '" + printable(ratio) + "'", value, "above 0");
    parse_length_ratio(ratio, 1, where + ": max_perplexity_ratio");
  }
  for (const Acknowledgement& entry : policy.acknowledgements) {
    const std::string what = printable(where) + ": the acknowledgement of '" + printable(entry.cell) + "'";
    if (entry.reason.empty()) throw Error(what + " has no reason; say why the change is expected");
    if (!is_date(entry.expires)) {
      throw Error(what + " expires on '" + printable(entry.expires) + "', which is no day; write 2026-12-31");
    }
    if (entry.max_drop) {
      require(*entry.max_drop > 0 && *entry.max_drop < 1, where, "max_drop of '" + printable(entry.cell) + "'",
              *entry.max_drop, "above 0 and below 1 (0.05 is five points)");
    }
  }
}

Policy policy_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  Policy policy;
  read_fields(json, policy, where);
  check_policy(policy, where);
  return policy;
}

Policy read_policy(const std::string& path) { return policy_from_json(parse_json(read_file(path), path), path); }

}  // namespace lenbench
