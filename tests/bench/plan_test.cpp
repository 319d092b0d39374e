// Which Cells are asked, in which order, and why others are not.
#include "bench/plan.h"

#include <gmock/gmock.h>

#include "tasks/catalog.h"
#include "tests/bench/expect_error.h"
#include "tests/bench/fake_task.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PlanRequest request_of(std::vector<std::shared_ptr<const Task>> tasks, std::vector<std::int64_t> lengths) {
  PlanRequest request;
  request.tasks = std::move(tasks);
  request.lengths = std::move(lengths);
  request.samples = 5;
  return request;
}

std::vector<std::string> order_of(const RunPlan& plan) {
  std::vector<std::string> order;
  for (const Cell& cell : plan.cells) order.push_back(cell.task->info().name + ":" + std::to_string(cell.length));
  return order;
}

TEST(Plan, ShortCellsFirstAcrossTasksAndSeedsTogether) {
  FakeShape wide{.name = "wide", .answers = 50};
  PlanRequest request = request_of({fake_task(wide), fake_task()}, {128, 8, 64});
  request.data_seeds = {0, 7};
  const RunPlan plan = make_plan(request, {});
  // total_tokens: fake L + 3, wide L + 99.
  EXPECT_THAT(order_of(plan), ElementsAre("fake:8", "fake:8", "fake:64", "fake:64", "wide:8", "wide:8", "fake:128",
                                          "fake:128", "wide:64", "wide:64", "wide:128", "wide:128"));
  EXPECT_EQ(plan.cells[0].data_seed, 0U);
  EXPECT_EQ(plan.cells[1].data_seed, 7U);
  EXPECT_EQ(plan.cells[0].total_tokens, 11);
  EXPECT_EQ(plan.num_samples(), 60);
}

TEST(Plan, BudgetCountsAnswerTokensAndNamesTheNeed) {
  // As `copy` at 64: 131 tokens with the end of sequence, of which 130 are fed.
  FakeShape copy{.name = "copy", .answers = 66, .tokens_per_answer = 1, .end_token = true};
  PlanRequest request = request_of({fake_task(copy)}, {64});
  request.max_positions = 130;
  EXPECT_EQ(make_plan(request, {}).cells.size(), 1U);
  request.max_positions = 129;
  const RunPlan plan = make_plan(request, {});
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_TRUE(plan.cells.empty());
  EXPECT_EQ(plan.skipped[0].reason, "too long: a sample feeds 130 tokens, --max-positions allows 129");
}

TEST(Plan, SkipsWithReasons) {
  FakeShape shape{.min_length = 16, .max_length = 200};
  PredictorInfo model;
  model.max_positions = 100;
  const RunPlan plan = make_plan(request_of({fake_task(shape)}, {8, 64, 128}), model);
  EXPECT_THAT(order_of(plan), ElementsAre("fake:64"));
  ASSERT_EQ(plan.skipped.size(), 2U);
  EXPECT_EQ(plan.skipped[0].reason, "too short: fake needs a length of at least 16, not 8");
  EXPECT_EQ(plan.skipped[1].reason, "too long: a sample feeds 131 tokens, the model has 100 positions");

  const RunPlan bound = make_plan(request_of({fake_task(shape)}, {64, 256}), {});
  ASSERT_EQ(bound.skipped.size(), 1U);
  EXPECT_EQ(bound.skipped[0].reason, "fake: length 256 is above a bound");

  PredictorInfo small;
  small.vocab_size = 9;
  const RunPlan vocabulary = make_plan(request_of({fake_task()}, {64}), small);
  ASSERT_EQ(vocabulary.skipped.size(), 1U);
  EXPECT_EQ(vocabulary.skipped[0].reason, "vocabulary: fake has 10 tokens, the model knows 9");
}

