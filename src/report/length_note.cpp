// Compares a Record's label with its samples.
#include "report/length_note.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace lenbench {
namespace {

std::optional<FactRange> tokens_of(const Record& record) {
  const Measurement& m = record.measurement;
  if (record.question.metric == "perplexity") {
    if (m.effective_tokens_max == 0) return std::nullopt;
    const auto longest = static_cast<double>(m.effective_tokens_max);
    return FactRange{longest, longest, longest};
  }
  auto found = m.facts.find("items");
  if (found == m.facts.end()) found = m.facts.find("given_tokens");
  return found == m.facts.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::string length_note(const Record& record) {
  const std::optional<FactRange> tokens = tokens_of(record);
  const auto label = static_cast<double>(record.question.length);
  if (!tokens || label < 1) return "";
  const double excess = tokens->mean / label - 1;
  if (std::abs(tokens->mean - label) <= kLengthTolerance * label) return "";
  const std::string range =
      tokens->min == tokens->max
          ? fmt::format("{:.0f} tokens are given", tokens->mean)
          : fmt::format("{:.0f} to {:.0f} tokens are given, {:.0f} on average", tokens->min, tokens->max, tokens->mean);
  return fmt::format("length {}: {}, {:.0f} % {}", record.question.length, range, 100 * std::abs(excess),
                     excess > 0 ? "more" : "fewer");
}

}  // namespace lenbench
