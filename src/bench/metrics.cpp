// Counts right tokens, answers and samples, and sums nats.
#include "bench/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "record/answer_outcomes.h"
#include "stats/intervals.h"

namespace lenbench {

namespace {

constexpr std::int32_t kNumBytes = 256;
constexpr double kMostBytes = 9007199254740992;  // 2^53: whole numbers end here

struct ProbeRowsName {
  ProbeRows rows;
  const char* name;
};
constexpr ProbeRowsName kProbeRows[] = {{ProbeRows::kAnswer, "answer"},
                                        {ProbeRows::kAll, "all"},
                                        {ProbeRows::kPrefix, "prefix"},
                                        {ProbeRows::kNone, "none"}};

std::int64_t total(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

Proportion proportion(std::int64_t right, std::int64_t n, double design_effect) {
  Proportion result{n, right, static_cast<double>(right) / static_cast<double>(n), 0, 1};
  const Interval interval = wilson(static_cast<double>(right) / design_effect, static_cast<double>(n) / design_effect);
  result.low = interval.low;
  result.high = interval.high;
  return result;
}

std::optional<Proportion> clustered(const std::vector<std::int64_t>& right, const std::vector<std::int64_t>& n) {
  const std::int64_t all = total(n);
  if (all == 0) return std::nullopt;
  return proportion(total(right), all, design_effect(right, n));
}

}  // namespace

std::vector<std::string> probe_rows_names() {
  std::vector<std::string> names;
  for (const ProbeRowsName& each : kProbeRows) names.emplace_back(each.name);
  return names;
}

std::string probe_rows_name(ProbeRows rows) {
  return std::find_if(std::begin(kProbeRows), std::end(kProbeRows),
                      [&](const ProbeRowsName& each) { return each.rows == rows; })
      ->name;
}

ProbeRows parse_probe_rows(std::string_view name) {
  for (const ProbeRowsName& each : kProbeRows) {
    if (name == each.name) return each.rows;
  }
  throw std::invalid_argument("no probe rows of this name");
}

std::optional<double> finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

CellMeter::CellMeter(const Task& task, std::int64_t first_sample)
    : metric_(task.info().metric),
      byte_tokens_(task.info().name == "text"),
      chance_(task.chance()),
      first_sample_(first_sample) {}

void CellMeter::add(std::span<const Sample> samples, std::span<const SamplePrediction> predictions) {
  if (samples.size() != predictions.size()) {
    throw std::logic_error(fmt::format("{} predictions came back for {} samples", predictions.size(), samples.size()));
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    const SamplePrediction& prediction = predictions[i];
    if (prediction.argmax.size() != sample.scored.size() || prediction.nll.size() != sample.scored.size()) {
      throw std::logic_error(fmt::format("sample {} has {} judged rows, its prediction {} tokens and {} nats",
                                         first_sample_ + samples_, sample.scored.size(), prediction.argmax.size(),
                                         prediction.nll.size()));
    }
    std::int64_t nonfinite = prediction.first_nonfinite;
    for (std::size_t row = 0; nonfinite < 0 && row < sample.scored.size(); ++row) {
      if (!std::isfinite(prediction.nll[row])) nonfinite = sample.scored[row].position;
    }
    if (nonfinite >= 0) {
      if (nonfinite_ == 0) {
        nonfinite_sample_ = first_sample_ + samples_;
        nonfinite_position_ = nonfinite;
      }
      ++nonfinite_;
    }
    const auto tokens = static_cast<std::int64_t>(sample.tokens.size());
    tokens_min_ = samples_ == 0 ? tokens : std::min(tokens_min_, tokens);
    tokens_max_ = std::max(tokens_max_, tokens);
    ++samples_;
    add_facts(sample);
    if (metric_ == TaskMetric::kPerplexity) {
      add_nats(sample, prediction, nonfinite < 0);
    } else {
      add_exact(sample, prediction, nonfinite < 0);
    }
  }
}

void CellMeter::add_facts(const Sample& sample) {
  std::map<std::string, double> facts = sample.facts;
  facts["prompt_tokens"] = static_cast<double>(sample.prompt_tokens);
  facts["answer_tokens"] = static_cast<double>(sample.scored.size());
  const auto fed_back = std::count_if(sample.scored.begin(), sample.scored.end(),
                                      [](const ScoredToken& scored) { return scored.fed_back; });
  facts["given_tokens"] = static_cast<double>(sample.tokens.size()) - static_cast<double>(fed_back);
  for (const auto& [name, value] : facts) {
    if (!std::isfinite(value)) throw std::logic_error(fmt::format("fact '{}' of a sample is not finite", name));
    FactSums& sums = facts_[name];
    sums.sum.add(value);
    sums.min = sums.samples == 0 ? value : std::min(sums.min, value);
    sums.max = sums.samples == 0 ? value : std::max(sums.max, value);
    ++sums.samples;
  }
}

void CellMeter::add_exact(const Sample& sample, const SamplePrediction& prediction, bool finite_sample) {
  std::int64_t right_tokens = 0;
  for (std::size_t row = 0; finite_sample && row < sample.scored.size(); ++row) {
    right_tokens += prediction.argmax[row] == sample.scored[row].target ? 1 : 0;
  }
  const auto answers = judged_answers(sample, prediction, finite_sample);
  const auto num_tokens = static_cast<std::int64_t>(sample.scored.size());
  tokens_.right.push_back(right_tokens);
  tokens_.n.push_back(num_tokens);
  answers_.right.push_back(std::count_if(answers.begin(), answers.end(), [](const auto& each) { return each.second; }));
  answers_.n.push_back(std::ssize(answers));
  const bool exact = num_tokens > 0 && right_tokens == num_tokens;
  exact_right_ += exact ? 1 : 0;
  outcomes_ += !finite_sample ? 'x' : exact ? '1' : '0';
  for (const auto& [number, right] : answers) answer_bits_.push_back(right);
  outcomes_say_answers_ = outcomes_say_answers_ && answers.size() == 1 && answers.front().second == exact;
}

void CellMeter::add_nats(const Sample& sample, const SamplePrediction& prediction, bool finite_sample) {
  CompensatedSum nats;
  std::int64_t num_tokens = 0;
  // Of samples in a tokenizer's tokens, which say themselves how many bytes of text they judge.
  const auto judged_bytes = sample.facts.find("judged_bytes");
  if (judged_bytes != sample.facts.end() && finite_sample) {
    if (!(judged_bytes->second >= 0 && judged_bytes->second < kMostBytes)) {
      throw Error(fmt::format("fact 'judged_bytes' of sample {} is {}, no number of bytes",
                              first_sample_ + samples_ - 1, judged_bytes->second));
    }
    nll_bytes_ += static_cast<std::int64_t>(judged_bytes->second);
  }
  for (std::size_t row = 0; finite_sample && row < sample.scored.size(); ++row) {
    const ScoredToken& scored = sample.scored[row];
    nats.add(prediction.nll[row]);
    nats_.add(prediction.nll[row]);
    ++num_tokens;
    if (byte_tokens_ && scored.target < kNumBytes) ++nll_bytes_;
    const std::size_t bucket = position_bucket(scored.position);
    if (buckets_.size() <= bucket) buckets_.resize(bucket + 1);
    buckets_[bucket].nats.add(prediction.nll[row]);
    ++buckets_[bucket].tokens;
  }
  nll_tokens_ += num_tokens;
  sample_nats_.push_back(nats.value());
  sample_tokens_.push_back(num_tokens);
}

CellResult CellMeter::result() const {
  CellResult result;
  Measurement& measurement = result.measurement;
  measurement.samples = samples_;
  measurement.effective_tokens_min = tokens_min_;
  measurement.effective_tokens_max = tokens_max_;
  for (const auto& [name, sums] : facts_) {
    measurement.facts[name] = {sums.sum.value() / static_cast<double>(sums.samples), sums.min, sums.max};
  }
  measurement.nonfinite_samples = nonfinite_;
  if (nonfinite_ > 0) {
    result.failure =
        fmt::format("non-finite logits at position {} of sample {}", nonfinite_position_, nonfinite_sample_);
    if (nonfinite_ > 1) result.failure += fmt::format(" ({} samples in all)", nonfinite_);
  }
  const std::int64_t scored_tokens = metric_ == TaskMetric::kPerplexity ? nll_tokens_ : total(tokens_.n);
  if (scored_tokens == 0 && nonfinite_ == 0) result.failure = "empty: no token to score";

  if (metric_ == TaskMetric::kExactMatch) {
    if (samples_ > 0) measurement.exact = proportion(exact_right_, samples_, 1);
    measurement.answer = clustered(answers_.right, answers_.n);
    measurement.token = clustered(tokens_.right, tokens_.n);
    if (measurement.answer) measurement.chance = chance_;
    result.outcomes = outcomes_;
    if (measurement.answer && !outcomes_say_answers_) {
      result.sample_answers = answers_.n;
      result.answer_outcomes = pack_answers(answer_bits_);
    }
    return result;
  }

  result.sample_nats = sample_nats_;
  result.sample_tokens = sample_tokens_;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i].tokens == 0) continue;
    measurement.nll_by_position.push_back(
        {bucket_first(i), bucket_last(i), buckets_[i].tokens, buckets_[i].nats.value()});
  }
  measurement.nll_tokens = nll_tokens_;
  if (nll_tokens_ == 0) return result;
  measurement.nll_nats = nats_.value();
  if (nonfinite_ > 0) return result;
  measurement.perplexity = finite(std::exp(nats_.value() / static_cast<double>(nll_tokens_)));
  const std::vector<double> sizes(sample_tokens_.begin(), sample_tokens_.end());
  const Interval interval = mean_interval(sample_nats_, sizes);
  const double low = std::exp(interval.low), high = std::exp(interval.high);
  if (std::isfinite(interval.low) && std::isfinite(high)) {
    measurement.perplexity_low = low;
    measurement.perplexity_high = high;
  }
  if (nll_bytes_ > 0) {
    measurement.bits_per_byte = nats_.value() / std::log(2.0) / static_cast<double>(nll_bytes_);
  }
  return result;
}

