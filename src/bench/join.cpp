// Sums taken out of parts again, and finished as those of a whole Cell.
#include "bench/join.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/metrics.h"
#include "bench/representations.h"
#include "record/answer_outcomes.h"

namespace lenbench {

namespace {

// The sums behind means, added to `sums`.
void add_heads(const std::vector<HeadMeans>& means, Probe& probe, std::vector<HeadStats>& sums) {
  if (means.empty()) return;
  const auto num_heads = static_cast<std::size_t>(probe.num_heads);
  sums.resize(static_cast<std::size_t>(probe.num_layers) * num_heads);
  for (const HeadMeans& mean : means) {
    const auto head = static_cast<std::size_t>(mean.head);
    const std::size_t i = static_cast<std::size_t>(mean.layer) * num_heads + head;
    const auto total = [](double value, std::int64_t rows) { return value * static_cast<double>(rows); };
    HeadStats stats;
    stats.rows = mean.rows;
    stats.entropy = total(mean.entropy, mean.rows);
    stats.support = total(mean.support, mean.rows);
    stats.sink_mass = total(mean.sink_mass, mean.rows);
    stats.top_mass = total(mean.top_mass, mean.rows);
    // A mean that was not finite is none, though it has rows; it stays one.
    constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
    stats.normalized_rows = mean.normalized_rows.value_or(0);
    if (stats.normalized_rows > 0) {
      stats.normalized_entropy = total(mean.normalized_entropy.value_or(kUndefined), stats.normalized_rows);
    }
    stats.source_rows = mean.source_rows.value_or(0);
    if (stats.source_rows > 0) stats.source_mass = total(mean.source_mass.value_or(kUndefined), stats.source_rows);
    stats.scaled_rows = mean.scaled_rows.value_or(0);
    if (stats.scaled_rows > 0) stats.scale = total(mean.scale.value_or(kUndefined), stats.scaled_rows);
    sums[i].add(stats);
    probe.head_has_position.resize(num_heads);
    if (mean.has_position) probe.head_has_position[head] = true;
    if (mean.alpha) {
      probe.head_alpha.resize(sums.size());
      probe.head_alpha[i] = *mean.alpha;
    }
  }
}

void add_probe(const Record& record, Probe& probe) {
  const Measurement& measured = record.measurement;
  if (measured.probe_rows.empty()) return;
  probe.rows = parse_probe_rows(measured.probe_rows);
  probe.num_layers = record.part->num_layers;
  probe.num_heads = record.part->num_heads;
  add_heads(measured.heads, probe, probe.heads);
  add_heads(measured.heads_right, probe, probe.heads_right);
  add_heads(measured.heads_wrong, probe, probe.heads_wrong);
  for (const PositionHeads& positions : measured.heads_by_position) {
    const std::size_t bucket = position_bucket(positions.first);
    if (probe.by_position.size() <= bucket) probe.by_position.resize(bucket + 1);
    add_heads(positions.heads, probe, probe.by_position[bucket]);
  }
}

// A part without measured samples that is `failed` could not be measured, and so the Cell cannot.
const Record* first_unmeasured(std::span<const Record* const> parts) {
  for (const Record* part : parts) {
    if (part->status != "ok" && part->measurement.samples == 0) return part;
  }
  return nullptr;
}

}  // namespace

CellMeter::CellMeter(const Question& question)
    : metric_(question.metric == "perplexity" ? TaskMetric::kPerplexity : TaskMetric::kExactMatch),
      byte_tokens_(question.task == "text") {}

void CellMeter::add(const Record& record) {
  const Measurement& measured = record.measurement;
  const Part& part = record.part.value();
  tokens_min_ = samples_ == 0 ? measured.effective_tokens_min : std::min(tokens_min_, measured.effective_tokens_min);
  tokens_max_ = std::max(tokens_max_, measured.effective_tokens_max);
  samples_ += measured.samples;
  if (nonfinite_ == 0) {
    nonfinite_sample_ = part.nonfinite_sample;
    nonfinite_position_ = part.nonfinite_position;
  }
  nonfinite_ += measured.nonfinite_samples;
  for (const auto& [name, fact] : measured.facts) {
    FactSums& sums = facts_[name];
    const std::int64_t samples = fact.samples.value_or(measured.samples);
    sums.sum.add(fact.mean * static_cast<double>(samples));
    sums.min = sums.samples == 0 ? fact.min : std::min(sums.min, fact.min);
    sums.max = sums.samples == 0 ? fact.max : std::max(sums.max, fact.max);
    sums.samples += samples;
  }
  if (measured.chance) chance_ = *measured.chance;
  outcomes_ += record.outcomes;
  exact_right_ += std::count(record.outcomes.begin(), record.outcomes.end(), '1');
  tokens_.right.insert(tokens_.right.end(), part.token_right.begin(), part.token_right.end());
  tokens_.n.insert(tokens_.n.end(), part.token_n.begin(), part.token_n.end());
  if (!record.sample_answers.empty()) {
    const std::vector<std::int64_t> right = right_answers(record);
    answers_.right.insert(answers_.right.end(), right.begin(), right.end());
    answers_.n.insert(answers_.n.end(), record.sample_answers.begin(), record.sample_answers.end());
    const std::vector<bool> bits = unpack_answers(record.answer_outcomes, measured.answer->n);
    answer_bits_.insert(answer_bits_.end(), bits.begin(), bits.end());
    outcomes_say_answers_ = false;
  } else {
    // A part names the answers of its samples unless each is one answer and nothing else, or there are none.
    const bool one_each = measured.answer.has_value();
    for (const char outcome : record.outcomes) {
      const bool right = one_each && outcome == '1';
      answers_.right.push_back(right ? 1 : 0);
      answers_.n.push_back(one_each ? 1 : 0);
      if (one_each) answer_bits_.push_back(right);
    }
    outcomes_say_answers_ = outcomes_say_answers_ && (one_each || record.outcomes.empty());
  }
  if (measured.nll_nats) nats_.add(*measured.nll_nats);
  nll_tokens_ += measured.nll_tokens;
  nll_bytes_ += part.nll_bytes;
  sample_nats_.insert(sample_nats_.end(), record.sample_nats.begin(), record.sample_nats.end());
  sample_tokens_.insert(sample_tokens_.end(), record.sample_tokens.begin(), record.sample_tokens.end());
  for (const NllBucket& each : measured.nll_by_position) {
    const std::size_t bucket = position_bucket(each.first);
    if (buckets_.size() <= bucket) buckets_.resize(bucket + 1);
    buckets_[bucket].nats.add(each.nats);
    buckets_[bucket].tokens += each.tokens;
  }
}

void CellMeter::describe(Part& part, std::map<std::string, FactRange>& facts) const {
  part.nonfinite_sample = nonfinite_sample_;
  part.nonfinite_position = nonfinite_position_;
  part.nll_bytes = nll_bytes_;
  part.token_right = tokens_.right;
  part.token_n = tokens_.n;
  for (const auto& [name, sums] : facts_) facts[name].samples = sums.samples;
}

Record join_parts(std::span<const Record* const> parts) {
  if (parts.empty()) throw std::logic_error("join_parts: no part");
  const Record& first = *parts.front();
  Record whole = first;
  whole.part.reset();
  if (first.status == "skipped") return whole;
  const Record* failed = first_unmeasured(parts);
  if (failed != nullptr) {
    whole = *failed;
    whole.part.reset();
  } else {
    CellMeter meter(first.question);
    Probe probe;
    RepresentationMeter representations;
    for (const Record* part : parts) {
      meter.add(*part);
      add_probe(*part, probe);
      representations.add(part->part.value(), part->measurement.representations);
    }
    CellResult result = meter.result();
    whole.reason = result.failure;
    whole.status = result.failure.empty() ? "ok" : "failed";
    take_result(std::move(result), whole);
    take_probe(probe, whole.measurement);
    whole.measurement.representations = representations.result();
    whole.measurement.teacher_forced = first.measurement.teacher_forced;
  }
  whole.measurement.seconds = 0;
  for (const Record* part : parts) {
    whole.measurement.seconds += part->measurement.seconds;
    whole.measurement.peak_bytes = std::max(whole.measurement.peak_bytes, part->measurement.peak_bytes);
    whole.setting.threads = std::max(whole.setting.threads, part->setting.threads);
    whole.setting.batch = std::max(whole.setting.batch, part->setting.batch);
    whole.setting.started_at = std::min(whole.setting.started_at, part->setting.started_at);
  }
  return whole;
}

}  // namespace lenbench
