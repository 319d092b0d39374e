// Normalized and cosine distances of neighbouring samples' states.
#include "bench/representations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/metrics.h"

namespace lenbench {

void RepresentationMeter::add_pair(const State& next) {
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  depths_.resize(next.size());
  for (std::size_t d = 0; d < next.size(); ++d) {
    const std::vector<double>&a = last_[d], &b = next[d];
    if (a.empty() || a.size() != b.size()) {
      depths_[d].distance.add(kUndefined);
      depths_[d].cosine.add(kUndefined);
      continue;
    }
    double difference = 0, product = 0, a_squares = 0, b_squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      product += a[i] * b[i];
      a_squares += a[i] * a[i];
      b_squares += b[i] * b[i];
    }
    depths_[d].distance.add(std::sqrt(difference / (a_squares + b_squares)));
    depths_[d].cosine.add(1 - product / std::sqrt(a_squares * b_squares));
  }
  ++pairs_;
}

void RepresentationMeter::add(const Probe& probe) {
  for (const std::vector<double>& flat : probe.states) {
    if (flat.empty()) continue;
    State state(static_cast<std::size_t>(probe.num_depths));
    const auto width = std::ssize(flat) / probe.num_depths;
    for (std::size_t d = 0; d < state.size(); ++d) {
      const auto first = flat.begin() + static_cast<std::ptrdiff_t>(d) * width;
      if (std::all_of(first, first + width, [](double value) { return std::isfinite(value); })) {
        state[d].assign(first, first + width);
      }
    }
    if (last_.size() == state.size()) add_pair(state);
    if (first_.empty()) first_ = state;
    last_ = std::move(state);
  }
}

void RepresentationMeter::add(const Part& part, const std::vector<RepresentationDistance>& distances) {
  if (part.first_state.empty()) return;
  if (last_.size() == part.first_state.size()) add_pair(part.first_state);
  if (first_.empty()) first_ = part.first_state;
  last_ = part.last_state;
  if (distances.empty()) return;
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  depths_.resize(std::max(depths_.size(), distances.size()));
  const std::int64_t pairs = distances.front().pairs;
  for (std::size_t d = 0; d < distances.size(); ++d) {
    depths_[d].distance.add(distances[d].distance.value_or(kUndefined) * static_cast<double>(pairs));
    depths_[d].cosine.add(distances[d].cosine_distance.value_or(kUndefined) * static_cast<double>(pairs));
  }
  pairs_ += pairs;
}

std::vector<RepresentationDistance> RepresentationMeter::result() const {
  std::vector<RepresentationDistance> means;
  for (std::size_t d = 0; d < depths_.size(); ++d) {
    const auto pairs = static_cast<double>(pairs_);
    means.push_back({static_cast<std::int64_t>(d), pairs_, finite(depths_[d].distance.value() / pairs),
                     finite(depths_[d].cosine.value() / pairs)});
  }
  return means;
}

void RepresentationMeter::describe(Part& part) const {
  part.first_state = first_;
  part.last_state = last_;
}

}  // namespace lenbench
