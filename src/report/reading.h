// One Record's value of a metric, with its interval, or why it has none.
#pragma once

#include <optional>
#include <string>

#include "report/grid.h"

namespace lenbench {

struct Reading {
  std::optional<double> value, low, high;
  std::string why;  // when there is no value
};

// Whether it is measured by a probe and describes the model's inside, of which nothing is better than another.
bool is_attention(Metric metric);
// Whether smaller values are better (perplexity, bits per byte); nothing is better for attention statistics.
bool smaller_is_better(Metric metric);

// "MODEL on TASK at length L, data seed S", for messages.
std::string place_of(const Record& record);

// Throws Error when a proportion contradicts its counts or interval, and when `interval` is bootstrap and the Record
// does not keep what would be resampled.
Reading read_metric(const Record& record, const MetricChoice& choice, IntervalChoice interval);

// One sentence on the intervals of a Grid.
std::string interval_sentence(Metric metric, IntervalChoice interval, bool has_repeats);

}  // namespace lenbench
