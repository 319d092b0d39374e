// Every task of the catalogue, end to end: the oracle is right, an echo is worth nothing, a blind guesser is at chance.
#include <gmock/gmock.h>

#include <boost/math/distributions/binomial.hpp>
#include <memory>

#include "bench/doubles.h"
#include "bench/metrics.h"
#include "tasks/catalog.h"
#include "tests/bench/run_helpers.h"

namespace lenbench {
namespace {

constexpr std::int64_t kLength = 256;
constexpr std::int64_t kSamples = 200;

Record run_one(const std::string& model_name, std::shared_ptr<const Task> task) {
  PlanRequest request;
  request.tasks = {std::move(task)};
  request.lengths = {kLength};
  request.samples = kSamples;
  const auto model = make_double(model_name);
  Ran ran = run_plan(*model, make_plan(request, model->info()));
  EXPECT_EQ(ran.records.size(), 1U);
  EXPECT_EQ(ran.records.at(0).status, "ok") << ran.records.at(0).reason;
  return ran.records.at(0);
}

class Floors : public ::testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const Task> task_ = make_task(parse_task_spec(GetParam()));
};

TEST_P(Floors, OracleIsRight) {
  const Measurement m = run_one("oracle", task_).measurement;
  EXPECT_EQ(m.exact->right, kSamples);
  EXPECT_EQ(m.answer->right, m.answer->n);
}

TEST_P(Floors, EchoIsWorthNothing) {
  const Measurement m = run_one("echo", task_).measurement;
  EXPECT_EQ(m.exact->right, 0);
  EXPECT_EQ(m.answer->right, 0);
  EXPECT_EQ(m.token->right, 0);
  EXPECT_EQ(m.exact->n, kSamples);
}

TEST_P(Floors, BlindIsAtChance) {
  constexpr double kTail = 0.0005;  // two sides of a 99.9 % bound
  const Measurement m = run_one("blind", task_).measurement;
  const boost::math::binomial law(static_cast<double>(m.answer->n), task_->chance());
  EXPECT_GE(m.answer->right, boost::math::quantile(law, kTail));
  EXPECT_LE(m.answer->right, boost::math::quantile(boost::math::complement(law, kTail)));
}

std::vector<std::string> generators() {
  std::vector<std::string> names;
  for (const std::string& name : task_names()) {
    if (!task_needs_documents(name)) names.push_back(name);
  }
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Floors, ::testing::ValuesIn(generators()), test_name);

// Bug B4: the right string followed by anything but the end token is no exact match, and every answer is right; both
// are told.
TEST(Scoring, TheEndTokenBelongsToTheExactMatchAlone) {
  for (const char* name : {"copy", "reverse", "sort", "mqmtar", "flip-flop", "parity"}) {
    const auto task = make_task(parse_task_spec(name));
    const Sample sample = task->draw({64, 0, 0, Split::kTest});
    SamplePrediction prediction;
    for (const ScoredToken& row : sample.scored) prediction.argmax.push_back(row.target);
    prediction.nll.assign(sample.scored.size(), 0.0);
    prediction.argmax.back() = 0;
    CellMeter meter(*task);
    meter.add(std::span(&sample, 1), std::span(&prediction, 1));
    const Measurement measured = meter.result().measurement;
    EXPECT_EQ(measured.exact->right, 0) << name;
    EXPECT_EQ(measured.answer->right, measured.answer->n) << name;
    EXPECT_EQ(measured.token->right, measured.token->n - 1) << name;
  }
}

// The tokens given: what is fed without the answers fed back. By the layouts: recall 64 has BOS, 64, and three tokens
// for each of eight queries without the values; mqmtar 64 is the prompt of 78; labels are read from the input itself.
TEST(Facts, TokensGivenAreThoseFedWithoutTheAnswers) {
  const std::vector<std::pair<const char*, double>> expected = {{"recall", 81}, {"mqmtar", 78},    {"copy", 66},
                                                                {"nback", 66},  {"flip-flop", 64}, {"parity", 66}};
  for (const auto& [name, tokens] : expected) {
    const Record record = [&, spec = std::string(name)] {
      PlanRequest request;
      request.tasks = {make_task(parse_task_spec(spec))};
      request.lengths = {64};
      request.samples = 4;
      const auto model = make_double("oracle");
      return run_plan(*model, make_plan(request, model->info())).records.at(0);
    }();
    EXPECT_EQ(record.measurement.facts.at("given_tokens").mean, tokens) << name;
    EXPECT_EQ(record.measurement.facts.count("pads"), 1U) << name;
  }
}

TEST(TextFloor, UniformHasThePerplexityOfTheVocabularyOnText) {
  const std::shared_ptr<const Task> task =
      make_task(parse_task_spec("text"), {.documents = {{"a", std::string(10000, 'x')}}});
  const Record record = run_one("uniform", task);
  EXPECT_NEAR(*record.measurement.perplexity, static_cast<double>(task->info().vocab_size), 1e-6);
  EXPECT_EQ(record.samples_requested, kSamples);
  EXPECT_EQ(record.measurement.samples, 40);  // 10,000 tokens in windows of 256: 39 and a tail of 16
  EXPECT_EQ(record.measurement.nll_tokens, 10000);
}

}  // namespace
}  // namespace lenbench
