// Files of samples: what is written comes back, and what contradicts itself is refused with its line.
#include "tasks/sample_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/hash.h"
#include "cases.h"

namespace lenbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_tasks;

std::string file_of(const Task& task, std::int64_t length, std::uint64_t seed, std::int64_t samples) {
  std::string lines;
  DrawKey key = {length, 0, seed, Split::kValidation};
  for (std::int64_t i = 0; i < samples; ++i) {
    key.index = static_cast<std::uint64_t>(i);
    lines += sample_line(task, key, task.draw(key)) + "\n";
  }
  return sample_file_header(task, key, samples, "0.1.0", sha256_hex(lines)) + "\n" + lines;
}

// Bug C10: samples without the code that draws them; what is read back has the same ids.
TEST(SampleFile, EveryTaskComesBackAsItWasWritten) {
  for (const TaskCase& task_case : task_cases()) {
    const std::unique_ptr<Task> task = make(task_case.spec);
    const std::int64_t length = std::max<std::int64_t>(64, task->min_length());
    const std::uint64_t available = task->available(length);
    const std::uint64_t samples = available == 0 ? 5 : std::min<std::uint64_t>(5, available);
    const std::string bytes = file_of(*task, length, 3, static_cast<std::int64_t>(samples));
    const SampleFile file = read_sample_file(bytes, "set.jsonl");
    EXPECT_THAT(file.lengths, ElementsAre(length));
    EXPECT_EQ(file.seed, 3U);
    EXPECT_EQ(file.split, Split::kValidation);
    const TaskInfo& info = file.task->info();
    EXPECT_EQ(info.name, task->info().name);
    EXPECT_EQ(info.version, task->info().version);
    EXPECT_EQ(info.parameters, task->info().parameters);
    EXPECT_EQ(info.metric, task->info().metric);
    EXPECT_EQ(info.input, task->info().input);
    EXPECT_EQ(info.vocab_size, task->info().vocab_size);
    EXPECT_EQ(info.comparability, task->info().comparability);
    EXPECT_EQ(info.specials.bos, task->info().specials.bos);
    EXPECT_EQ(info.data_sha256, sha256_hex(bytes));
    EXPECT_EQ(file.task->chance(), task->chance());
    EXPECT_EQ(file.task->available(length), samples);
    EXPECT_EQ(file.task->min_length(), length);
    std::size_t longest = 0;
    for (std::uint64_t i = 0; i < samples; ++i) {
      const Sample sample = file.task->draw({length, i, 99, Split::kTrain});
      EXPECT_EQ(sample, task->draw({length, i, 3, Split::kValidation})) << task_case.spec;
      longest = std::max(longest, sample.tokens.size());
    }
    EXPECT_EQ(file.task->total_tokens(length), static_cast<std::int64_t>(longest));
  }
}

const char* const kHeader = R"({"task":"mine","vocab_size":10,"samples":1})";
const char* const kLine = R"({"length":4,"tokens":[1,2,3,4],"scored":[{"position":3,"target":9,"answer":0}]})";

