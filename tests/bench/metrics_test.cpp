// Counting, checked by hand on samples of a few tokens.
#include "bench/metrics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/bench/fake_task.h"

namespace lenbench {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One sample with `targets` and their answer numbers; positions from `first` on.
Sample sample_of(std::vector<std::int32_t> targets, std::vector<std::int32_t> answers, std::int64_t first = 2) {
  Sample sample;
  sample.tokens.assign(static_cast<std::size_t>(first) + targets.size(), 7);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    sample.scored.push_back({first + static_cast<std::int64_t>(i), targets[i], answers[i], true});
  }
  return sample;
}

SamplePrediction said(std::vector<std::int32_t> tokens) {
  return {tokens, std::vector<double>(tokens.size(), 0.1), -1};
}

Sample text_of(std::size_t tokens, std::int64_t first = 0) {
  return sample_of(std::vector<std::int32_t>(tokens, 65), std::vector<std::int32_t>(tokens, -1), first);
}

SamplePrediction nats_of(std::vector<double> nats) { return {std::vector<std::int32_t>(nats.size(), 0), nats, -1}; }

const FakeTask kTask{FakeShape{}};
const FakeTask kText{FakeShape{.name = "text", .metric = TaskMetric::kPerplexity}};

TEST(Metrics, SamplesAnswersAndTokensAreCountedApart) {
  CellMeter meter(kTask);
  // Two answers of two tokens, then an end token that belongs to none.
  const Sample sample = sample_of({1, 2, 3, 4, 9}, {0, 0, 1, 1, -1});
  const std::vector<Sample> samples = {sample, sample, sample};
  const std::vector<SamplePrediction> predictions = {said({1, 2, 3, 4, 9}), said({1, 2, 3, 0, 9}),
                                                     said({1, 2, 3, 4, 0})};
  meter.add(samples, predictions);
  const CellResult result = meter.result();
  EXPECT_EQ(result.outcomes, "100");
  EXPECT_EQ(result.failure, "");
  const Measurement& m = result.measurement;
  EXPECT_EQ(m.exact->right, 1);
  EXPECT_EQ(m.exact->n, 3);
  EXPECT_EQ(m.answer->right, 5);
  EXPECT_EQ(m.answer->n, 6);
  EXPECT_EQ(m.token->right, 13);
  EXPECT_EQ(m.token->n, 15);
  EXPECT_DOUBLE_EQ(m.answer->value, 5.0 / 6.0);
  EXPECT_DOUBLE_EQ(*m.chance, 1.0 / 16.0);
  EXPECT_EQ(m.effective_tokens_min, 7);
  EXPECT_EQ(m.effective_tokens_max, 7);
  EXPECT_FALSE(m.perplexity.has_value());
}

TEST(Metrics, ExtraTokensBeforeTheEndCostTheExactMatchOnly) {
  CellMeter meter(kTask);
  const std::vector<Sample> samples = {sample_of({1, 2, 9}, {0, 0, -1})};
  meter.add(samples, std::vector<SamplePrediction>{said({1, 2, 5})});
  EXPECT_EQ(meter.result().measurement.exact->right, 0);
  EXPECT_EQ(meter.result().measurement.answer->right, 1);
}

TEST(Metrics, IntervalsAtTheBoundaryHaveWidth) {
  CellMeter meter(kTask);
  const std::vector<Sample> samples(25, sample_of({1}, {0}));
  meter.add(samples, std::vector<SamplePrediction>(25, said({2})));
  const Proportion exact = *meter.result().measurement.exact;
  EXPECT_EQ(exact.low, 0);
  EXPECT_NEAR(exact.high, 0.1332, 5e-5);  // Wilson 95 % for 0/25
}

