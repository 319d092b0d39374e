// What counts as a loss, and what to do about it: a small JSON file beside the baseline.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lenbench {

// An expected change of one cell, with an end: until the day `expires` the cell cannot fail a check.
struct Acknowledgement {
  std::string cell;     // short name, "recall@4096", or display name
  std::string reason;   // required, for the reader of a report
  std::string expires;  // last day on which it holds, "2026-12-31"
  // Largest accepted drop of accuracy (0.05: five points) or rise of perplexity (0.05: five percent); none: any. A drop
  // that is certainly larger still fails.
  std::optional<double> max_drop;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("cell", self.cell);
    visit("reason", self.reason);
    visit("expires", self.expires);
    visit("max_drop", self.max_drop);
  }
  bool operator==(const Acknowledgement&) const = default;
};

struct Policy {
  // Probability that a check calls any cell worse although no drop exceeds the smallest effect: over all its cells.
  double alpha = 0.05;
  double smallest_effect = 0.002;           // accuracy; a drop up to this never fails
  double same_within = 0.02;                // "same" means: a drop of this size is excluded at level alpha
  double smallest_perplexity_rise = 0.005;  // relative
  double perplexity_same_within = 0.02;     // relative
  bool fail_undecided = false, fail_new = false, allow_missing = false;
  std::map<std::string, double> min_accuracy;          // by cell name
  std::map<std::string, double> max_perplexity;        // by cell name
  std::map<std::string, double> max_perplexity_ratio;  // "8x/1x" in training lengths, or "8192/1024" in tokens
  std::vector<Acknowledgement> acknowledgements;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("alpha", self.alpha);
    visit.defaulted("smallest_effect", self.smallest_effect);
    visit.defaulted("same_within", self.same_within);
    visit.defaulted("smallest_perplexity_rise", self.smallest_perplexity_rise);
    visit.defaulted("perplexity_same_within", self.perplexity_same_within);
    visit.defaulted("fail_undecided", self.fail_undecided);
    visit.defaulted("fail_new", self.fail_new);
    visit.defaulted("allow_missing", self.allow_missing);
    visit.defaulted("min_accuracy", self.min_accuracy);
    visit.defaulted("max_perplexity", self.max_perplexity);
    visit.defaulted("max_perplexity_ratio", self.max_perplexity_ratio);
    visit.defaulted("acknowledgements", self.acknowledgements);
  }
  bool operator==(const Policy&) const = default;
};

// Throws Error opening with `where` when a level, effect or limit is out of range, a date or a ratio is malformed, or a
// reason is empty.
void check_policy(const Policy& policy, const std::string& where);

Policy policy_from_json(const nlohmann::ordered_json& json, const std::string& where);
Policy read_policy(const std::string& path);

// The two ends of "8x/1x" or "8192/1024" in tokens. Throws Error when it is malformed, or in training lengths and
// `train_length` is 0 (unknown).
struct LengthRatio {
  long long longer = 0, shorter = 0;
};
LengthRatio parse_length_ratio(const std::string& text, long long train_length, const std::string& where);

// True for a day of the calendar written "2026-12-31". Such texts compare as their days do.
bool is_date(const std::string& text);

}  // namespace lenbench
