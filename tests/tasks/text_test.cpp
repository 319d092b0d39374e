// Perplexity windows: what is judged under each convention, counted and averaged by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "cases.h"

namespace lenbench {
namespace {

using testing_tasks::letters;
using testing_tasks::positions_of;
using testing_tasks::targets_of;

std::unique_ptr<Task> over(const std::string& spec, const std::string& text) {
  return make_task(parse_task_spec(spec), {{{"text", text}}});
}

std::vector<Sample> all_windows(const Task& task, std::int64_t length) {
  std::vector<Sample> windows;
  for (std::uint64_t i = 0; i < task.available(length); ++i) windows.push_back(task.draw({length, i, 0, Split::kTest}));
  return windows;
}

// How often each byte of the only document is judged, checked against the document.
std::vector<int> judged(const std::string& spec, const std::string& text, std::int64_t length) {
  const std::unique_ptr<Task> task = over(spec, text);
  std::vector<int> times(text.size());
  for (const Sample& sample : all_windows(*task, length)) {
    const bool bos = sample.tokens[0] == task->info().specials.bos;
    EXPECT_LE(sample.facts.at("text_tokens"), static_cast<double>(length));
    for (const ScoredToken& scored : sample.scored) {
      const auto at = static_cast<std::size_t>(sample.facts.at("offset")) +
                      static_cast<std::size_t>(scored.position + (bos ? 0 : 1));
      EXPECT_EQ(scored.target, static_cast<unsigned char>(text.at(at)));
      ++times.at(at);
    }
  }
  return times;
}

// A model whose nats are 1 / (tokens it has read).
double mean_inverse_context(const std::string& spec, const std::string& text, std::int64_t length) {
  double nats = 0;
  std::size_t tokens = 0;
  for (const Sample& sample : all_windows(*over(spec, text), length)) {
    for (const ScoredToken& scored : sample.scored) nats += 1.0 / static_cast<double>(scored.position + 1);
    tokens += sample.scored.size();
  }
  return nats / static_cast<double>(tokens);
}

// 8 tokens, window 4: (1 + 1/2 + 1/3 + 1/4) / 4, and (1 + 1/2 + 1/3 + 5/4) / 8.
TEST(Text, ConventionsGiveTheHandWorkedMeans) {
  EXPECT_NEAR(mean_inverse_context("text", "abcdefgh", 4), 25.0 / 48, 1e-15);
  EXPECT_NEAR(mean_inverse_context("text:convention=sliding,stride=1", "abcdefgh", 4), 37.0 / 96, 1e-15);
}

TEST(Text, DisjointAndSlidingJudgeEveryByteOnce) {
  const std::string text = letters(10001, 3);
  for (const std::string convention : {"disjoint", "sliding", "sliding,stride=1000", "sliding,stride=4095"}) {
    for (const std::string bos : {"none", "document", "window"}) {
      const std::vector<int> times = judged("text:bos=" + bos + ",convention=" + convention, text, 4096);
      for (std::size_t i = 1; i < times.size(); ++i) ASSERT_EQ(times[i], 1) << convention << " " << bos << " " << i;
      EXPECT_EQ(times[0], bos == "none" ? 0 : 1);
    }
  }
}

TEST(Text, KeepsTheTailAndShortDocuments) {
  const std::unique_ptr<Task> task = over("text", "abcdefghi");
  EXPECT_EQ(task->available(4), 3U);
  const Sample tail = task->draw({4, 2, 0, Split::kTest});
  EXPECT_EQ(tail.tokens, (std::vector<std::int32_t>{257}));
  EXPECT_EQ(targets_of(tail), (std::vector<std::int32_t>{'i'}));
  EXPECT_EQ(over("text", "ab")->draw({64, 0, 0, Split::kTest}).scored.size(), 2U);
  EXPECT_EQ(over("text:bos=none", "ab")->draw({64, 0, 0, Split::kTest}).scored.size(), 1U);
}

TEST(Text, SlidingGivesEveryLaterWindowAFullContext) {
  const std::vector<Sample> windows = all_windows(*over("text:convention=sliding,stride=3", letters(20, 4)), 8);
  ASSERT_EQ(windows.size(), 5U);  // 8, then 3 + 3 + 3 + 3
  for (std::size_t i = 1; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i].tokens.size(), 8U);
    EXPECT_EQ(windows[i].scored.size(), 3U);
    EXPECT_EQ(windows[i].facts.at("offset"), static_cast<double>(3 * i));
  }
}

