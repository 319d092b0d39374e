// Normalized and cosine distances of neighbouring samples' states.
#include "bench/representations.h"

#include <cmath>

#include "bench/metrics.h"

namespace lenbench {

void RepresentationMeter::add(const Probe& probe) {
  for (const std::vector<double>& state : probe.states) {
    if (state.empty()) continue;
    if (last_.size() == state.size()) {
      depths_.resize(static_cast<std::size_t>(probe.num_depths));
      const std::size_t width = state.size() / depths_.size();
      for (std::size_t d = 0; d < depths_.size(); ++d) {
        double difference = 0, product = 0, a_squares = 0, b_squares = 0;
        for (std::size_t i = d * width; i < (d + 1) * width; ++i) {
          const double a = last_[i], b = state[i];
          difference += (a - b) * (a - b);
          product += a * b;
          a_squares += a * a;
          b_squares += b * b;
        }
        depths_[d].distance.add(std::sqrt(difference / (a_squares + b_squares)));
        depths_[d].cosine.add(1 - product / std::sqrt(a_squares * b_squares));
      }
      ++pairs_;
    }
    last_ = state;
  }
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

}  // namespace lenbench