// A vocabulary large enough is not enough: ids of numbers are no tokens. A model without a vocabulary may be asked
// anything.
TEST(Plan, SetsAndTokensAreNotMixed) {
  const std::shared_ptr<const Task> sets = make_task(parse_task_spec("max-retrieval"));
  PredictorInfo reads_tokens, reads_sets;
  reads_tokens.vocab_size = reads_sets.vocab_size = sets->info().vocab_size;
  reads_sets.input = TaskInput::kItems;
  const RunPlan numbers = make_plan(request_of({sets}, {16}), reads_tokens);
  ASSERT_EQ(numbers.skipped.size(), 1U);
  EXPECT_THAT(numbers.skipped[0].reason, HasSubstr("a set of numbers, and the model reads tokens"));
  const RunPlan tokens = make_plan(request_of({fake_task()}, {64}), reads_sets);
  ASSERT_EQ(tokens.skipped.size(), 1U);
  EXPECT_THAT(tokens.skipped[0].reason, HasSubstr("the model reads sets of numbers"));
  EXPECT_EQ(make_plan(request_of({sets}, {16}), reads_sets).cells.size(), 1U);
  EXPECT_EQ(make_plan(request_of({sets, fake_task()}, {16}), {}).cells.size(), 2U);
}

TEST(Plan, SampleCountsByLengthAndByWhatIsThere) {
  PlanRequest request = request_of({fake_task(FakeShape{.available = 7})}, {8, 16});
  request.samples = 1000;
  request.samples_at = {{16, 3}};
  const RunPlan plan = make_plan(request, {});
  EXPECT_EQ(plan.cells[0].samples, 7);
  EXPECT_EQ(plan.cells[0].samples_requested, 1000);
  EXPECT_EQ(plan.cells[1].samples, 3);
  EXPECT_EQ(plan.cells[1].samples_requested, 3);
}

TEST(Plan, RefusesNothingToDo) {
  EXPECT_THAT(error_of([] { make_plan(request_of({}, {8}), {}); }), HasSubstr("no task"));
  EXPECT_THAT(error_of([] { make_plan(request_of({fake_task()}, {}), {}); }), HasSubstr("no length"));
  PlanRequest request = request_of({fake_task()}, {8});
  request.samples = 0;
  EXPECT_EQ(error_of([&] { make_plan(request, {}); }), "samples at length 8 must be at least 1, not 0");
}

TEST(Plan, DigestIsOfTheSetOfCellsAndTheModel) {
  const PlanRequest request = request_of({fake_task()}, {8, 16});
  const std::string digest = plan_digest(make_plan(request, {}), {});
  EXPECT_EQ(digest, plan_digest(make_plan(request_of({fake_task()}, {16, 8}), {}), {}));
  EXPECT_NE(digest, plan_digest(make_plan(request_of({fake_task()}, {8}), {}), {}));
  PlanRequest other = request;
  other.samples = 6;
  EXPECT_NE(digest, plan_digest(make_plan(other, {}), {}));
  other = request;
  other.data_seeds = {1};
  EXPECT_NE(digest, plan_digest(make_plan(other, {}), {}));
  PredictorInfo model;
  model.checkpoint_sha256 = "ab";
  EXPECT_NE(digest, plan_digest(make_plan(request, model), model));
}

TEST(Plan, QuestionCarriesWhatIdentifiesTheCell) {
  PlanRequest request = request_of({fake_task(FakeShape{.metric = TaskMetric::kPerplexity})}, {8});
  request.documents_sha256 = "cd";
  request.split = Split::kValidation;
  const Question question = make_question(make_plan(request, {}).cells.at(0));
  EXPECT_EQ(question.task, "fake");
  EXPECT_EQ(question.metric, "perplexity");
  EXPECT_EQ(question.documents_sha256, "cd");
  EXPECT_EQ(question.split, "validation");
  EXPECT_EQ(question.parameters.at("answers"), "2");
  EXPECT_EQ(question.length, 8);
  // A generator's question does not depend on documents that happen to be given as well.
  request.tasks = {fake_task()};
  EXPECT_EQ(make_question(make_plan(request, {}).cells.at(0)).documents_sha256, "");
}

}  // namespace
}  // namespace lenbench