TEST(Metrics, AnswersOfOneSampleAreNotIndependent) {
  // 20 samples of 5 answers, all right or all wrong together: 100 answers tell as much as 20 samples.
  CellMeter meter(kTask);
  const Sample sample = sample_of({1, 1, 1, 1, 1}, {0, 1, 2, 3, 4});
  for (int i = 0; i < 20; ++i) {
    const std::int32_t token = i < 10 ? 1 : 2;
    meter.add(std::span(&sample, 1), std::vector<SamplePrediction>{said({token, token, token, token, token})});
  }
  const Measurement m = meter.result().measurement;
  EXPECT_EQ(m.answer->n, 100);
  // Wilson for 10/20 is [0.2993, 0.7007]; for 50/100 it would be [0.4038, 0.5962]. The estimated design effect is
  // 5 * 20/19, slightly above the 5 of perfect correlation.
  EXPECT_NEAR(m.answer->low, 0.2993, 0.01);
  EXPECT_NEAR(m.answer->high, 0.7007, 0.01);
  EXPECT_NEAR(m.exact->low, 0.2993, 5e-5);
}

TEST(Metrics, BatchBoundariesChangeNothing) {
  // 7 samples, 4 + 3 against 7 at once: a mean of batch means would be (3/4 + 0/3)/2.
  std::vector<Sample> samples(7, sample_of({1, 2}, {0, 1}));
  std::vector<SamplePrediction> predictions(7, said({0, 0}));
  for (int i = 0; i < 3; ++i) predictions[static_cast<std::size_t>(i)] = said({1, 2});
  predictions[5] = said({1, 0});
  CellMeter whole(kTask), parts(kTask);
  whole.add(samples, predictions);
  parts.add(std::span(samples).first(4), std::span(predictions).first(4));
  parts.add(std::span(samples).last(3), std::span(predictions).last(3));
  const Measurement a = whole.result().measurement, b = parts.result().measurement;
  EXPECT_EQ(a.exact->right, 3);
  EXPECT_EQ(a.exact->n, 7);
  EXPECT_DOUBLE_EQ(b.exact->value, 3.0 / 7.0);
  EXPECT_DOUBLE_EQ(b.answer->value, 7.0 / 14.0);
  EXPECT_EQ(a.answer->low, b.answer->low);
  EXPECT_EQ(whole.result().outcomes, parts.result().outcomes);
}

TEST(Metrics, NonFiniteIsNeverRightEvenWhereArgmaxIsTheTarget) {
  CellMeter meter(kTask);
  const Sample sample = sample_of({0, 0}, {0, 1}, 49);
  SamplePrediction nan = said({0, 0});
  nan.nll = {0.1, kNaN};
  nan.first_nonfinite = 50;
  meter.add(std::vector<Sample>{sample, sample}, std::vector<SamplePrediction>{said({0, 0}), nan});
  const CellResult result = meter.result();
  EXPECT_EQ(result.outcomes, "1x");
  EXPECT_EQ(result.failure, "non-finite logits at position 50 of sample 1");
  EXPECT_EQ(result.measurement.nonfinite_samples, 1);
  EXPECT_EQ(result.measurement.exact->right, 1);
  EXPECT_EQ(result.measurement.exact->n, 2);
  EXPECT_EQ(result.measurement.answer->right, 2);
  EXPECT_EQ(result.measurement.answer->n, 4);
  EXPECT_EQ(result.measurement.token->right, 2);
}

TEST(Metrics, InfiniteNatsCountAsNonFiniteThoughTheModelDidNotSaySo) {
  CellMeter meter(kTask);
  SamplePrediction prediction = said({1});
  prediction.nll = {std::numeric_limits<double>::infinity()};
  meter.add(std::vector<Sample>{sample_of({1}, {0})}, std::vector<SamplePrediction>{prediction});
  EXPECT_EQ(meter.result().outcomes, "x");
}

TEST(Metrics, UniformModelHasThePerplexityOfItsVocabulary) {
  // A document of 10,000 tokens in windows of 4,096: the tail is kept, and above and below the fraction are the same
  // tokens.
  CellMeter meter(kText);
  for (const std::size_t tokens : {4096U, 4096U, 1808U}) {
    const Sample window = text_of(tokens);
    meter.add(std::span(&window, 1),
              std::vector<SamplePrediction>{nats_of(std::vector<double>(tokens, std::log(264.0)))});
  }
  const CellResult result = meter.result();
  const Measurement& m = result.measurement;
  EXPECT_EQ(m.nll_tokens, 10000);
  EXPECT_NEAR(*m.perplexity, 264.0, 1e-9);
  EXPECT_NEAR(*m.bits_per_byte, 8.0444, 5e-5);
  EXPECT_EQ(result.sample_tokens, (std::vector<std::int64_t>{4096, 4096, 1808}));
  EXPECT_EQ(result.outcomes, "");
  std::int64_t tokens = 0;
  double nats = 0;
  for (const NllBucket& bucket : m.nll_by_position) {
    tokens += bucket.tokens;
    nats += bucket.nats;
  }
  EXPECT_EQ(tokens, m.nll_tokens);
  EXPECT_NEAR(nats / static_cast<double>(tokens), *m.nll_nats / static_cast<double>(m.nll_tokens), 1e-12);
}

