// Values and intervals of single Records.
#include "report/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "record/answer_outcomes.h"
#include "stats/bootstrap.h"
#include "stats/intervals.h"

namespace lenbench {

namespace {

[[noreturn]] void refuse_resampling(const Record& record, const char* metric) {
  throw Error(
      fmt::format("{}: {} accuracy of several a sample cannot be resampled, this Record keeps one outcome a "
                  "sample: choose --metric exact, or --interval wilson",
                  place_of(record), metric));
}

Reading read_proportion(const Record& record, const std::optional<Proportion>& proportion, const char* metric,
                        IntervalChoice interval) {
  if (!proportion) return {{}, {}, {}, "this task has no such accuracy"};
  const Proportion& p = *proportion;
  constexpr double kRounding = 1e-9;
  const bool sound = p.n > 0 && p.right >= 0 && p.right <= p.n &&
                     std::abs(p.value - static_cast<double>(p.right) / static_cast<double>(p.n)) <= kRounding &&
                     p.low <= p.value + kRounding && p.value <= p.high + kRounding && p.low < p.high;
  if (!sound) {
    throw Error(fmt::format("{}: accuracy {} [{}, {}] contradicts {} right of {}", place_of(record), p.value, p.low,
                            p.high, p.right, p.n));
  }
  if (interval == IntervalChoice::kNone) return {p.value, {}, {}, ""};
  if (interval == IntervalChoice::kRecorded) return {p.value, p.low, p.high, ""};
  // Resampling equal outcomes shows no spread.
  const bool spread = p.right > 0 && p.right < p.n;
  if (&proportion == &record.measurement.answer && !record.sample_answers.empty()) {
    if (!spread) return {p.value, p.low, p.high, ""};
    const std::vector<std::int64_t> right = right_answers(record);
    const Interval found =
        bootstrap_ratio(std::vector<double>(right.begin(), right.end()),
                        std::vector<double>(record.sample_answers.begin(), record.sample_answers.end()));
    return {p.value, std::min(found.low, p.value), std::max(found.high, p.value), ""};
  }
  if (p.n != record.measurement.samples) refuse_resampling(record, metric);
  const Interval found =
      spread ? bootstrap_proportion(p.right, p.n) : wilson(static_cast<double>(p.right), static_cast<double>(p.n));
  return {p.value, found.low, found.high, ""};
}

Reading read_perplexity(const Record& record, IntervalChoice interval) {
  const Measurement& m = record.measurement;
  Reading reading{m.perplexity, {}, {}, m.perplexity ? "" : "this task has no perplexity"};
  if (!m.perplexity || interval == IntervalChoice::kNone) return reading;
  if (interval == IntervalChoice::kRecorded) {
    if (m.perplexity_low && m.perplexity_high) {
      reading.low = m.perplexity_low;
      reading.high = m.perplexity_high;
    }
    return reading;
  }
  const auto several = std::count_if(record.sample_tokens.begin(), record.sample_tokens.end(),
                                     [](std::int64_t tokens) { return tokens > 0; });
  if (several < 2) return reading;
  const std::vector<double> sizes(record.sample_tokens.begin(), record.sample_tokens.end());
  const Interval nats = bootstrap_ratio(record.sample_nats, sizes);
  reading.low = std::exp(nats.low);
  reading.high = std::exp(nats.high);
  return reading;
}

Reading read_representation(const Measurement& m, const MetricChoice& choice) {
  if (m.representations.empty()) return {{}, {}, {}, "distances of representations were not measured"};
  const auto depth = choice.layer < 0 ? m.representations.size() - 1 : static_cast<std::size_t>(choice.layer);
  if (depth >= m.representations.size()) return {{}, {}, {}, "the model has no such depth"};
  const RepresentationDistance& at = m.representations[depth];
  const bool cosine = choice.metric == Metric::kRepresentationCosine;
  const std::optional<double>& distance = cosine ? at.cosine_distance : at.distance;
  return {distance, {}, {}, distance ? "" : "the states were not finite"};
}

}  // namespace

bool is_attention(Metric metric) {
  switch (metric) {
    case Metric::kEntropy:
    case Metric::kNats:
    case Metric::kSupport:
    case Metric::kSink:
    case Metric::kTop:
    case Metric::kSource:
    case Metric::kScale:
    case Metric::kAlpha:
    case Metric::kRepresentation:
    case Metric::kRepresentationCosine:
      return true;
    case Metric::kAnswer:
    case Metric::kExact:
    case Metric::kToken:
    case Metric::kPerplexity:
    case Metric::kBitsPerByte:
    case Metric::kPerplexityRatio:
      break;
  }
  return false;
}

bool smaller_is_better(Metric metric) { return metric == Metric::kPerplexity || metric == Metric::kBitsPerByte; }

std::string place_of(const Record& record) {
  return fmt::format("{} on {} at length {}, data seed {}", record.subject.name, record.question.task,
                     record.question.length, record.question.data_seed);
}

Reading read_metric(const Record& record, const MetricChoice& choice, IntervalChoice interval) {
  if (record.status != "ok") return {{}, {}, {}, record.status + ": " + record.reason};
  const Measurement& m = record.measurement;
  switch (choice.metric) {
    case Metric::kAnswer:
      return read_proportion(record, m.answer, "answer", interval);
    case Metric::kExact:
      return read_proportion(record, m.exact, "exact", interval);
    case Metric::kToken:
      return read_proportion(record, m.token, "token", interval);
    case Metric::kPerplexity:
      return read_perplexity(record, interval);
    case Metric::kBitsPerByte:
      return {m.bits_per_byte, {}, {}, m.bits_per_byte ? "" : "the tokens are not bytes"};
    case Metric::kRepresentation:
    case Metric::kRepresentationCosine:
      return read_representation(m, choice);
    default:
      break;
  }
  const std::optional<double> mean = head_mean(m, choice);
  const char* why = "";
  if (!mean && m.heads.empty()) {
    why = "attention was not probed";
  } else if (!mean && choice.outcome != RowOutcome::kAny) {
    why = "no answer had this outcome, or statistics were not split by outcome";
  } else if (!mean && choice.metric == Metric::kSource) {
    why = "the task names no source of its answers, or it was not measured";
  } else if (!mean && (choice.metric == Metric::kScale || choice.metric == Metric::kAlpha)) {
    why = "it was not measured";
  } else if (!mean) {
    why = "no such heads, or no row saw two keys";
  }
  return {mean, {}, {}, why};
}

std::string interval_sentence(Metric metric, IntervalChoice interval, bool has_repeats) {
  std::string sentence = "95 % Wilson";
  if (interval == IntervalChoice::kBootstrap) {
    sentence = "95 % bootstrap over samples (percentiles), Wilson where all samples agree";
    if (metric == Metric::kPerplexity) sentence = "95 % bootstrap over windows of the documents (percentiles)";
  } else {
    if (metric == Metric::kAnswer) sentence += ", widened for answers that share a sample";
    if (metric == Metric::kToken) sentence += ", widened for tokens that share a sample";
    if (metric == Metric::kPerplexity) sentence = "95 % Student t over windows of the documents";
  }
  if (has_repeats) sentence += "; over repeats combined in quadrature, without the spread between checkpoints";
  return sentence;
}

}  // namespace lenbench
