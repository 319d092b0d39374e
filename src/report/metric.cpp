// Names of metrics and aggregates, and how a metric is read from a Record.
#include <fmt/format.h>

#include "base/error.h"
#include "base/names.h"
#include "report/grid.h"

namespace lenbench {

namespace {

struct NamedMetric {
  std::string name;
  MetricChoice choice;
};

// Every name; those of attention statistics are put together from three parts.
const std::vector<NamedMetric>& named_metrics() {
  static const std::vector<NamedMetric> all = [] {
    std::vector<NamedMetric> metrics = {{"answer", {Metric::kAnswer}},
                                        {"exact", {Metric::kExact}},
                                        {"token", {Metric::kToken}},
                                        {"perplexity", {Metric::kPerplexity}},
                                        {"bits-per-byte", {Metric::kBitsPerByte}},
                                        {"perplexity-ratio", {Metric::kPerplexityRatio}},
                                        {"representation", {Metric::kRepresentation}},
                                        {"representation-cosine", {Metric::kRepresentationCosine}}};
    const std::pair<const char*, Metric> statistics[] = {{"entropy", Metric::kEntropy}, {"nats", Metric::kNats},
                                                         {"support", Metric::kSupport}, {"sink", Metric::kSink},
                                                         {"top", Metric::kTop},         {"source", Metric::kSource},
                                                         {"scale", Metric::kScale},     {"alpha", Metric::kAlpha}};
    const std::pair<const char*, HeadGroup> groups[] = {
        {"", HeadGroup::kAll}, {"-positionless", HeadGroup::kPositionless}, {"-positional", HeadGroup::kPositional}};
    const std::pair<const char*, RowOutcome> outcomes[] = {
        {"", RowOutcome::kAny}, {"-right", RowOutcome::kRight}, {"-wrong", RowOutcome::kWrong}};
    for (const auto& [statistic, metric] : statistics) {
      for (const auto& [group, heads] : groups) {
        for (const auto& [ending, outcome] : outcomes) {
          metrics.push_back({std::string(statistic) + group + ending, {metric, heads, outcome}});
        }
      }
    }
    return metrics;
  }();
  return all;
}

struct NamedAggregate {
  const char* name;
  Aggregate aggregate;
};

constexpr NamedAggregate kAggregates[] = {
    {"mean", Aggregate::kMean},
    {"median", Aggregate::kMedian},
    {"max", Aggregate::kMax},
    {"best-seed", Aggregate::kBestSeed},
};

struct NamedInterval {
  const char* name;
  IntervalChoice choice;
};

constexpr NamedInterval kIntervals[] = {
    {"wilson", IntervalChoice::kRecorded},
    {"bootstrap", IntervalChoice::kBootstrap},
    {"none", IntervalChoice::kNone},
};

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const NamedMetric& named : named_metrics()) names.emplace_back(named.name);
  return names;
}

std::vector<std::string> aggregate_names() {
  std::vector<std::string> names;
  for (const NamedAggregate& named : kAggregates) names.emplace_back(named.name);
  return names;
}

MetricChoice parse_metric(std::string_view name) {
  for (const NamedMetric& named : named_metrics()) {
    if (name == named.name) return named.choice;
  }
  throw Error(fmt::format("unknown metric '{}'{}; there are {}", name, did_you_mean(name, metric_names()),
                          join(metric_names(), ", ")));
}

Aggregate parse_aggregate(std::string_view name) {
  for (const NamedAggregate& named : kAggregates) {
    if (name == named.name) return named.aggregate;
  }
  throw Error(fmt::format("unknown aggregate '{}'{}; there are {}", name, did_you_mean(name, aggregate_names()),
                          join(aggregate_names(), ", ")));
}

std::vector<std::string> interval_names() {
  std::vector<std::string> names;
  for (const NamedInterval& named : kIntervals) names.emplace_back(named.name);
  return names;
}

IntervalChoice parse_interval(std::string_view name) {
  for (const NamedInterval& named : kIntervals) {
    if (name == named.name) return named.choice;
  }
  throw Error(fmt::format("unknown interval '{}'{}; there are {}", name, did_you_mean(name, interval_names()),
                          join(interval_names(), ", ")));
}

std::string metric_name(const MetricChoice& choice) {
  for (const NamedMetric& named : named_metrics()) {
    MetricChoice whole = choice;
    whole.layer = whole.head = -1;
    if (whole == named.choice) return named.name;
  }
  return metric_name({choice.metric});
}

std::string aggregate_name(Aggregate aggregate) {
  for (const NamedAggregate& named : kAggregates) {
    if (aggregate == named.aggregate) return named.name;
  }
  return "";
}

bool is_proportion(Metric metric) {
  return metric == Metric::kAnswer || metric == Metric::kExact || metric == Metric::kToken;
}

std::optional<double> head_mean(const Measurement& measurement, const MetricChoice& choice) {
  double sum = 0;
  std::int64_t count = 0;
  const std::vector<HeadMeans>& heads = choice.outcome == RowOutcome::kRight   ? measurement.heads_right
                                        : choice.outcome == RowOutcome::kWrong ? measurement.heads_wrong
                                                                               : measurement.heads;
  for (const HeadMeans& head : heads) {
    if (choice.heads == HeadGroup::kPositionless && head.has_position) continue;
    if (choice.heads == HeadGroup::kPositional && !head.has_position) continue;
    if ((choice.layer >= 0 && head.layer != choice.layer) || (choice.head >= 0 && head.head != choice.head)) continue;
    std::optional<double> value;
    if (choice.metric == Metric::kEntropy) value = head.normalized_entropy;
    if (choice.metric == Metric::kNats) value = head.entropy;
    if (choice.metric == Metric::kSupport) value = head.support;
    if (choice.metric == Metric::kSink) value = head.sink_mass;
    if (choice.metric == Metric::kTop) value = head.top_mass;
    if (choice.metric == Metric::kSource) value = head.source_mass;
    if (choice.metric == Metric::kScale) value = head.scale;
    if (choice.metric == Metric::kAlpha) value = head.alpha;
    if (!value) continue;
    sum += *value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

}  // namespace lenbench
