// Names of metrics and aggregates, and how a metric is read from a Record.
#include <fmt/format.h>

#include "base/error.h"
#include "base/names.h"
#include "report/grid.h"

namespace lenbench {

namespace {

struct NamedMetric {
  const char* name;
  MetricChoice choice;
};

constexpr NamedMetric kMetrics[] = {
    {"answer", {Metric::kAnswer, HeadGroup::kAll}},
    {"exact", {Metric::kExact, HeadGroup::kAll}},
    {"token", {Metric::kToken, HeadGroup::kAll}},
    {"perplexity", {Metric::kPerplexity, HeadGroup::kAll}},
    {"bits-per-byte", {Metric::kBitsPerByte, HeadGroup::kAll}},
    {"entropy", {Metric::kEntropy, HeadGroup::kAll}},
    {"entropy-positionless", {Metric::kEntropy, HeadGroup::kPositionless}},
    {"entropy-positional", {Metric::kEntropy, HeadGroup::kPositional}},
    {"support", {Metric::kSupport, HeadGroup::kAll}},
    {"support-positionless", {Metric::kSupport, HeadGroup::kPositionless}},
    {"support-positional", {Metric::kSupport, HeadGroup::kPositional}},
    {"sink", {Metric::kSink, HeadGroup::kAll}},
    {"sink-positionless", {Metric::kSink, HeadGroup::kPositionless}},
    {"sink-positional", {Metric::kSink, HeadGroup::kPositional}},
    {"top", {Metric::kTop, HeadGroup::kAll}},
    {"top-positionless", {Metric::kTop, HeadGroup::kPositionless}},
    {"top-positional", {Metric::kTop, HeadGroup::kPositional}},
};

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
  for (const NamedMetric& named : kMetrics) names.emplace_back(named.name);
  return names;
}

std::vector<std::string> aggregate_names() {
  std::vector<std::string> names;
  for (const NamedAggregate& named : kAggregates) names.emplace_back(named.name);
  return names;
}

MetricChoice parse_metric(std::string_view name) {
  for (const NamedMetric& named : kMetrics) {
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
  for (const NamedMetric& named : kMetrics) {
    if (choice.metric == named.choice.metric && choice.heads == named.choice.heads) return named.name;
  }
  return metric_name({choice.metric, HeadGroup::kAll});
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
  for (const HeadMeans& head : measurement.heads) {
    if (choice.heads == HeadGroup::kPositionless && head.has_position) continue;
    if (choice.heads == HeadGroup::kPositional && !head.has_position) continue;
    if ((choice.layer >= 0 && head.layer != choice.layer) || (choice.head >= 0 && head.head != choice.head)) continue;
    std::optional<double> value;
    if (choice.metric == Metric::kEntropy) value = head.normalized_entropy;
    if (choice.metric == Metric::kSupport) value = head.support;
    if (choice.metric == Metric::kSink) value = head.sink_mass;
    if (choice.metric == Metric::kTop) value = head.top_mass;
    if (!value) continue;
    sum += *value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

}  // namespace lenbench
