// A Predictor over programs: identity, restarts, batches, limits.
#include "exec/exec_model.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.h"
#include "base/hash.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"
#include "tests/bench/fake_task.h"

namespace lenbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ExecLimits kLimits{.start_seconds = 20, .answer_seconds = 20};

Sample sample_of(std::vector<std::int32_t> tokens) {
  Sample sample;
  sample.scored = {{std::ssize(tokens) - 1, 1, 0, false}};
  sample.tokens = std::move(tokens);
  return sample;
}

// A shell program that says `hello` and then answers request after request with `answers`, in order.
std::string program(const std::string& hello, const std::vector<std::string>& answers) {
  std::string text = "exec:read line; echo '" + hello + "'";
  for (const std::string& answer : answers) text += "; read line; echo '" + answer + "'";
  return text + "; cat > /dev/null";
}

std::vector<SamplePrediction> predict(ExecModel& model, const std::vector<Sample>& samples, bool nats = false) {
  model.announce(*fake_task({.metric = nats ? TaskMetric::kPerplexity : TaskMetric::kExactMatch}), {});
  return model.predict(samples, {}, nullptr);
}

TEST(ExecModel, IsOfTheFormExecColonCommand) {
  EXPECT_TRUE(is_exec("exec:cat"));
  EXPECT_FALSE(is_exec("execute"));
  for (const char* text : {"exec:", "exec:  "}) {
    EXPECT_THAT(error_of([&] { ExecModel(text, kLimits); }), HasSubstr("has no command"));
  }
}

TEST(ExecModel, TheSubjectIsWhatTheHelloSaysAndTheCommand) {
  const std::string command =
      program(R"({"lenbench_exec":1,"name":"mine","hash":"abc","vocab_size":10,"max_tokens":99,"train_length":64,)"
              R"("transform":"softmax","dtype":"float16","nats":true})",
              {});
  ExecModel model(command, kLimits);
  model.start();
  EXPECT_EQ(model.info().name, "mine");
  EXPECT_EQ(model.info().vocab_size, 10);
  EXPECT_EQ(model.info().max_positions, 99);
  EXPECT_EQ(model.info().train_length, 64);
  EXPECT_EQ(model.info().transform, "softmax");
  EXPECT_EQ(model.info().dtype, "float16");
  EXPECT_TRUE(model.hello().nats);

  const auto identity_of = [](const std::string& text) {
    ExecModel other(text, kLimits);
    other.start();
    return other.info().checkpoint_sha256;
  };
  const std::string plain = program(R"({"lenbench_exec":1})", {});
  ExecModel nameless(plain, kLimits);
  nameless.start();
  EXPECT_EQ(nameless.info().name, plain);
  EXPECT_FALSE(nameless.hello().nats);
  EXPECT_EQ(identity_of(plain), nameless.info().checkpoint_sha256) << "the same program is the same subject";
  const std::string hashed = program(R"({"lenbench_exec":1,"hash":"w"})", {});
  EXPECT_NE(identity_of(hashed), identity_of(hashed + " "));
}

TEST(ExecModel, TheHashIsPartOfTheIdentity) {
  const TemporaryFolder folder;
  const std::string hello = folder / "hello";
  const auto identity_with = [&](const std::string& hash) {
    std::ofstream(hello) << R"({"lenbench_exec":1,"hash":")" << hash << "\"}\n";
    ExecModel model("exec:cat " + hello + "; cat > /dev/null", kLimits);
    model.start();
    return model.info().checkpoint_sha256;
  };
  const std::string first = identity_with("v1");
  EXPECT_NE(first, identity_with("v2"));
  EXPECT_EQ(first, identity_with("v1"));
}

TEST(ExecModel, WhatCannotStartIsUnusableInput) {
  const auto refused = [](const std::string& text, ExecLimits limits = kLimits) {
    return error_of([&] { ExecModel(text, limits).start(); }, ExitCode::kBadInput);
  };
  EXPECT_THAT(refused("exec:/no/such/program"),
              AllOf(HasSubstr("cannot start"), HasSubstr("exit status 127"), HasSubstr("docs/exec.md")));
  EXPECT_THAT(refused("exec:echo loading the model; sleep 60"), HasSubstr("wrote 'loading the model'"));
  EXPECT_THAT(refused("exec:sleep 60", {.start_seconds = 0.2, .answer_seconds = 1}),
              HasSubstr("gave no answer within 0.2 s; no hello came"));
  EXPECT_THAT(refused(program(R"({"lenbench_exec":7})", {})), HasSubstr("speaks protocol '7'"));
}

