// Parts of a plan, however it is cut, give the Records of one process.
#include "bench/merge.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "bench/doubles.h"
#include "bench/items.h"
#include "record/store.h"
#include "tests/bench/expect_error.h"
#include "tests/bench/run_helpers.h"
#include "tests/record/same_records.h"

namespace lenbench {
namespace {

// Answers wrongly, with nats, attention statistics and states that differ from sample to sample, as a pure function of
// the tokens; every fifth sample is not finite where `nonfinite`.
class VariedModel : public Predictor {
 public:
  VariedModel() {
    info_.name = "varied";
    info_.attention_path = "reference";
  }
  PredictorInfo info_;
  bool nonfinite = false;
  std::int64_t fail_at_length = 0;

  const PredictorInfo& info() const override { return info_; }

  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                        Probe* probe) override {
    std::vector<SamplePrediction> predictions;
    for (const Sample& sample : samples) {
      if (fail_at_length > 0 && std::ssize(sample.tokens) >= fail_at_length) throw Error("the model broke");
      Rng rng(7, static_cast<std::uint64_t>(
                     std::accumulate(sample.tokens.begin(), sample.tokens.end(), std::int64_t{0},
                                     [](std::int64_t sum, std::int32_t token) { return 31 * sum % 65537 + token; })));
      SamplePrediction prediction;
      for (const ScoredToken& scored : sample.scored) {
        prediction.argmax.push_back(rng.below(4) == 0 ? 0 : scored.target);
        prediction.nll.push_back(0.001 * static_cast<double>(1 + rng.below(5000)));
      }
      if (nonfinite && rng.below(5) == 0) {
        prediction.first_nonfinite = sample.scored.front().position;
        prediction.nll.front() = std::nan("");
      }
      if (probe != nullptr) add(*probe, request.probe, rng);
      predictions.push_back(prediction);
    }
    return predictions;
  }

 private:
  static void add(Probe& probe, ProbeRows rows, Rng& rng) {
    probe.rows = rows;
    probe.num_layers = 2;
    probe.num_heads = 2;
    probe.head_has_position = {true, false};
    probe.head_alpha = {1, 1.5, 1, 1.5};
    const auto some = [&](std::vector<HeadStats>& heads, std::int64_t n) {
      heads.resize(4);
      for (HeadStats& head : heads) {
        const auto r = static_cast<double>(n);
        const double u = 0.001 * static_cast<double>(rng.below(1000));
        const auto seen = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(n) + 1));
        head.add({n, n - 1, u * r, 0.5 * u * static_cast<double>(n - 1), 3 * r, u * r, u * r, seen,
                  u * static_cast<double>(seen), n, (1 + u) * r});
      }
    };
    const auto n = static_cast<std::int64_t>(1 + rng.below(5));
    some(probe.heads, n);
    if (rows == ProbeRows::kPrefix) {
      probe.by_position.resize(4);
      some(probe.by_position[rng.below(4)], n);
      return;
    }
    some(rng.below(2) == 0 ? probe.heads_right : probe.heads_wrong, n);
    probe.num_depths = 2;
    std::vector<double> state;
    for (int i = 0; i < 6; ++i) state.push_back(static_cast<double>(rng.below(2000)) / 1000 - 1);
    probe.states.push_back(state);
  }
};

std::vector<SourcedRecord> parts_of(Predictor& model, const RunPlan& plan, std::int64_t shards,
                                    const RunOptions& options) {
  const ItemPlan items = make_items(plan, model, options);
  std::vector<SourcedRecord> parts;
  for (std::int64_t shard = 1; shard <= shards; ++shard) {
    Runner runner(model, options);
    runner.run_items(plan, items, items_of_shard(items.items, plan, shard, shards), [&](const Record& record) {
      const Record back = record_from_json_line(to_json_line(record), "part");
      EXPECT_EQ(to_json_line(back), to_json_line(record));
      parts.push_back({back, "part" + std::to_string(shard)});
    });
  }
  return parts;
}

std::vector<std::string> lines_of(const std::vector<Record>& records) {
  std::vector<std::string> lines;
  for (const Record& record : records) lines.push_back(to_json_line(record));
  return lines;
}

struct Case {
  const char* name;
  FakeShape shape;
  ProbeRows probe = ProbeRows::kNone;
  bool nonfinite = false;
  std::int64_t fail_at_length = 0;
};

const Case kCases[] = {
    {"exact", {}},
    {"one answer of one token", {.answers = 1, .tokens_per_answer = 1}},
    {"an end token", {.answers = 3, .tokens_per_answer = 1, .end_token = true}},
    {"no answer", {.answers = 0, .tokens_per_answer = 1, .end_token = true}},
    {"perplexity", {.metric = TaskMetric::kPerplexity}},
    {"answer rows", {}, ProbeRows::kAnswer},
    {"prefix rows", {}, ProbeRows::kPrefix},
    {"not finite", {}, ProbeRows::kAnswer, true},
    {"perplexity not finite", {.metric = TaskMetric::kPerplexity}, ProbeRows::kNone, true},
    {"a failure", {}, ProbeRows::kNone, false, 300},
};

