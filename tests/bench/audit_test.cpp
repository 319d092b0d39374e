// Two ways of asking the same samples, compared.
#include "bench/audit.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace lenbench {
namespace {

Sample sample_of(std::int64_t tokens) {
  Sample sample;
  sample.tokens.assign(static_cast<std::size_t>(tokens), 1);
  sample.scored = {{tokens - 2, 5, 0, true}, {tokens - 1, 6, 1, false}};
  return sample;
}

TEST(Audit, CountsRowsOutcomesAndTheWorstDifference) {
  const std::vector<Sample> samples = {sample_of(10), sample_of(12), sample_of(14)};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<SamplePrediction> a = {
      {{5, 6}, {0.1, 0.2}, -1}, {{5, 7}, {0.1, 2.0}, -1}, {{5, 6}, {0.1, 0.1}, -1}};
  const std::vector<SamplePrediction> b = {
      {{5, 6}, {0.1, 0.25}, -1}, {{5, 6}, {0.4, 2.0}, -1}, {{5, -1}, {0.1, nan}, 13}};
  const Agreement found = compare_predictions(samples, a, b);
  EXPECT_EQ(found.rows, 5);
  EXPECT_EQ(found.same_argmax, 4);
  EXPECT_EQ(found.samples, 3);
  EXPECT_EQ(found.same_outcome, 1);
  EXPECT_EQ(found.nonfinite_rows, 1);
  EXPECT_NEAR(found.largest_nats, 0.3, 1e-12);
  EXPECT_EQ(found.worst_sample, 1);
  EXPECT_EQ(found.worst_position, 10);
  EXPECT_THROW(compare_predictions(samples, a, std::span(b).first(2)), std::logic_error);
}

// Answers with the number of samples of the call, so that the way of asking shows.
class CountsItsBatch : public Predictor {
 public:
  const PredictorInfo& info() const override { return info_; }
  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest&, Probe*) override {
    const auto size = static_cast<std::int32_t>(samples.size());
    return std::vector<SamplePrediction>(samples.size(), {{size, size}, {0, 0}, -1});
  }

 private:
  PredictorInfo info_;
};

TEST(Audit, AsksInBatchesAndBesideACompanion) {
  const std::vector<Sample> samples(5, sample_of(8));
  CountsItsBatch predictor;
  std::vector<std::int32_t> sizes;
  for (const SamplePrediction& said : predict_in_batches(predictor, samples, 2)) sizes.push_back(said.argmax[0]);
  EXPECT_EQ(sizes, (std::vector<std::int32_t>{2, 2, 2, 2, 1}));
  const auto beside = predict_beside(predictor, samples, sample_of(99));
  ASSERT_EQ(beside.size(), 5U);
  for (const SamplePrediction& said : beside) EXPECT_EQ(said.argmax[0], 2);
}

}  // namespace
}  // namespace lenbench