std::string read_error(const std::string& header, const std::vector<std::string>& lines) {
  std::string bytes = header + "\n";
  for (const std::string& line : lines) bytes += line + "\n";
  try {
    read_sample_file(bytes, "set.jsonl");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

TEST(SampleFile, OtherToolsNeedLittle) {
  const SampleFile file = read_sample_file(std::string(kHeader) + "\n" + kLine + "\n", "set.jsonl");
  EXPECT_EQ(file.task->info().name, "mine");
  EXPECT_EQ(file.task->chance(), 1.0) << "one symbol is the whole answer alphabet";
  const Sample sample = file.task->draw({4, 0, 0, Split::kTest});
  EXPECT_EQ(sample.prompt_tokens, 4);
  EXPECT_FALSE(sample.scored[0].fed_back);
}

TEST(SampleFile, MayHoldSeveralLengths) {
  const std::string header = R"({"task":"mine","vocab_size":10,"samples":3,"chance":0.25})";
  const std::string longer =
      R"({"length":6,"tokens":[1,2,3,4,5,6],"scored":[{"position":5,"target":9,"answer":0}],"facts":{"pairs":2}})";
  const SampleFile file = read_sample_file(header + "\n" + longer + "\n" + kLine + "\n" + longer + "\n", "set.jsonl");
  EXPECT_THAT(file.lengths, ElementsAre(4, 6));
  EXPECT_EQ(file.task->available(6), 2U);
  EXPECT_EQ(file.task->total_tokens(4), 4);
  EXPECT_EQ(file.task->draw({6, 1, 0, Split::kTest}).facts.at("pairs"), 2);
  EXPECT_EQ(file.task->chance(), 0.25);
  EXPECT_THROW(file.task->draw({6, 2, 0, Split::kTest}), Error);
  EXPECT_THROW(file.task->total_tokens(5), Error);
}

// Bug B2: a wrong type is an error with its line, not a score.
TEST(SampleFile, RefusesWhatContradictsItself) {
  const auto line = [](const std::string& members) { return R"({"length":4,"tokens":[1,2,3,4],)" + members + "}"; };
  EXPECT_EQ(read_error(kHeader, {kLine}), "accepted");
  EXPECT_THAT(read_error(kHeader, {}), HasSubstr("no sample"));
  EXPECT_THAT(read_error(kHeader, {kLine, kLine}), HasSubstr("2 samples, the header says 1"));
  EXPECT_THAT(read_error(R"({"task":"mine","samples":1})", {kLine}), HasSubstr("vocab_size"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":0,"samples":1})", {kLine}), HasSubstr("vocab_size is 0"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":10,"samples":1,"vocab":3})", {kLine}), HasSubstr("vocab"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":10,"samples":1,"metric":"bleu"})", {kLine}), HasSubstr("bleu"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":10,"samples":1,"split":"tset"})", {kLine}), HasSubstr("tset"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":10,"samples":1,"chance":2})", {kLine}), HasSubstr("chance"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":10,"samples":1,"length":8})", {kLine}),
              HasSubstr("set.jsonl:2: length is 4, the header says 8"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":4,"samples":1})", {kLine}), HasSubstr("tokens[3] is 4"));
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":9,"samples":1})", {kLine}),
              HasSubstr("target at position 3 is 9"));
  EXPECT_THAT(read_error(kHeader, {"{\"length\":4"}), HasSubstr("set.jsonl:2"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":"1234567")")}), HasSubstr("scored"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[])")}), HasSubstr("no row is scored"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":4,"target":1}])")}), HasSubstr("there are 4 tokens"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":-1,"target":1}])")}), HasSubstr("position -1"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":2,"target":1},{"position":2,"target":1}])")}),
              HasSubstr("sort the rows"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":1,"target":4,"fed_back":true}])")}),
              HasSubstr("the next token is 3"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":3,"target":4,"fed_back":true}])")}),
              HasSubstr("not fed back"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":3,"target":4,"answer":-2}])")}), HasSubstr("-2"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":3,"target":4}],"prompt_tokens":3)")}),
              HasSubstr("prompt_tokens is 3"));
  EXPECT_THAT(read_error(kHeader, {line(R"("scored":[{"position":3,"target":4}],"sources":[4])")}),
              HasSubstr("source 4"));
  EXPECT_THAT(read_error(kHeader, {R"({"length":0,"tokens":[1],"scored":[{"position":0,"target":1}]})"}),
              HasSubstr("at least 1"));
}

// Bugs B5 and D2: a BOS stands at the front or nowhere, unless the same id ends texts.
TEST(SampleFile, RefusesASecondBos) {
  const auto header = [](const std::string& specials) {
    return R"({"task":"mine","vocab_size":10,"samples":1,"specials":{)" + specials + "}}";
  };
  EXPECT_THAT(read_error(header(R"("bos":3)"), {kLine}), HasSubstr("set.jsonl:2: tokens[2] is the header's bos 3"));
  EXPECT_EQ(read_error(header(R"("bos":1)"), {kLine}), "accepted");
  EXPECT_EQ(read_error(header(R"("bos":3,"eos":3)"), {kLine}), "accepted");
}

TEST(SampleFile, SaysWhatItsIdsAre) {
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":10,"samples":1,"input":"words"})", {kLine}),
              HasSubstr("tokens or items"));
}

// Bug L6: the same sample twice is an error.
TEST(SampleFile, RefusesAnAddressThatOccursTwice) {
  const std::string line =
      R"({"address":"mine:4:0","length":4,"tokens":[1],"scored":[{"position":0,"target":1,"answer":0}]})";
  EXPECT_THAT(read_error(R"({"task":"mine","vocab_size":10,"samples":2})", {line, line}),
              HasSubstr("set.jsonl:3: address 'mine:4:0' occurs twice"));
}

TEST(SampleFile, AChangedOrCutFileIsRefused) {
  const std::unique_ptr<Task> task = make("recall");
  const std::string bytes = file_of(*task, 64, 0, 3);
  const auto error_of = [](const std::string& text) {
    try {
      read_sample_file(text, "set.jsonl");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(error_of(bytes), "accepted");
  EXPECT_THAT(error_of(bytes.substr(0, bytes.size() - 1)), HasSubstr("cut off"));
  EXPECT_THAT(error_of(bytes.substr(0, bytes.rfind('{', bytes.size() - 900))), HasSubstr("set.jsonl"));
  EXPECT_THAT(error_of(""), HasSubstr("no complete line"));
  std::string changed = bytes;
  changed.replace(changed.find("\"pads\":48.0"), 11, "\"pads\":47.0");
  EXPECT_THAT(error_of(changed), HasSubstr("sha256"));
}

}  // namespace
}  // namespace lenbench
