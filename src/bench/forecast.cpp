// How large a batch may be, and how long the rest will take.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "bench/runner.h"

namespace lenbench {

namespace {

constexpr std::int64_t kMaxBatch = 64;
constexpr std::int64_t kDefaultBatchBytes = std::int64_t{1} << 30;
constexpr std::int64_t kDefaultBatchTokens = 16384;

}  // namespace

std::int64_t choose_batch(const std::function<std::int64_t(std::int64_t)>& predicted_bytes, std::int64_t tokens,
                          std::int64_t memory_bytes) {
  const std::int64_t budget = memory_bytes > 0 ? memory_bytes : kDefaultBatchBytes;
  for (std::int64_t batch = kMaxBatch; batch > 1; batch /= 2) {
    const std::int64_t bytes = predicted_bytes(batch);
    if (bytes > 0 ? bytes <= budget : batch * tokens <= kDefaultBatchTokens) return batch;
  }
  return 1;
}

std::int64_t choose_batch(const Predictor& predictor, std::int64_t tokens, std::int64_t scored,
                          std::int64_t memory_bytes) {
  return choose_batch([&](std::int64_t batch) { return predictor.predicted_bytes(batch, tokens, scored); }, tokens,
                      memory_bytes);
}

void TimeForecast::observe(std::int64_t tokens, std::int64_t samples, double seconds) {
  if (tokens < 1 || samples < 1) return;
  const auto place = std::lower_bound(seen_.begin(), seen_.end(), tokens,
                                      [](const Observed& seen, std::int64_t value) { return seen.tokens < value; });
  if (place != seen_.end() && place->tokens == tokens) {
    place->samples += samples;
    place->seconds += seconds;
  } else {
    seen_.insert(place, {tokens, samples, seconds});
  }
}

double TimeForecast::predict(std::int64_t tokens, std::int64_t samples) const {
  if (seen_.empty()) return -1;
  double exponent = 1;
  if (seen_.size() >= 2) {
    const Observed& longest = seen_.back();
    const Observed& next = seen_[seen_.size() - 2];
    const double growth = std::log(longest.per_sample() / next.per_sample());
    const double slope = growth / std::log(static_cast<double>(longest.tokens) / static_cast<double>(next.tokens));
    if (std::isfinite(slope)) exponent = std::clamp(slope, 1.0, 2.0);
  }
  const Observed* nearest = &seen_.front();
  for (const Observed& seen : seen_) {
    if (seen.tokens <= tokens) nearest = &seen;
  }
  const double ratio = static_cast<double>(tokens) / static_cast<double>(nearest->tokens);
  return static_cast<double>(samples) * nearest->per_sample() * std::pow(ratio, exponent);
}

}  // namespace lenbench
