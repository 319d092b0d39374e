// Records whose numbers contradict one another, each refused by the field that shows it.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "record/answer_outcomes.h"
#include "record/check.h"
#include "record/store.h"
#include "tests/base/expect_error.h"
#include "tests/record/sample_records.h"

namespace lenbench {
namespace {

std::string after(Record record, const std::function<void(Record&)>& change) {
  change(record);
  return contradiction(record);
}

TEST(Contradiction, NoneInTheSamples) {
  EXPECT_EQ(contradiction(recall_record()), "");
  EXPECT_EQ(contradiction(text_record()), "");
}

TEST(Contradiction, IsNamedByItsField) {
  const std::vector<std::pair<std::function<void(Record&)>, std::string>> changes = {
      {[](Record& r) { r.question.length = 0; }, "question.length is 0"},
      {[](Record& r) { r.setting.threads = -1; }, "setting.threads is -1"},
      {[](Record& r) { r.measurement.seconds = -0.5; }, "measurement.seconds is -0.5"},
      {[](Record& r) { r.measurement.peak_bytes = -1; }, "measurement.peak_bytes is -1"},
      {[](Record& r) { r.measurement.effective_tokens_min = 5000; }, "effective_tokens_min is above"},
      {[](Record& r) { r.samples_requested = 3; }, "measurement.samples is 4: more than samples_requested"},
      {[](Record& r) { r.measurement.nonfinite_samples = 0; }, "outcomes has 1 non-finite samples"},
      {[](Record& r) { r.measurement.nonfinite_samples = 5; }, "nonfinite_samples is above samples"},
      {[](Record& r) { r.outcomes = "11x1"; }, "outcomes has 3 samples right, measurement.exact 2"},
      {[](Record& r) { r.outcomes = "10x"; }, "outcomes has 3 characters for 4 samples"},
      {[](Record& r) {
         r.measurement.exact = Proportion{8, 4, 0.5, 0.2, 0.8};
       },
       "measurement.exact.n is 8"},
      {[](Record& r) { r.measurement.answer->right = 9; }, "measurement.answer: 9 right of 8 is impossible"},
      {[](Record& r) { r.measurement.token->value = 0.9; }, "measurement.token.value does not equal right / n"},
      {[](Record& r) { r.measurement.chance = 1.5; }, "measurement.chance is 1.5"},
      {[](Record& r) { r.status = "ok"; }, "status is \"ok\" and there is a reason"},
      {[](Record& r) { r.reason = ""; }, "status is \"failed\" and there is no reason"},
      {[](Record& r) { r.status = "skipped"; }, "status is \"skipped\" and samples were measured"},
      {[](Record& r) { r.measurement.probe_rows = ""; }, "measurement.heads without probe_rows"},
      {[](Record& r) { r.measurement.probe_rows = "some"; }, "measurement.probe_rows must be"},
      {[](Record& r) { r.measurement.heads[0].top_mass = 1.5; }, "measurement.heads[0].top_mass is 1.5"},
      {[](Record& r) { r.measurement.heads[1].rows = 0; }, "measurement.heads[1].rows is 0"},
      {[](Record& r) { r.measurement.heads[1].head = 2; }, "measurement.heads[1]: heads must ascend"},
      {[](Record& r) { r.measurement.heads_wrong[0].entropy = -1; }, "measurement.heads_wrong[0].entropy is -1"},
      {[](Record& r) {
         r.measurement.representations = {{1, 3, 0.5, 0.5}};
       },
       "depths must count from 0"},
      {[](Record& r) {
         r.measurement.heads_by_position = {{0, 0, {}}};
       },
       "probe_rows is not \"prefix\""},
      {[](Record& r) { r.measurement.facts["distance"].mean = 50; }, "measurement.facts.distance: the mean"},
      {[](Record& r) {
         r.sample_answers = {2, 2, 2};
       },
       "sample_answers has 3 entries for 4 samples"},
      {[](Record& r) { r.answer_outcomes = "f"; }, "answer_outcomes without sample_answers"},
      {[](Record& r) {
         r.sample_answers = {2, 2, 2, 2};
         r.answer_outcomes = "ff";
       },
       "answer_outcomes counts 8 right of 8 answers, measurement.answer 6 of 8"},
      {[](Record& r) {
         r.sample_answers = {2, 2, 2, 2};
         r.answer_outcomes = "fcc";
       },
       "answer_outcomes has 3 digits for 8 answers"},
      {[](Record& r) {
         r.sample_answers = {2, 2, 2, 2};
         r.answer_outcomes = "fC";
       },
       "answer_outcomes may hold only the digits"},
      {[](Record& r) {
         r.sample_answers = {9'000'000'000'000'000'000, 9'000'000'000'000'000'000, 2, 2};
         r.answer_outcomes = "fc";
       },
       "which answer_outcomes lacks"},
  };
  for (const auto& [change, expected] : changes) {
    EXPECT_NE(after(recall_record(), change).find(expected), std::string::npos)
        << expected << " / " << after(recall_record(), change);
  }
}

TEST(Contradiction, OfPerplexity) {
  const std::vector<std::pair<std::function<void(Record&)>, std::string>> changes = {
      {[](Record& r) { r.measurement.perplexity = 2; }, "perplexity lies outside its interval"},
      {[](Record& r) { r.measurement.nll_nats = 1.5; }, "perplexity is not exp(nll_nats / nll_tokens)"},
      {[](Record& r) { r.measurement.perplexity = -1; }, "measurement.perplexity is -1"},
      {[](Record& r) { r.sample_tokens[0] = 11; }, "sample_tokens add up to 61, measurement.nll_tokens is 60"},
      {[](Record& r) { r.sample_tokens[0] = -1; }, "sample_tokens has a negative number"},
      {[](Record& r) { r.sample_nats.pop_back(); }, "sample_nats and sample_tokens differ in length"},
      {[](Record& r) {
         r.sample_nats.pop_back();
         r.sample_tokens.pop_back();
       },
       "sample_tokens has 2 entries for 3 samples"},
      {[](Record& r) { r.measurement.nll_by_position[0].last = -1; }, "nll_by_position has a range"},
  };
  for (const auto& [change, expected] : changes) {
    EXPECT_NE(after(text_record(), change).find(expected), std::string::npos)
        << expected << " / " << after(text_record(), change);
  }
}

TEST(Contradiction, IsRefusedByTheReaderInOneLineWithItsPlace) {
  Record record = recall_record();
  record.measurement.seconds = -1;
  EXPECT_EQ(error_of([&] { record_from_json_line(to_json_line(record), "r.jsonl:7"); }),
            "r.jsonl:7: measurement.seconds is -1: it cannot be negative");
}

TEST(AnswerOutcomes, AreHexadecimalFourADigitAndComeBack) {
  EXPECT_EQ(pack_answers({}), "");
  EXPECT_EQ(pack_answers({true}), "8");
  EXPECT_EQ(pack_answers({true, false, true, true, false, true}), "b4");
  Record record = recall_record();
  record.sample_answers = {1, 3, 0, 4};
  record.answer_outcomes = pack_answers({true, false, true, true, false, true, true, true});  // 1 | 011 | | 0111
  EXPECT_EQ(answer_outcomes_problem(record), "");
  EXPECT_EQ(right_answers(record), (std::vector<std::int64_t>{1, 2, 0, 3}));
  const Record back = record_from_json_line(to_json_line(record), "t");
  EXPECT_EQ(back, record);
}

TEST(AnswerOutcomes, AreThoseOfTheSamplesWhereEachIsOneAnswer) {
  Record record = recall_record();
  EXPECT_FALSE(knows_answers(record));
  EXPECT_TRUE(right_answers(record).empty());
  record.measurement.answer = record.measurement.exact;
  EXPECT_TRUE(knows_answers(record));
  EXPECT_EQ(right_answers(record), (std::vector<std::int64_t>{1, 0, 0, 1}));
}

TEST(AnswerOutcomes, AreNotWrittenWhereThereAreNone) {
  const std::string line = to_json_line(recall_record());
  for (const char* key : {"sample_answers", "answer_outcomes", "heads_by_position", "representations", "\"scale\""}) {
    EXPECT_EQ(line.find(key), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace lenbench
