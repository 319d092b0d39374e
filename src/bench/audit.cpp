// Compares predictions of the same samples.
#include "bench/audit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lenbench {

Agreement compare_predictions(std::span<const Sample> samples, std::span<const SamplePrediction> a,
                              std::span<const SamplePrediction> b) {
  if (a.size() != samples.size() || b.size() != samples.size()) {
    throw std::logic_error("compare_predictions: predictions do not match the samples in number");
  }
  Agreement agreement;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const std::vector<ScoredToken>& scored = samples[s].scored;
    if (a[s].argmax.size() != scored.size() || b[s].argmax.size() != scored.size() ||
        a[s].nll.size() != scored.size() || b[s].nll.size() != scored.size()) {
      throw std::logic_error("compare_predictions: a prediction does not match its sample's judged rows");
    }
    bool a_right = a[s].first_nonfinite < 0, b_right = b[s].first_nonfinite < 0;
    for (std::size_t i = 0; i < scored.size(); ++i) {
      a_right = a_right && a[s].argmax[i] == scored[i].target;
      b_right = b_right && b[s].argmax[i] == scored[i].target;
      const double difference = std::abs(a[s].nll[i] - b[s].nll[i]);
      if (!std::isfinite(difference)) {
        ++agreement.nonfinite_rows;
        continue;
      }
      ++agreement.rows;
      agreement.same_argmax += a[s].argmax[i] == b[s].argmax[i] ? 1 : 0;
      if (agreement.worst_sample < 0 || difference > agreement.largest_nats) {
        agreement.largest_nats = difference;
        agreement.worst_sample = static_cast<std::int64_t>(s);
        agreement.worst_position = scored[i].position;
      }
    }
    ++agreement.samples;
    agreement.same_outcome += a_right == b_right ? 1 : 0;
  }
  return agreement;
}

std::vector<SamplePrediction> predict_in_batches(Predictor& predictor, std::span<const Sample> samples,
                                                 std::int64_t batch) {
  std::vector<SamplePrediction> all;
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, batch));
  for (std::size_t first = 0; first < samples.size(); first += step) {
    std::vector<SamplePrediction> part =
        predictor.predict(samples.subspan(first, std::min(step, samples.size() - first)), {}, nullptr);
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<SamplePrediction> predict_beside(Predictor& predictor, std::span<const Sample> samples,
                                             const Sample& companion) {
  std::vector<SamplePrediction> all;
  for (const Sample& sample : samples) {
    const std::vector<Sample> pair = {sample, companion};
    all.push_back(std::move(predictor.predict(pair, {}, nullptr).at(0)));
  }
  return all;
}

}  // namespace lenbench