TEST(Metrics, BucketsArePowersOfTwoOfThePosition) {
  CellMeter meter(kText);
  meter.add(std::vector<Sample>{text_of(9)}, std::vector<SamplePrediction>{nats_of({1, 2, 3, 4, 5, 6, 7, 8, 9})});
  const std::vector<NllBucket> buckets = meter.result().measurement.nll_by_position;
  ASSERT_EQ(buckets.size(), 5U);
  const std::int64_t firsts[] = {0, 1, 2, 4, 8}, lasts[] = {0, 1, 3, 7, 15}, tokens[] = {1, 1, 2, 4, 1};
  const double nats[] = {1, 2, 7, 26, 9};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(buckets[i].first, firsts[i]);
    EXPECT_EQ(buckets[i].last, lasts[i]);
    EXPECT_EQ(buckets[i].tokens, tokens[i]);
    EXPECT_DOUBLE_EQ(buckets[i].nats, nats[i]);
  }
}

TEST(Metrics, PerplexityIntervalIsOfSamplesNotOfTokens) {
  CellMeter meter(kText);
  // Three windows of one token with 1, 2 and 3 nats: mean 2, standard error 1/sqrt(3), t(2) = 4.302653.
  for (const double nats : {1.0, 2.0, 3.0}) {
    meter.add(std::vector<Sample>{text_of(1)}, std::vector<SamplePrediction>{nats_of({nats})});
  }
  const Measurement m = meter.result().measurement;
  EXPECT_NEAR(*m.perplexity, std::exp(2.0), 1e-12);
  EXPECT_NEAR(std::log(*m.perplexity_high), 2 + 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(std::log(*m.perplexity_low), 2 - 4.302653 / std::sqrt(3.0), 1e-5);
}

TEST(Metrics, OneWindowHasAPerplexityAndNoInterval) {
  CellMeter meter(kText);
  meter.add(std::vector<Sample>{text_of(2)}, std::vector<SamplePrediction>{nats_of({1, 1})});
  EXPECT_TRUE(meter.result().measurement.perplexity.has_value());
  EXPECT_FALSE(meter.result().measurement.perplexity_low.has_value());
  EXPECT_FALSE(meter.result().measurement.perplexity_high.has_value());
}

TEST(Metrics, FiveMillionSmallTermsDoNotDrift) {
  CellMeter meter(kText);
  constexpr std::size_t kTokens = 50000;
  const Sample window = text_of(kTokens);
  const std::vector<SamplePrediction> prediction = {nats_of(std::vector<double>(kTokens, 0.0005F))};
  for (int i = 0; i < 100; ++i) meter.add(std::span(&window, 1), prediction);
  const Measurement m = meter.result().measurement;
  EXPECT_EQ(m.nll_tokens, 5000000);
  EXPECT_NEAR(*m.nll_nats / 5e6, 0.0005, 1e-9);
  EXPECT_NEAR(*m.perplexity, 1.000500, 5e-7);
}

TEST(Metrics, NothingToScoreIsAFailureNotAPerfectScore) {
  CellMeter text(kText);
  EXPECT_EQ(text.result().failure, "empty: no token to score");
  text.add(std::vector<Sample>{text_of(0)}, std::vector<SamplePrediction>{nats_of({})});
  EXPECT_EQ(text.result().failure, "empty: no token to score");
  EXPECT_FALSE(text.result().measurement.perplexity.has_value());
  EXPECT_FALSE(text.result().measurement.nll_nats.has_value());
}

TEST(Metrics, NonFiniteNatsLeaveNoPerplexity) {
  CellMeter meter(kText);
  meter.add(std::vector<Sample>{text_of(2), text_of(2)},
            std::vector<SamplePrediction>{nats_of({1, 1}), nats_of({1, kNaN})});
  const CellResult result = meter.result();
  EXPECT_EQ(result.failure, "non-finite logits at position 1 of sample 1");
  EXPECT_FALSE(result.measurement.perplexity.has_value());
  EXPECT_EQ(result.measurement.nll_tokens, 2);
  EXPECT_EQ(result.sample_tokens, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(result.sample_nats, (std::vector<double>{2, 0}));
}

TEST(Metrics, AMismatchIsOurMistake) {
  CellMeter meter(kTask);
  EXPECT_THROW(meter.add(std::vector<Sample>{sample_of({1}, {0})}, {}), std::logic_error);
  EXPECT_THROW(meter.add(std::vector<Sample>{sample_of({1}, {0})}, std::vector<SamplePrediction>{said({1, 2})}),
               std::logic_error);
}

TEST(Metrics, HeadMeansDivideByTheirOwnCounts) {
  Probe probe;
  probe.num_layers = 2;
  probe.num_heads = 2;
  probe.head_has_position = {true, false};
  probe.heads.resize(4);
  probe.heads[0] = {4, 2, 2.0, 1.0, 12, 0.5, 3.0, 2, 0.5};
  probe.heads[3] = {1, 0, 0.0, 0.0, 1, 1.0, 1.0, 0, 0.0};
  const std::vector<HeadMeans> means = head_means(probe, probe.heads);
  ASSERT_EQ(means.size(), 2U);
  EXPECT_EQ(means[0].layer, 0);
  EXPECT_TRUE(means[0].has_position);
  EXPECT_DOUBLE_EQ(means[0].entropy, 0.5);
  EXPECT_DOUBLE_EQ(*means[0].normalized_entropy, 0.5);
  EXPECT_DOUBLE_EQ(means[0].support, 3);
  EXPECT_DOUBLE_EQ(means[0].sink_mass, 0.125);
  EXPECT_DOUBLE_EQ(means[0].top_mass, 0.75);
  EXPECT_DOUBLE_EQ(*means[0].source_mass, 0.25);
  EXPECT_FALSE(means[1].source_mass.has_value());
  EXPECT_EQ(means[1].layer, 1);
  EXPECT_EQ(means[1].head, 1);
  EXPECT_FALSE(means[1].has_position);
  EXPECT_FALSE(means[1].normalized_entropy.has_value());
}

TEST(Metrics, FactsAreAveragedOverSamples) {
  CellMeter meter(kTask);
  Sample first = sample_of({1}, {0}), second = sample_of({1, 2}, {0, 0});
  first.facts = {{"distance", 10}};
  second.facts = {{"distance", 40}, {"pairs", 3}};
  meter.add(std::vector<Sample>{first, second}, std::vector<SamplePrediction>{said({1}), said({1, 2})});
  const auto facts = meter.result().measurement.facts;
  EXPECT_EQ(facts.at("distance"), (FactRange{25, 10, 40}));
  EXPECT_EQ(facts.at("pairs"), (FactRange{3, 3, 3}));
  EXPECT_EQ(facts.at("answer_tokens"), (FactRange{1.5, 1, 2}));
}

TEST(Metrics, SourcesBelongToTheTokensOfAnswersInOrder) {
  Sample sample;
  sample.tokens.assign(20, 1);
  // A separator, then two answers whose rows interleave.
  sample.scored = {{9, 5, -1, true}, {10, 6, 1, true}, {11, 7, 0, true}, {12, 8, 1, true}};
  sample.sources = {3, 4, 15};
  EXPECT_EQ(answer_sources(sample), (std::vector<std::int64_t>{-1, 4, 3, -1}));  // 15 lies ahead of its row
  sample.sources = {3, 4};
  EXPECT_EQ(answer_sources(sample), (std::vector<std::int64_t>{-1, -1, -1, -1}));
}

}  // namespace
}  // namespace lenbench
