// Tests of record/record.h.
#include "record/record.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/record/sample_records.h"

namespace lenbench {
namespace {

Record changed(const std::function<void(Record&)>& change) {
  Record record = recall_record();
  change(record);
  return record;
}

const std::vector<std::function<void(Record&)>> kQuestionChanges = {
    [](Record& r) { r.question.task = "mqar"; },         [](Record& r) { r.question.task_version = 3; },
    [](Record& r) { r.question.parameters.clear(); },    [](Record& r) { r.question.parameters["keys"] = "8"; },
    [](Record& r) { r.question.length = 8192; },         [](Record& r) { r.question.data_seed = 1; },
    [](Record& r) { r.question.split = "test"; },        [](Record& r) { r.question.metric = "perplexity"; },
    [](Record& r) { r.question.documents_sha256 = ""; },
};

const std::vector<std::function<void(Record&)>> kSubjectChanges = {
    [](Record& r) { r.subject.name = "other"; },        [](Record& r) { r.subject.checkpoint_sha256 = "abce"; },
    [](Record& r) { r.subject.transform = "softmax"; }, [](Record& r) { r.subject.positions = "rope"; },
    [](Record& r) { r.subject.dtype = "float64"; },     [](Record& r) { r.subject.device = "cuda"; },
    [](Record& r) { r.subject.num_parameters = 1; },    [](Record& r) { r.subject.train_length = 128; },
    [](Record& r) { r.samples_requested = 6; },
};

TEST(QuestionKey, ChangesWithTheQuestionOnly) {
  const std::string key = recall_record().question_key();
  for (const auto& change : kQuestionChanges) EXPECT_NE(changed(change).question_key(), key);
  for (const auto& change : kSubjectChanges) EXPECT_EQ(changed(change).question_key(), key);
  EXPECT_EQ(changed([](Record& r) { r.question.comparability = "exact: reworded"; }).question_key(), key);
  EXPECT_EQ(key.find('\n'), std::string::npos);
}

TEST(ResumeKey, ChangesWithQuestionSubjectAndSampleCountOnly) {
  const std::string key = recall_record().resume_key();
  for (const auto& change : kQuestionChanges) EXPECT_NE(changed(change).resume_key(), key);
  for (const auto& change : kSubjectChanges) EXPECT_NE(changed(change).resume_key(), key);
  EXPECT_EQ(changed([](Record& r) {
              r.setting = {};
              r.measurement = {};
              r.outcomes = "";
              r.status = "ok";
              r.reason = "";
            }).resume_key(),
            key);
}

TEST(QuestionKey, CannotBeForgedByTextThatLooksLikeAnotherField) {
  Record one = recall_record(), other = recall_record();
  one.question.task = "a\",\"task_version\":1";
  other.question.task = "a";
  EXPECT_NE(one.question_key(), other.question_key());
}

}  // namespace
}  // namespace lenbench