// llama.cpp: 255 targets for a context of 512, 256 for 513; the tail is dropped.
TEST(Text, SecondHalfHasLlamaCppCounts) {
  const std::string text = letters(1100, 5);
  for (const std::string bos : {"none", "window"}) {
    for (const auto& [length, count] : std::map<std::int64_t, std::size_t>{{3, 1}, {4, 1}, {512, 255}, {513, 256}}) {
      const std::vector<Sample> windows = all_windows(*over("text:convention=second-half,bos=" + bos, text), length);
      EXPECT_EQ(windows.size(), 1100U / static_cast<std::size_t>(length));
      for (const Sample& window : windows) EXPECT_EQ(window.scored.size(), count);
    }
  }
  const std::vector<int> times = judged("text:convention=second-half,bos=none", text, 512);
  EXPECT_EQ(times[256], 0);
  EXPECT_EQ(times[257], 1);
  EXPECT_EQ(times[511], 1);
  EXPECT_EQ(times[512], 0);
  EXPECT_EQ(times[1024], 0);
}

TEST(Text, LastTokenJudgesOneByteUnderAFullContext) {
  const std::string text = letters(100, 6);
  EXPECT_EQ(all_windows(*over("text:convention=last-token", text), 10).size(), 10U);
  const std::vector<Sample> windows = all_windows(*over("text:convention=last-token,stride=1", text), 10);
  ASSERT_EQ(windows.size(), 91U);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    ASSERT_EQ(windows[i].scored.size(), 1U);
    EXPECT_EQ(windows[i].scored[0].position, 9);  // BOS and nine bytes before it
    EXPECT_EQ(windows[i].scored[0].target, text[9 + i]);
  }
}

TEST(Text, WindowsRunThroughTheDocumentsInOrder) {
  const std::unique_ptr<Task> task = make_task(parse_task_spec("text"), {{{"a", "abcde"}, {"b", "fg"}, {"c", "hijk"}}});
  std::string read;
  std::vector<double> documents, offsets;
  for (const Sample& sample : all_windows(*task, 3)) {
    for (const ScoredToken& scored : sample.scored) read.push_back(static_cast<char>(scored.target));
    documents.push_back(sample.facts.at("document"));
    offsets.push_back(sample.facts.at("offset"));
  }
  EXPECT_EQ(read, "abcdefghijk");
  EXPECT_EQ(documents, (std::vector<double>{0, 0, 1, 2, 2}));
  EXPECT_EQ(offsets, (std::vector<double>{0, 3, 0, 0, 3}));
}

