// Contradictions within a Record, the plainest first.
#include "record/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/numbers.h"
#include "base/text.h"
#include "record/answer_outcomes.h"

namespace lenbench {

namespace {

constexpr double kRounding = 1e-9;
// Means are of sums in float on some paths.
constexpr double kMeanRounding = 1e-4;

std::string number(std::int64_t value) { return std::to_string(value); }
std::string number(double value) { return format_real(value); }

// "FIELD is VALUE: WHY".
template <class T>
std::string is(const std::string& field, T value, const char* why) {
  return field + " is " + number(value) + ": " + why;
}

std::string proportion_problem(const std::optional<Proportion>& proportion, const char* name, std::int64_t samples) {
  if (!proportion) return "";
  const Proportion& p = *proportion;
  const std::string path = std::string("measurement.") + name;
  if (p.n < 0 || p.right < 0 || p.right > p.n) {
    return path + ": " + number(p.right) + " right of " + number(p.n) + " is impossible";
  }
  if (p.n == 0) return samples == 0 ? "" : path + ".n is 0, and there are " + number(samples) + " samples";
  if (std::abs(p.value - static_cast<double>(p.right) / static_cast<double>(p.n)) > kRounding) {
    return path + ".value does not equal right / n";
  }
  const bool around = p.low <= p.value + kRounding && p.value <= p.high + kRounding && p.low >= 0 && p.high <= 1;
  if (!around || p.low >= p.high) {
    return path + ": the interval is inconsistent (it must contain the value and have a width)";
  }
  return "";
}

std::string counts_problem(const Record& record) {
  const Measurement& m = record.measurement;
  if (record.question.length < 1) return is("question.length", record.question.length, "a length is 1 token or more");
  const std::pair<const char*, std::int64_t> counts[] = {
      {"samples_requested", record.samples_requested},
      {"subject.num_parameters", record.subject.num_parameters},
      {"subject.train_length", record.subject.train_length},
      {"setting.batch", record.setting.batch},
      {"setting.threads", record.setting.threads},
      {"measurement.samples", m.samples},
      {"measurement.effective_tokens_min", m.effective_tokens_min},
      {"measurement.nll_tokens", m.nll_tokens},
      {"measurement.nonfinite_samples", m.nonfinite_samples},
      {"measurement.peak_bytes", m.peak_bytes},
  };
  for (const auto& [name, value] : counts) {
    if (value < 0) return is(name, value, "it cannot be negative");
  }
  if (m.seconds < 0) return is("measurement.seconds", m.seconds, "it cannot be negative");
  if (m.effective_tokens_min > m.effective_tokens_max) {
    return "measurement.effective_tokens_min is above effective_tokens_max";
  }
  if (m.nonfinite_samples > m.samples) return "measurement.nonfinite_samples is above samples";
  if (m.samples > record.samples_requested) {
    return is("measurement.samples", m.samples, "more than samples_requested");
  }
  return "";
}

std::string status_problem(const Record& record) {
  const bool ok = record.status == "ok";
  if (!ok && record.status != "skipped" && record.status != "failed") {
    return "status must be \"ok\", \"skipped\" or \"failed\", not '" + printable(record.status) + "'";
  }
  if (ok && !record.reason.empty()) return "status is \"ok\" and there is a reason, '" + printable(record.reason) + "'";
  if (!ok && record.reason.empty()) return "status is \"" + record.status + "\" and there is no reason";
  if (ok && record.measurement.samples == 0) return "status is \"ok\" and no sample was measured";
  if (record.status == "skipped" && record.measurement.samples > 0) {
    return "status is \"skipped\" and samples were measured";
  }
  return "";
}

std::string outcomes_problem(const Record& record) {
  const Measurement& m = record.measurement;
  const std::string& outcomes = record.outcomes;
  if (outcomes.find_first_not_of("01x") != std::string::npos) {
    return "outcomes may hold only the characters 0, 1 and x";
  }
  for (const auto& [name, proportion] :
       {std::pair("exact", &m.exact), std::pair("answer", &m.answer), std::pair("token", &m.token)}) {
    const std::string problem = proportion_problem(*proportion, name, m.samples);
    if (!problem.empty()) return problem;
  }
  if (m.exact && m.exact->n != m.samples) {
    return is("measurement.exact.n", m.exact->n, "it must be the number of samples");
  }
  if (m.chance && (*m.chance < 0 || *m.chance > 1)) return is("measurement.chance", *m.chance, "it is a probability");
  if (outcomes.empty()) return "";
  if (std::ssize(outcomes) != m.samples) {
    return "outcomes has " + number(std::ssize(outcomes)) + " characters for " + number(m.samples) + " samples";
  }
  const auto right = std::count(outcomes.begin(), outcomes.end(), '1');
  if (m.exact && right != m.exact->right) {
    return "outcomes has " + number(right) + " samples right, measurement.exact " + number(m.exact->right);
  }
  const auto nonfinite = std::count(outcomes.begin(), outcomes.end(), 'x');
  if (nonfinite != m.nonfinite_samples) {
    return "outcomes has " + number(nonfinite) + " non-finite samples, measurement.nonfinite_samples is " +
           number(m.nonfinite_samples);
  }
  return "";
}

std::string perplexity_problem(const Record& record) {
  const Measurement& m = record.measurement;
  if (record.sample_nats.size() != record.sample_tokens.size()) return "sample_nats and sample_tokens differ in length";
  if (!record.sample_tokens.empty()) {
    if (std::ssize(record.sample_tokens) != m.samples) {
      return "sample_tokens has " + number(std::ssize(record.sample_tokens)) + " entries for " + number(m.samples) +
             " samples";
    }
    if (std::any_of(record.sample_tokens.begin(), record.sample_tokens.end(), [](auto n) { return n < 0; })) {
      return "sample_tokens has a negative number";
    }
    const auto tokens = std::accumulate(record.sample_tokens.begin(), record.sample_tokens.end(), std::int64_t{0});
    if (tokens != m.nll_tokens) {
      return "sample_tokens add up to " + number(tokens) + ", measurement.nll_tokens is " + number(m.nll_tokens);
    }
  }
  if (!m.perplexity) return "";
  if (*m.perplexity <= 0) return is("measurement.perplexity", *m.perplexity, "it cannot be 0 or less");
  if (m.perplexity_low && m.perplexity_high &&
      !(*m.perplexity_low <= *m.perplexity * (1 + kRounding) &&
        *m.perplexity <= *m.perplexity_high * (1 + kRounding))) {
    return "measurement.perplexity lies outside its interval";
  }
  if (m.nll_nats && m.nll_tokens > 0) {
    const double expected = std::exp(*m.nll_nats / static_cast<double>(m.nll_tokens));
    if (std::abs(expected - *m.perplexity) > 1e-6 * expected) {
      return "measurement.perplexity is not exp(nll_nats / nll_tokens)";
    }
  }
  return "";
}

std::string heads_problem(const std::vector<HeadMeans>& heads, const std::string& path) {
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const HeadMeans& head = heads[i];
    const std::string place = path + "[" + std::to_string(i) + "]";
    if (head.layer < 0 || head.head < 0) return place + ": layer and head cannot be negative";
    if (i > 0 && std::pair(head.layer, head.head) <= std::pair(heads[i - 1].layer, heads[i - 1].head)) {
      return place + ": heads must ascend by layer and head";
    }
    if (head.rows < 1) return is(place + ".rows", head.rows, "a mean is over 1 row or more");
    const std::pair<const char*, std::optional<double>> shares[] = {{"normalized_entropy", head.normalized_entropy},
                                                                    {"sink_mass", head.sink_mass},
                                                                    {"top_mass", head.top_mass},
                                                                    {"source_mass", head.source_mass}};
    for (const auto& [name, share] : shares) {
      if (share && !(*share >= -kMeanRounding && *share <= 1 + kMeanRounding)) {
        return is(place + "." + name, *share, "it is between 0 and 1");
      }
    }
    if (head.entropy < -kMeanRounding) return is(place + ".entropy", head.entropy, "it cannot be negative");
    if (head.support < 0) return is(place + ".support", head.support, "it cannot be negative");
  }
  return "";
}

std::string probe_problem(const Measurement& m) {
  if (!m.probe_rows.empty() && m.probe_rows != "answer" && m.probe_rows != "all" && m.probe_rows != "prefix") {
    return "measurement.probe_rows must be \"answer\", \"all\", \"prefix\" or empty, not '" + printable(m.probe_rows) +
           "'";
  }
  if (m.probe_rows.empty() && !m.heads.empty()) return "measurement.heads without probe_rows";
  for (const auto& [name, heads] : {std::pair("heads", &m.heads), std::pair("heads_right", &m.heads_right),
                                    std::pair("heads_wrong", &m.heads_wrong)}) {
    const std::string problem = heads_problem(*heads, std::string("measurement.") + name);
    if (!problem.empty()) return problem;
  }
  if (!m.heads_by_position.empty() && m.probe_rows != "prefix") {
    return "measurement.heads_by_position is there and probe_rows is not \"prefix\"";
  }
  for (std::size_t i = 0; i < m.heads_by_position.size(); ++i) {
    const PositionHeads& part = m.heads_by_position[i];
    const std::string place = "measurement.heads_by_position[" + std::to_string(i) + "]";
    const std::int64_t before = i == 0 ? -1 : m.heads_by_position[i - 1].last;
    if (part.first <= before || part.last < part.first) return place + ": positions must ascend";
    const std::string problem = heads_problem(part.heads, place + ".heads");
    if (!problem.empty()) return problem;
  }
  for (std::size_t i = 0; i < m.representations.size(); ++i) {
    const RepresentationDistance& each = m.representations[i];
    const std::string place = "measurement.representations[" + std::to_string(i) + "]";
    if (each.depth != static_cast<std::int64_t>(i)) return place + ": depths must count from 0";
    if (each.pairs < 1) return is(place + ".pairs", each.pairs, "a mean is over 1 pair or more");
    if ((each.distance && *each.distance < 0) || (each.cosine_distance && *each.cosine_distance < -kMeanRounding)) {
      return place + ": a distance cannot be negative";
    }
  }
  return "";
}

std::string facts_problem(const Measurement& m) {
  for (const auto& [name, range] : m.facts) {
    const double slack = kRounding * std::max(std::abs(range.min), std::abs(range.max));
    if (!(range.min <= range.mean + slack && range.mean <= range.max + slack)) {
      return "measurement.facts." + printable(name) + ": the mean lies outside min and max";
    }
  }
  for (const NllBucket& bucket : m.nll_by_position) {
    if (bucket.first < 0 || bucket.last < bucket.first || bucket.tokens < 0) {
      return "measurement.nll_by_position has a range or a count that is impossible";
    }
  }
  return "";
}

}  // namespace

std::string contradiction(const Record& record) {
  for (const std::string& problem :
       {counts_problem(record), status_problem(record), outcomes_problem(record), perplexity_problem(record)}) {
    if (!problem.empty()) return problem;
  }
  // Needs counts that agree.
  for (const std::string& problem : {answer_outcomes_problem(record), probe_problem(record.measurement),
                                     facts_problem(record.measurement), part_problem(record)}) {
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace lenbench
