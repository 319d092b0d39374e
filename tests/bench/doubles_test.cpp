// What each double answers, and how it scores.
#include "bench/doubles.h"

#include <gmock/gmock.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <stdexcept>

#include "base/names.h"
#include "bench/metrics.h"
#include "tests/bench/expect_error.h"
#include "tests/bench/fake_task.h"

namespace lenbench {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Asked {
  std::vector<Sample> samples;
  std::vector<SamplePrediction> predictions;
};

Asked ask(Predictor& model, const Task& task, std::int64_t length, std::int64_t samples) {
  Asked asked;
  std::vector<DrawKey> keys;
  for (std::int64_t i = 0; i < samples; ++i) {
    keys.push_back({length, static_cast<std::uint64_t>(i), 0, Split::kTest});
    asked.samples.push_back(task.draw(keys.back()));
  }
  model.announce(task, keys);
  asked.predictions = model.predict(asked.samples, {}, nullptr);
  return asked;
}

Measurement score(const std::string& name, const Task& task, std::int64_t length, std::int64_t samples) {
  const Asked asked = ask(*make_double(name), task, length, samples);
  CellMeter meter(task);
  meter.add(asked.samples, asked.predictions);
  return meter.result().measurement;
}

TEST(Doubles, NamesAreRecognised) {
  for (const char* name : {"oracle", "oracle:512", "blind", "uniform", "echo", "last-value", "most-frequent", "nan@50",
                           "oom@65536", "sleepy:5"}) {
    EXPECT_TRUE(is_double(name)) << name;
    EXPECT_EQ(make_double(name)->info().name, name);
  }
  EXPECT_FALSE(is_double("checkpoints/oracle"));
  EXPECT_FALSE(is_double("oracles"));
  EXPECT_FALSE(is_double(""));
  EXPECT_THAT(double_names(), ElementsAre("oracle", "oracle:N", "blind", "uniform", "echo", "last-value",
                                          "most-frequent", "nan@P", "oom@L", "sleepy:MS"));
}

TEST(Doubles, RefusesWhatIsMalformed) {
  EXPECT_THAT(error_of([] { make_double("orcale"); }), HasSubstr("did you mean 'oracle'?"));
  EXPECT_THAT(error_of([] { make_double("oracle:"); }), HasSubstr("model 'oracle:'"));
  EXPECT_THAT(error_of([] { make_double("oracle:5x"); }), HasSubstr("5x"));
  EXPECT_EQ(error_of([] { make_double("oracle@5"); }), "model 'oracle@5': write 'oracle:N'");
  EXPECT_EQ(error_of([] { make_double("blind:5"); }), "model 'blind:5': write 'blind'");
  EXPECT_EQ(error_of([] { make_double("oom"); }), "model 'oom': L is missing, write 'oom@L'");
  EXPECT_EQ(error_of([] { make_double("nan@-1"); }), "model 'nan@-1': P must not be negative");
}

TEST(Doubles, OracleIsRightUpToItsLength) {
  const FakeTask task({.end_token = true});
  EXPECT_EQ(score("oracle", task, 1000, 20).exact->right, 20);
  EXPECT_EQ(score("oracle:64", task, 64, 20).exact->right, 20);
  EXPECT_EQ(score("oracle:64", task, 64, 20).token->right, 100);
  EXPECT_EQ(score("oracle:64", task, 65, 20).exact->right, 0);
  EXPECT_EQ(score("oracle:64", task, 65, 20).token->right, 0);
}

TEST(Doubles, EchoScoresNothingUnderEveryRule) {
  // Every target equals the token before it, so that an echo that is taken for an answer would be right.
  const FakeTask task({.answer_symbols = 1});
  const Measurement measured = score("echo", task, 8, 50);
  EXPECT_EQ(measured.exact->right, 0);
  EXPECT_EQ(measured.answer->right, 0);
  EXPECT_EQ(measured.token->right, 0);
  EXPECT_EQ(measured.exact->n, 50);
  EXPECT_EQ(measured.token->n, 200);
}

TEST(Doubles, BlindStaysWithinTheBinomialBoundAroundChance) {
  constexpr double kTail = 0.0005;  // two sides of a 99.9 % bound
  for (const std::int32_t symbols : {2, 4, 7}) {
    const FakeTask task({.answer_symbols = symbols, .answers = 3, .tokens_per_answer = 1});
    const Measurement measured = score("blind", task, 16, 1000);
    const boost::math::binomial law(3000, task.chance());
    EXPECT_GE(measured.answer->right, boost::math::quantile(law, kTail)) << symbols;
    EXPECT_LE(measured.answer->right, boost::math::quantile(boost::math::complement(law, kTail))) << symbols;
  }
}

TEST(Doubles, BlindReadsTheAddressOnly) {
  const FakeTask task({});
  const auto model = make_double("blind");
  const std::vector<DrawKey> keys = {{16, 3, 0, Split::kTest}};
  Sample sample = task.draw(keys[0]);
  model->announce(task, keys);
  const std::vector<std::int32_t> guess = model->predict(std::span(&sample, 1), {}, nullptr)[0].argmax;
  for (std::int32_t& token : sample.tokens) token = 0;
  for (ScoredToken& scored : sample.scored) scored.target = 0;
  EXPECT_EQ(model->predict(std::span(&sample, 1), {}, nullptr)[0].argmax, guess);
  EXPECT_THAT(guess, Each(::testing::AllOf(::testing::Ge(1), ::testing::Le(4))));
}

TEST(Doubles, AnswerAlphabetLeavesOutFraming) {
  EXPECT_THAT(answer_alphabet(FakeTask({.end_token = true}), 16), ElementsAre(1, 2, 3, 4));
}

TEST(Doubles, UniformHasTheLogarithmOfTheVocabulary) {
  const Asked asked = ask(*make_double("uniform"), FakeTask({.vocab_size = 264}), 8, 1);
  EXPECT_THAT(asked.predictions[0].nll, Each(::testing::DoubleEq(std::log(264.0))));
  EXPECT_THAT(asked.predictions[0].argmax, Each(0));
}

// Alphabet 1..4; the prompt is 5 2 2 3 1, then the answers 3 and 3 are fed back.
TEST(Doubles, ShortcutsAnswerWithWhatTheyHaveRead) {
  const FakeTask task({.answers = 3, .tokens_per_answer = 1});
  Sample sample;
  sample.tokens = {5, 2, 2, 3, 1, 3, 3};
  sample.scored = {{0, 9, -1, false}, {4, 3, 0, true}, {5, 3, 1, true}, {6, 2, 2, false}};
  const std::vector<DrawKey> keys = {{8, 0, 0, Split::kTest}};
  const auto answers = [&](const char* name) {
    const auto model = make_double(name);
    model->announce(task, keys);
    return model->predict(std::span(&sample, 1), {}, nullptr)[0].argmax;
  };
  EXPECT_THAT(answers("last-value"), ElementsAre(-1, 1, 3, 3));
  EXPECT_THAT(answers("most-frequent"), ElementsAre(-1, 2, 2, 3));
}

TEST(Doubles, NanStartsAtItsPosition) {
  // 8 prompt tokens: rows at positions 7, 8, 9, 10.
  const Asked asked = ask(*make_double("nan@9"), FakeTask({}), 8, 1);
  const SamplePrediction& prediction = asked.predictions[0];
  EXPECT_EQ(prediction.first_nonfinite, 9);
  EXPECT_EQ(prediction.argmax[1], asked.samples[0].scored[1].target);
  EXPECT_FALSE(std::isnan(prediction.nll[1]));
  EXPECT_EQ(prediction.argmax[2], 0);
  EXPECT_TRUE(std::isnan(prediction.nll[2]));
  EXPECT_EQ(ask(*make_double("nan@11"), FakeTask({}), 8, 1).predictions[0].first_nonfinite, -1);
}

TEST(Doubles, OutOfMemoryFromItsLengthOn) {
  const FakeTask task({});
  EXPECT_EQ(score("oom@64", task, 63, 4).exact->right, 4);
  try {
    score("oom@64", task, 64, 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNotMeasured);
    EXPECT_THAT(error.what(), HasSubstr("out of memory"));
  }
}

TEST(Doubles, NeedTheAddresses) {
  const FakeTask task({});
  const Sample sample = task.draw({8, 0, 0, Split::kTest});
  EXPECT_THROW(make_double("oracle")->predict(std::span(&sample, 1), {}, nullptr), std::logic_error);
}

}  // namespace
}  // namespace lenbench
