// Lines of the protocol: what is written, and that nothing wrong is read.
#include "exec/protocol.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "tests/base/expect_error.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two rows of [5, 6, 7] and one of [8].
std::vector<Sample> two_samples() {
  Sample first, second;
  first.tokens = {5, 6, 7};
  first.scored = {{1, 7, 0, true}, {2, 3, 0, false}};
  second.tokens = {8};
  second.scored = {{0, 9, 0, false}};
  return {first, second};
}

ExecAnswer parse(const std::string& line, bool nats = false, std::int64_t vocab = 10) {
  return parse_answer(line, 4, two_samples(), nats, vocab, "it ");
}

std::string wrong(const std::string& line, bool nats = false, std::int64_t vocab = 10) {
  return error_of([&] { parse(line, nats, vocab); }, ExitCode::kNotMeasured);
}

std::string wrong_hello(const std::string& line, ExitCode code = ExitCode::kNotMeasured) {
  return error_of([&] { parse_hello(line, "it "); }, code);
}

TEST(ExecProtocol, RequestsAreOneLineAndTargetsAreThereOnlyWithNats) {
  EXPECT_EQ(predict_request(4, two_samples(), false),
            "{\"type\":\"predict\",\"id\":4,\"nats\":false,\"samples\":[{\"tokens\":[5,6,7],\"rows\":[1,2]},"
            "{\"tokens\":[8],\"rows\":[0]}]}\n");
  EXPECT_EQ(predict_request(5, two_samples(), true),
            "{\"type\":\"predict\",\"id\":5,\"nats\":true,\"samples\":[{\"tokens\":[5,6,7],\"rows\":[1,2],"
            "\"targets\":[7,3]},{\"tokens\":[8],\"rows\":[0],\"targets\":[9]}]}\n");
  EXPECT_EQ(hello_request(), "{\"type\":\"hello\",\"lenbench_exec\":1}\n");
}

TEST(ExecProtocol, AnswersBecomePredictions) {
  const ExecAnswer answer = parse(R"({"id":4,"argmax":[[7,0],[9]],"nats":[[0.5,1],[2e-3]]})", true);
  ASSERT_EQ(answer.predictions.size(), 2U);
  EXPECT_THAT(answer.predictions[0].argmax, ElementsAre(7, 0));
  EXPECT_THAT(answer.predictions[0].nll, ElementsAre(0.5, 1.0));
  EXPECT_EQ(answer.predictions[0].first_nonfinite, -1);
  EXPECT_THAT(answer.predictions[1].argmax, ElementsAre(9));
  EXPECT_THAT(answer.predictions[1].nll, ElementsAre(0.002));
  const ExecAnswer ids = parse(R"({"id":4,"argmax":[[7,0],[9]]})");
  EXPECT_THAT(ids.predictions[0].nll, ElementsAre(0.0, 0.0));
}

TEST(ExecProtocol, NullIsANonFiniteRow) {
  const ExecAnswer ids = parse(R"({"id":4,"argmax":[[7,null],[9]]})");
  EXPECT_EQ(ids.predictions[0].first_nonfinite, 2);
  EXPECT_EQ(ids.predictions[0].argmax[1], -1);
  EXPECT_EQ(ids.predictions[1].first_nonfinite, -1);
  const ExecAnswer nats = parse(R"({"id":4,"argmax":[[7,1],[9]],"nats":[[null,1],[2]]})", true);
  EXPECT_EQ(nats.predictions[0].first_nonfinite, 1);
  EXPECT_TRUE(std::isnan(nats.predictions[0].nll[0]));
}

TEST(ExecProtocol, NatsAloneAreEnoughForPerplexity) {
  const ExecAnswer answer = parse(R"({"id":4,"nats":[[0.5,1],[2]]})", true);
  EXPECT_THAT(answer.predictions[0].argmax, ElementsAre(-1, -1));
  EXPECT_EQ(answer.predictions[0].first_nonfinite, -1);
  EXPECT_THAT(wrong(R"({"id":4,"nats":[[0.5,1],[2]]})", false), HasSubstr("left out \"argmax\""));
}