TEST(ExecModel, AsksInPiecesOfTheProgramsLargestBatch) {
  ExecModel model(
      program(R"({"lenbench_exec":1,"max_batch":2})", {R"({"id":1,"argmax":[[1],[2]]})", R"({"id":2,"argmax":[[3]]})"}),
      kLimits);
  const auto predictions = predict(model, {sample_of({1}), sample_of({2, 2}), sample_of({3})});
  ASSERT_EQ(predictions.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(predictions[i].argmax, ElementsAre(static_cast<int>(i) + 1));
}

TEST(ExecModel, ItsOwnErrorKeepsItRunning) {
  ExecModel model(program(R"({"lenbench_exec":1})",
                          {R"({"id":1,"error":"too long","out_of_memory":true})", R"({"id":2,"argmax":[[5]]})"}),
                  kLimits);
  EXPECT_THAT(error_of(
                  [&] {
                    predict(model, {sample_of({1, 2})});
                  },
                  ExitCode::kNotMeasured),
              AllOf(HasSubstr("asked 1 x 2 tokens, ran out of memory: too long"), HasSubstr("program 'read line")));
  EXPECT_THAT(predict(model, {sample_of({1})})[0].argmax, ElementsAre(5));
}

TEST(ExecModel, AfterAWrongAnswerItIsStartedAnewForTheNextQuestion) {
  const TemporaryFolder folder;
  const std::string counter = folder / "starts";
  ExecModel model("exec:echo x >> " + counter +
                      R"(; read line; echo '{"lenbench_exec":1}'; read line; )"
                      R"(if [ $(wc -l < )" +
                      counter +
                      R"() -gt 1 ]; then id=2; else id=99; fi; echo "{\"id\":$id,\"argmax\":[[5]]}"; cat > /dev/null)",
                  kLimits);
  EXPECT_THAT(error_of([&] { predict(model, {sample_of({1})}); }, ExitCode::kNotMeasured),
              HasSubstr("answered request '99' where 1 was asked"));
  EXPECT_THAT(predict(model, {sample_of({1})})[0].argmax, ElementsAre(5));
}

TEST(ExecModel, AfterACrashAnotherProgramIsNotTakenForTheSame) {
  const TemporaryFolder folder;
  const std::string counter = folder / "starts";
  ExecModel model("exec:echo x >> " + counter + R"(; read line; echo "{\"lenbench_exec\":1,\"hash\":\"$(wc -l < )" +
                      counter + R"()\"}"; read line; echo gone >&2; exit 9)",
                  kLimits);
  EXPECT_THAT(error_of([&] { predict(model, {sample_of({1})}); }, ExitCode::kNotMeasured),
              HasSubstr("ended with exit status 9; its last lines on standard error: 'gone'"));
  EXPECT_THAT(error_of([&] { predict(model, {sample_of({1})}); }, ExitCode::kNotMeasured),
              HasSubstr("was started again and is another"));
}

TEST(ExecModel, TargetsAreSentWhereTheTaskMeasuresNats) {
  const TemporaryFolder folder;
  const std::string heard = folder / "heard";
  ExecModel model("exec:read line; echo '{\"lenbench_exec\":1,\"nats\":true}'; read one; echo \"$one\" > " + heard +
                      R"(; echo '{"id":1,"argmax":[[1]]}'; read two; echo "$two" >> )" + heard +
                      R"(; echo '{"id":2,"argmax":[[1]],"nats":[[0.25]]}'; cat > /dev/null)",
                  kLimits);
  EXPECT_EQ(predict(model, {sample_of({4})})[0].nll[0], 0);
  EXPECT_EQ(predict(model, {sample_of({4})}, true)[0].nll[0], 0.25);
  std::ifstream file(heard);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_EQ(first.find("targets"), std::string::npos) << first;
  EXPECT_THAT(second, HasSubstr("\"targets\":[1]"));
}

TEST(ExecModel, RefusesNatsThatItDoesNotGive) {
  ExecModel model(program(R"({"lenbench_exec":1})", {}), kLimits);
  EXPECT_THAT(error_of([&] { predict(model, {sample_of({1})}, true); }, ExitCode::kNotMeasured),
              HasSubstr("gives no nats"));
}

}  // namespace
}  // namespace lenbench
