// Aggregation over repeats.
#include "report/kept.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lenbench {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Sampling error of a mean of independent parts, on each side: the distances in quadrature over their number.
void mean_of(const Repeats& parts, std::size_t which, GridCell& cell) {
  double sum = 0, below = 0, above = 0;
  bool intervals = true;
  for (const Kept* part : parts) {
    const Kept::Values& values = part->values[which];
    sum += values.value;
    intervals = intervals && std::isfinite(values.low) && std::isfinite(values.high);
    if (!intervals) continue;
    below += (values.value - values.low) * (values.value - values.low);
    above += (values.high - values.value) * (values.high - values.value);
  }
  const auto k = static_cast<double>(parts.size());
  cell.value = sum / k;
  if (!intervals) return;
  cell.low = *cell.value - std::sqrt(below) / k;
  cell.high = *cell.value + std::sqrt(above) / k;
}

}  // namespace

bool has_value(const Kept& kept, std::size_t which) { return !std::isnan(kept.values[which].value); }

void aggregate_repeats(const Repeats& parts, std::size_t which, Aggregate aggregate, GridCell& cell) {
  if (parts.size() == 1) {
    const Kept::Values& values = parts.front()->values[which];
    cell.value = values.value;
    if (std::isnan(values.low) || std::isnan(values.high)) return;
    cell.low = values.low;
    cell.high = values.high;
    return;
  }
  if (aggregate == Aggregate::kMean) return mean_of(parts, which, cell);
  std::vector<double> values;
  for (const Kept* part : parts) values.push_back(part->values[which].value);
  cell.value = aggregate == Aggregate::kMedian ? median(values) : *std::max_element(values.begin(), values.end());
}

std::string outcome_bits(const std::string& outcomes) {
  std::string packed((outcomes.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == '1') packed[i / 8] = static_cast<char>(packed[i / 8] | (1 << i % 8));
  }
  return packed;
}

PairedCounts paired_counts(const std::string& first, const std::string& second) {
  PairedCounts counts;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    const auto a = static_cast<unsigned char>(first[i]), b = static_cast<unsigned char>(second[i]);
    counts.only_first += std::popcount(static_cast<unsigned>(a & ~b & 0xFF));
    counts.only_second += std::popcount(static_cast<unsigned>(b & ~a & 0xFF));
  }
  return counts;
}

}  // namespace lenbench
