// What probes add to Records: prefix rows, distances of representations, scales; and outcomes of single answers.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/metrics.h"
#include "bench/representations.h"
#include "record/answer_outcomes.h"
#include "record/check.h"
#include "tests/bench/expect_error.h"
#include "tests/bench/run_helpers.h"
#include "tests/bench/scripted_model.h"

namespace lenbench {
namespace {

using States = std::vector<std::vector<double>>;

Probe probe_of(States states) {
  Probe probe;
  probe.num_depths = 2;
  probe.states = std::move(states);
  return probe;
}

// Two depths of width 2.
const States kStates = {{1, 0, 3, 4}, {0, 1, 3, 4}, {0, -1, -3, -4}};

TEST(Representations, DistancesOfNeighboursByDepth) {
  RepresentationMeter meter;
  meter.add(probe_of(kStates));
  const std::vector<RepresentationDistance> means = meter.result();
  ASSERT_EQ(means.size(), 2U);
  EXPECT_EQ(means[1].depth, 1);
  EXPECT_EQ(means[0].pairs, 2);
  // Depth 0: orthogonal, then opposite. Depth 1: equal, then opposite.
  EXPECT_NEAR(*means[0].distance, (1 + std::sqrt(2.0)) / 2, 1e-12);
  EXPECT_NEAR(*means[0].cosine_distance, (1.0 + 2.0) / 2, 1e-12);
  EXPECT_NEAR(*means[1].distance, (0 + std::sqrt(2.0)) / 2, 1e-12);
  EXPECT_NEAR(*means[1].cosine_distance, (0.0 + 2.0) / 2, 1e-12);
}

TEST(Representations, BatchesChangeNothingAndSamplesWithoutAnswerAreSkipped) {
  RepresentationMeter whole, parts;
  whole.add(probe_of(kStates));
  parts.add(probe_of({kStates[0], {}}));
  parts.add(probe_of({kStates[1]}));
  parts.add(probe_of({kStates[2]}));
  EXPECT_EQ(parts.result(), whole.result());
}

TEST(Representations, OneSampleHasNoPairAndWhatIsNotFiniteIsUndefined) {
  RepresentationMeter meter;
  meter.add(probe_of({kStates[0]}));
  EXPECT_TRUE(meter.result().empty());
  meter.add(probe_of({{0, 0, 3, std::nan("")}}));
  EXPECT_TRUE(meter.result()[0].distance);  // a zero state has a distance, and no direction
  EXPECT_FALSE(meter.result()[0].cosine_distance);
  EXPECT_FALSE(meter.result()[1].distance);
}

// Rows by position as a model would report them: the statistics of a row are those of its position.
class PrefixModel : public ScriptedModel {
 public:
  std::vector<ProbeRows> asked;
  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                        Probe* probe) override {
    asked.push_back(request.probe);
    std::vector<SamplePrediction> predictions = ScriptedModel::predict(samples, request, nullptr);
    if (probe == nullptr) return predictions;
    probe->rows = request.probe;
    probe->num_layers = probe->num_heads = 1;
    probe->head_has_position = {false};
    probe->head_alpha = {1.5};
    probe->heads.resize(1);
    for (const Sample& sample : samples) {
      for (std::int64_t t = 0; t < std::ssize(sample.tokens); ++t) {
        const std::size_t bucket = position_bucket(t);
        if (probe->by_position.size() <= bucket) probe->by_position.resize(bucket + 1, std::vector<HeadStats>(1));
        HeadStats row;
        row.rows = 1;
        row.entropy = static_cast<double>(t);
        row.support = 1;
        row.scaled_rows = 1;
        row.scale = 2;
        probe->by_position[bucket][0].add(row);
        probe->heads[0].add(row);
      }
    }
    return predictions;
  }
};

TEST(PrefixRows, AreMeasuredAtTheLongestLengthAloneAndByPosition) {
  PrefixModel model;
  RunOptions options = run_options();
  options.probe = ProbeRows::kPrefix;
  options.batch = 2;
  const Ran ran = run_plan(model, plan_of({8, 16}, 3), options);
  ASSERT_EQ(ran.records.size(), 2U);
  EXPECT_EQ(model.asked,
            (std::vector<ProbeRows>{ProbeRows::kNone, ProbeRows::kNone, ProbeRows::kPrefix, ProbeRows::kPrefix}));
  EXPECT_EQ(ran.records[0].measurement.probe_rows, "");
  const Measurement& m = ran.records[1].measurement;
  EXPECT_EQ(m.probe_rows, "prefix");
  EXPECT_TRUE(m.heads.empty());
  ASSERT_EQ(m.heads_by_position.size(), 6U);  // 19 tokens: up to [16, 31]
  EXPECT_EQ(m.heads_by_position[3].first, 4);
  EXPECT_EQ(m.heads_by_position[3].last, 7);
  EXPECT_EQ(m.heads_by_position[3].heads[0].rows, 3 * 4);
  EXPECT_DOUBLE_EQ(m.heads_by_position[3].heads[0].entropy, (4 + 5 + 6 + 7) / 4.0);
  EXPECT_EQ(m.heads_by_position[5].heads[0].rows, 3 * 3);
  EXPECT_EQ(m.heads_by_position[3].heads[0].alpha, 1.5);
  EXPECT_EQ(m.heads_by_position[3].heads[0].scale, 2);
  EXPECT_EQ(contradiction(ran.records[1]), "");
}

TEST(PrefixRows, AreRefusedWhereARowDependsOnTheLength) {
  PrefixModel model;
  model.info_.rows_depend_on_length = true;
  RunOptions options = run_options();
  options.probe = ProbeRows::kPrefix;
  EXPECT_NE(error_of([&] { Runner(model, options); }).find("changes with the length of the whole text"),
            std::string::npos);
}

TEST(PositionBuckets, ArePowersOfTwo) {
  for (std::int64_t position = 0; position < 300; ++position) {
    const std::size_t bucket = position_bucket(position);
    EXPECT_LE(bucket_first(bucket), position);
    EXPECT_GE(bucket_last(bucket), position);
    EXPECT_EQ(bucket_first(bucket + 1), bucket_last(bucket) + 1);
  }
}

CellResult judged(const FakeShape& shape, const std::vector<std::vector<bool>>& right) {
  const auto task = fake_task(shape);
  CellMeter meter(*task);
  for (std::size_t s = 0; s < right.size(); ++s) {
    const Sample sample = task->draw({8, s, 0, Split::kTest});
    SamplePrediction prediction;
    for (std::size_t i = 0; i < sample.scored.size(); ++i) {
      prediction.argmax.push_back(right[s][i] ? sample.scored[i].target : 0);
    }
    prediction.nll.assign(sample.scored.size(), 0.0);
    meter.add(std::span(&sample, 1), std::span(&prediction, 1));
  }
  return meter.result();
}

TEST(AnswerOutcomes, OfSeveralAnswersASampleAreKept) {
  FakeShape shape;
  shape.answers = 3;
  shape.tokens_per_answer = 1;
  Record record;
  record.question.length = 8;
  take_result(judged(shape, {{true, false, true}, {true, true, true}, {false, false, false}}), record);
  record.samples_requested = 3;
  EXPECT_EQ(record.sample_answers, (std::vector<std::int64_t>{3, 3, 3}));
  EXPECT_EQ(record.answer_outcomes, "bc0");  // 101 111 000
  EXPECT_EQ(right_answers(record), (std::vector<std::int64_t>{2, 3, 0}));
  EXPECT_EQ(contradiction(record), "");
}

TEST(AnswerOutcomes, AreLeftOutWhereTheSamplesSayThem) {
  FakeShape shape;
  shape.answers = 1;
  shape.tokens_per_answer = 2;
  const CellResult one = judged(shape, {{true, true}, {true, false}});
  EXPECT_TRUE(one.sample_answers.empty());
  EXPECT_EQ(one.answer_outcomes, "");
  // An end token that is wrong makes the sample wrong, and its answer stays right.
  shape.end_token = true;
  const CellResult ended = judged(shape, {{true, true, true}, {true, true, false}});
  EXPECT_EQ(ended.sample_answers, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(ended.answer_outcomes, "c");
}

}  // namespace
}  // namespace lenbench