std::string refusal(const std::string& spec, const TaskResources& resources, std::int64_t length, std::uint64_t index) {
  try {
    make_task(parse_task_spec(spec), resources)->draw({length, index, 0, Split::kTest});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "accepted";
}

TEST(Text, RefusesWhatItCannotMeasure) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("text", {}, 8, 0), HasSubstr("no document"));
  EXPECT_THAT(refusal("text", {{{"x", ""}}}, 8, 0), HasSubstr("'x' is empty"));
  EXPECT_THAT(refusal("text", {{{"x", "a\xff"}}}, 8, 0), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(refusal("text", {{{"x", "a\xc3"}}}, 8, 0), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(refusal("text", {{{"x", "abc"}}}, 8, 1), HasSubstr("hold 1 windows"));
  EXPECT_THAT(refusal("text:convention=last-token", {{{"x", "abc"}}}, 8, 0), HasSubstr("long enough"));
  EXPECT_THAT(refusal("text:bos=none", {{{"x", "a"}}}, 8, 0), HasSubstr("long enough"));
  EXPECT_THAT(refusal("text:convention=sliding,stride=8", {{{"x", "abcdefghijk"}}}, 8, 0), HasSubstr("shortest is 9"));
  EXPECT_THAT(refusal("text:convention=second-half", {{{"x", "abcdef"}}}, 2, 0), HasSubstr("shortest is 3"));
}

// results/corpora/README.md states size and hash; at 65,536 the book is three windows and a tail.
TEST(Text, BundledDocumentIsTheOneDescribed) {
  const std::string bytes = read_file(std::string(LENBENCH_TEST_DATA) + "/../results/corpora/genesis.txt");
  EXPECT_EQ(sha256_hex(bytes), "037cbb491e232356eaa005801cd5a2676667952fda9dd6b2db3c37625eaf7784");
  EXPECT_EQ(bytes.size(), 196867U);
  EXPECT_EQ(over("text", bytes)->available(65536), 4U);
  EXPECT_EQ(over("text:convention=last-token", bytes)->available(65536), 3U);
}

// A5, on a document whose bytes are 0 .. 99 (one more than ASCII's control codes, all valid UTF-8), and a window of 10.
TEST(Text, FitTakesTheHeadTheTailOrBoth) {
  std::string bytes;
  for (char byte = 0; byte < 100; ++byte) bytes.push_back(byte);
  const std::map<std::string, std::vector<std::int32_t>> expected = {
      {"head", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {"tail", {90, 91, 92, 93, 94, 95, 96, 97, 98, 99}},
      {"middle", {0, 1, 2, 3, 4, 95, 96, 97, 98, 99}},
  };
  for (const auto& [fit, kept] : expected) {
    const std::unique_ptr<Task> task = over("text:fit=" + fit, bytes);
    const std::vector<Sample> windows = all_windows(*task, 10);
    ASSERT_EQ(windows.size(), 1U) << fit;
    EXPECT_EQ(targets_of(windows[0]), kept) << fit;
    EXPECT_EQ(task->solve(windows[0].tokens, positions_of(windows[0])), kept);
    EXPECT_EQ(windows[0].facts.at("offset"), fit == "tail" ? 90 : 0);
  }
  const std::vector<Sample> odd = all_windows(*over("text:bos=none,convention=last-token,fit=middle", bytes), 5);
  ASSERT_EQ(odd.size(), 1U);
  EXPECT_EQ(odd[0].tokens, (std::vector<std::int32_t>{0, 1, 2, 98}));
  EXPECT_EQ(targets_of(odd[0]), std::vector<std::int32_t>{99});
  EXPECT_EQ(targets_of(all_windows(*over("text:fit=tail", "abc"), 10)[0]), (std::vector<std::int32_t>{'a', 'b', 'c'}));
}

// Synthetic tasks have no document to cut.
TEST(Text, FitIsForDocumentsOnly) { EXPECT_THROW(testing_tasks::make("recall:fit=head"), Error); }

// The parameter came later: while it has its default, samples, Records and keys know nothing of it.
TEST(Text, FitLeavesEarlierRecordsAlone) {
  EXPECT_EQ(over("text:fit=all", "abc")->info().parameters,
            (TaskParameters{{"bos", "window"}, {"convention", "disjoint"}, {"stride", "auto"}}));
  EXPECT_EQ(over("text:fit=tail", "abc")->info().parameters.at("fit"), "tail");
}

// A4: documents too short for a length are named, whether they fall out or stay.
TEST(Text, ShortDocumentsAreReported) {
  using testing::HasSubstr;
  const TaskResources three = {{{"a", letters(100, 1)}, {"b", letters(20, 2)}, {"c", letters(30, 3)}}};
  const auto note = [&](const std::string& spec, std::int64_t length) {
    return make_task(parse_task_spec(spec), three)->note(length);
  };
  EXPECT_EQ(note("text", 20), "");
  EXPECT_THAT(note("text", 64),
              HasSubstr("2 of 3 documents shorter than 64 bytes measured in one short window each: b, c"));
  EXPECT_THAT(note("text:convention=second-half", 25), HasSubstr("1 of 3 documents shorter than 25 bytes left out: b"));
  EXPECT_THAT(note("text:convention=last-token", 200), HasSubstr("3 of 3 documents shorter than 200 bytes left out"));
  EXPECT_EQ(testing_tasks::make("recall")->note(64), "");
}

// A letter of two bytes counts as two tokens: 1,000 of them are 2,000 (length is counted on tokens).
TEST(Text, CountsBytesNotLetters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xc3\xa9";
  std::size_t tokens = 0;
  for (const Sample& sample : all_windows(*over("text", text), 1500)) tokens += sample.scored.size();
  EXPECT_EQ(tokens, 2000U);
}

}  // namespace
}  // namespace lenbench