void take_result(CellResult result, Record& record) {
  record.measurement = std::move(result.measurement);
  record.outcomes = std::move(result.outcomes);
  record.sample_nats = std::move(result.sample_nats);
  record.sample_tokens = std::move(result.sample_tokens);
  record.sample_answers = std::move(result.sample_answers);
  record.answer_outcomes = std::move(result.answer_outcomes);
}

void take_probe(const Probe& probe, Measurement& measurement, bool for_part) {
  if (probe.rows != ProbeRows::kPrefix) measurement.heads = head_means(probe, probe.heads, for_part);
  measurement.heads_right = head_means(probe, probe.heads_right, for_part);
  measurement.heads_wrong = head_means(probe, probe.heads_wrong, for_part);
  for (std::size_t bucket = 0; bucket < probe.by_position.size(); ++bucket) {
    std::vector<HeadMeans> heads = head_means(probe, probe.by_position[bucket], for_part);
    if (heads.empty()) continue;
    measurement.heads_by_position.push_back({bucket_first(bucket), bucket_last(bucket), std::move(heads)});
  }
  if (measurement.heads.empty() && measurement.heads_by_position.empty()) return;
  measurement.probe_rows = probe_rows_name(probe.rows);
}

std::vector<HeadMeans> head_means(const Probe& probe, const std::vector<HeadStats>& heads, bool for_part) {
  if (heads.empty()) return {};
  std::vector<HeadMeans> means;
  for (std::int64_t layer = 0; layer < probe.num_layers; ++layer) {
    for (std::int64_t head = 0; head < probe.num_heads; ++head) {
      const HeadStats& sums = heads.at(static_cast<std::size_t>(layer * probe.num_heads + head));
      if (sums.rows == 0) continue;
      const auto rows = static_cast<double>(sums.rows);
      HeadMeans mean;
      mean.layer = layer;
      mean.head = head;
      mean.has_position = probe.head_has_position.at(static_cast<std::size_t>(head));
      mean.rows = sums.rows;
      mean.entropy = sums.entropy / rows;
      if (sums.normalized_rows > 0) {
        mean.normalized_entropy = finite(sums.normalized_entropy / static_cast<double>(sums.normalized_rows));
      }
      mean.support = sums.support / rows;
      mean.sink_mass = sums.sink_mass / rows;
      mean.top_mass = sums.top_mass / rows;
      if (sums.source_rows > 0) mean.source_mass = sums.source_mass / static_cast<double>(sums.source_rows);
      if (sums.scaled_rows > 0) mean.scale = finite(sums.scale / static_cast<double>(sums.scaled_rows));
      if (!probe.head_alpha.empty()) {
        mean.alpha = probe.head_alpha.at(static_cast<std::size_t>(layer * probe.num_heads + head));
      }
      if (for_part) {
        mean.normalized_rows = sums.normalized_rows;
        mean.source_rows = sums.source_rows;
        mean.scaled_rows = sums.scaled_rows;
      }
      means.push_back(mean);
    }
  }
  return means;
}

}  // namespace lenbench