TEST(Merge, GivesTheRecordsOfOneProcessHoweverManyShardsThereAre) {
  for (const Case& each : kCases) {
    VariedModel model;
    model.nonfinite = each.nonfinite;
    model.fail_at_length = each.fail_at_length;
    model.info_.max_positions = 2000;
    RunOptions options = run_options();
    options.probe = each.probe;
    options.batch = 3;
    const RunPlan plan = plan_of({8, 1000, 300, 5000}, 70, model.info_, each.shape);
    const std::vector<std::string> whole = lines_of(run_plan(model, plan, options).records);
    ASSERT_EQ(whole.size(), 4U);
    std::vector<std::string> first;
    for (const std::int64_t shards : {1, 2, 3, 7, 40}) {
      const std::vector<SourcedRecord> parts = parts_of(model, plan, shards, options);
      EXPECT_GT(parts.size(), 8U);
      const std::vector<std::string> merged = lines_of(merge_records(parts));
      EXPECT_TRUE(same_records(whole, merged, 1e-12)) << each.name << ", " << shards << " shards";
      if (first.empty()) first = merged;
      EXPECT_TRUE(same_records(first, merged, 0)) << "the number of shards changes a bit";
    }
  }
}

TEST(Merge, EveryShardHasItsShareAndEveryItemIsInOne) {
  VariedModel model;
  const RunPlan plan = plan_of({64, 4000, 16000}, 100, model.info_);
  const ItemPlan items = make_items(plan, model, run_options());
  std::vector<int> taken(items.items.size());
  std::vector<double> tokens;
  for (std::int64_t shard = 1; shard <= 4; ++shard) {
    double sum = 0;
    for (const std::size_t i : items_of_shard(items.items, plan, shard, 4)) {
      ++taken[i];
      sum += static_cast<double>(items.items[i].samples * cell_of(items.items[i], plan).total_tokens);
    }
    tokens.push_back(sum);
  }
  EXPECT_EQ(taken, std::vector<int>(items.items.size(), 1));
  // Nobody has more than another by more than one item.
  EXPECT_LE(*std::max_element(tokens.begin(), tokens.end()) - *std::min_element(tokens.begin(), tokens.end()), 16384);
  EXPECT_LE(items.items.back().samples * 16000, 16384);
}

TEST(Merge, RefusesWhatDoesNotBelongTogether) {
  VariedModel model;
  RunOptions options = run_options();
  options.batch = 2;
  const RunPlan plan = plan_of({1000, 3000}, 20, model.info_);
  const std::vector<SourcedRecord> parts = parts_of(model, plan, 3, options);
  const auto refusal = [](const std::vector<SourcedRecord>& records) {
    return error_of([&] { merge_records(records); });
  };
  const auto changed = [&](const std::function<void(Record&)>& change) {
    std::vector<SourcedRecord> records = parts;
    change(records.back().record);
    return refusal(records);
  };

  std::vector<SourcedRecord> twice = parts;
  twice.push_back({parts.front().record, "again"});
  EXPECT_THAT(refusal(twice), ::testing::HasSubstr("'part1' and 'again' both hold sample"));

  std::vector<SourcedRecord> missing(parts.begin(), parts.end() - 2);
  EXPECT_THAT(refusal(missing), ::testing::AllOf(::testing::HasSubstr("items "), ::testing::HasSubstr("'part1'"),
                                                 ::testing::HasSubstr("'part2'")));

  const auto both = ::testing::AllOf(::testing::HasSubstr("'part1'"), ::testing::HasSubstr("'part3'"));
  EXPECT_THAT(changed([](Record& r) { r.subject.checkpoint_sha256 = "abc"; }),
              ::testing::AllOf(both, ::testing::HasSubstr("checkpoint hash")));
  EXPECT_THAT(changed([](Record& r) { r.setting.commit = "f00"; }),
              ::testing::AllOf(both, ::testing::HasSubstr("commit is '' and 'f00'")));
  EXPECT_THAT(changed([](Record& r) { r.part->plan_sha256 = "0"; }),
              ::testing::AllOf(both, ::testing::HasSubstr("different plans")));
  EXPECT_THAT(changed([](Record& r) { ++r.part->first; }), ::testing::HasSubstr("do not follow"));

  // Whole Records pass, but no Cell twice.
  std::vector<SourcedRecord> more = parts;
  for (const Record& record : run_plan(model, plan_of({8}, 5, model.info_)).records) more.push_back({record, "whole"});
  EXPECT_EQ(merge_records(more).size(), 3U);
  for (const Record& record : run_plan(model, plan, options).records) more.push_back({record, "whole"});
  EXPECT_THAT(refusal(more), ::testing::HasSubstr("'part1' and 'whole' both hold fake at 1000"));
}

}  // namespace
}  // namespace lenbench