TEST(ExecProtocol, ItsOwnErrorIsPassedOnAndOutOfMemoryIsSaidInTheRunnersWords) {
  EXPECT_EQ(parse(R"({"id":4,"error":"ValueError: no"})").error, "could not answer: ValueError: no");
  EXPECT_EQ(parse(R"({"id":4,"error":""})").error, "could not answer: it gave no reason");
  EXPECT_EQ(parse(R"({"id":4,"error":"big","out_of_memory":true})").error, "ran out of memory: big");
  EXPECT_EQ(parse(R"({"id":4,"error":"small","out_of_memory":false})").error, "could not answer: small");
}

TEST(ExecProtocol, WrongAnswersAreNamed) {
  EXPECT_THAT(wrong("Loading model ..."), HasSubstr("it wrote 'Loading model ...' where one JSON object is expected"));
  EXPECT_THAT(wrong("[1]"), HasSubstr("where one JSON object is expected"));
  EXPECT_THAT(wrong(""), HasSubstr("where one JSON object is expected"));
  EXPECT_THAT(wrong(R"({"argmax":[[7,0],[9]]})"), HasSubstr("without an id where 4 was asked"));
  EXPECT_THAT(wrong(R"({"id":3,"argmax":[[7,0],[9]]})"), HasSubstr("answered request '3' where 4 was asked"));
  EXPECT_THAT(wrong(R"({"id":4})"), HasSubstr("left out \"argmax\""));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,0]]})"), HasSubstr("no list of 2 lists"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,0],9]})"), HasSubstr("which is no list"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7],[9]]})"), HasSubstr("1 values as \"argmax\" of sample 0 for 2 rows"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,10],[9]]})"),
              HasSubstr("token '10', which is no whole number from 0 to 9"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,-1],[9]]})"), HasSubstr("token '-1'"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,1.5],[9]]})"), HasSubstr("token '1.5'"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,"1"],[9]]})"), HasSubstr("no whole number"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,3000000000],[9]]})", false, 0), HasSubstr("from 0 to 2147483646"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,18446744073709551615],[9]]})", false, 0), HasSubstr("no whole number"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,1],[9]]})", true), HasSubstr("left out \"nats\""));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,1],[9]],"nats":[[1,-2],[1]]})", true), HasSubstr("never below 0"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,1],[9]],"nats":[[1,NaN],[1]]})", true),
              HasSubstr("one JSON object is expected"));
  EXPECT_THAT(wrong(R"({"id":4,"argmax":[[7,1],[9]],"nats":[[1,1e999],[1]]})", true),
              HasSubstr("one JSON object is expected"));
  EXPECT_THAT(wrong(R"({"id":4,"argmx":[[7,1],[9]]})"), HasSubstr("unknown key 'argmx' (did you mean 'argmax'?)"));
  EXPECT_THAT(wrong(R"({"id":4,"id":4,"argmax":[[7,1],[9]]})"), HasSubstr("one JSON object is expected"));
}

TEST(ExecProtocol, HelloHasDefaultsAndIsReadStrictly) {
  const ExecHello hello = parse_hello(R"({"lenbench_exec":1})", "it ");
  EXPECT_EQ(hello.name, "");
  EXPECT_EQ(hello.vocab_size, 0);
  EXPECT_FALSE(hello.nats);
  ExecHello full = hello;
  full.name = "mine";
  full.nats = true;
  full.max_tokens = 4096;
  EXPECT_EQ(parse_hello(hello_json(full), "it "), full);
  EXPECT_THAT(wrong_hello(R"({"lenbench_exec":2,"new_key":1})"), HasSubstr("it speaks protocol '2', this lenbench 1"));
  EXPECT_THAT(wrong_hello(R"({"name":"x"})"), HasSubstr("in place of a hello"));
  EXPECT_THAT(wrong_hello(R"({"lenbench_exec":1,"vocab":4})", ExitCode::kBadInput), HasSubstr("vocab"));
  EXPECT_THAT(wrong_hello(R"({"lenbench_exec":1,"max_tokens":-4})"), HasSubstr("max_tokens -4, below 0"));
  EXPECT_THAT(wrong_hello(R"({"lenbench_exec":1,"vocab_size":"4"})", ExitCode::kBadInput), HasSubstr("vocab_size"));
  EXPECT_THAT(wrong_hello("ready"), HasSubstr("it wrote 'ready'"));
}

}  // namespace
}  // namespace lenbench
