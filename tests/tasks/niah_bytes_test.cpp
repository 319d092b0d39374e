// Needles as text: structure of the eight kinds, the length rule, and the defects of the original.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "cases.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

// Sentences of several lengths, some with letters of two and three bytes.
TaskResources book() {
  std::string text;
  Rng rng(8, 8);
  while (text.size() < 60000) {
    const std::uint64_t words = 3 + rng.below(12);
    for (std::uint64_t i = 0; i < words; ++i)
      text += (i > 0 ? " " : "") + std::string(rng.chance(1, 9) ? "caf\xc3\xa9" : "\xe2\x80\x9chouse");
    text += rng.chance(1, 4) ? ".\n" : ". ";
  }
  return {{{"book", text}}};
}

std::unique_ptr<Task> over_book(const std::string& kind) {
  static const TaskResources resources = book();
  return make_task(parse_task_spec("niah-bytes:kind=" + kind), resources);
}

struct Asked {
  std::string prompt;                                        // without BOS
  std::vector<std::pair<std::string, std::string>> needles;  // key and value, in order of place
  std::vector<std::size_t> at;
  std::vector<std::string> keys;  // asked for
  std::string answer;             // as fed, and the last byte
};

// The text between `open` and `close` from `at` on, and where the reading goes on; `at` is npos where there is none.
std::string between(const std::string& text, const std::string& open, const std::string& close, std::size_t& at) {
  const std::size_t begin = text.find(open, at);
  const std::size_t end = begin == std::string::npos ? begin : text.find(close, begin + open.size());
  at = end == std::string::npos ? end : end + close.size();
  return end == std::string::npos ? "" : text.substr(begin + open.size(), end - begin - open.size());
}

// Reads a sample by its words, knowing nothing of the generator's widths: needles are the sentences of their wording.
Asked read(const Sample& sample) {
  std::string text;
  for (std::size_t i = 1; i < sample.tokens.size(); ++i) text.push_back(static_cast<char>(sample.tokens[i]));
  text.push_back(static_cast<char>(sample.scored.back().target));
  const std::size_t question = text.rfind("\nQuestion: "), answer = text.rfind("\nAnswer: ");
  Asked asked;
  asked.prompt = text.substr(0, question);
  asked.answer = text.substr(answer + 9);
  for (std::size_t at = 0; (at = asked.prompt.find(" filed under ", at)) != std::string::npos;) {
    const std::size_t begin = asked.prompt.rfind("The ", at);
    const std::string key = between(asked.prompt, " filed under ", " is ", at);
    const std::size_t value = at;
    const std::string held = asked.prompt.substr(value, asked.prompt.find('.', value) - value);
    asked.needles.emplace_back(key, held);
    asked.at.push_back(begin);
  }
  std::size_t at = question;
  std::string list = between(text, "filed under ", "?", at) + " ";
  for (char& c : list) c = c == ',' ? ' ' : c;
  for (std::size_t first = 0, end = 0; (end = list.find(' ', first)) != std::string::npos; first = end + 1) {
    const std::string word = list.substr(first, end - first);
    if (!word.empty() && word != "and") asked.keys.push_back(word);
  }
  return asked;
}

// Every value of every asked key, in order of the keys, then of place: what the prompt says, read by brute force.
std::string answer_of(const Asked& asked) {
  std::string answer;
  for (const std::string& key : asked.keys) {
    for (const auto& [name, value] : asked.needles) {
      if (name == key) answer += (answer.empty() ? "" : ", ") + value;
    }
  }
  return answer;
}

struct KindCase {
  std::string kind;
  std::size_t needles, keys, queries;  // needles 0: as many as fit
  std::string key, value;
};

const std::vector<KindCase>& kinds() {
  static const std::string word = "([bdfghklmnprstvwz][aeiou]){3}", number = "[1-9][0-9]{6}";
  static const std::string code = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
  static const std::vector<KindCase> cases = {
      {"single-1", 1, 1, 1, word, number},   {"single-2", 1, 1, 1, word, number},   {"single-3", 1, 1, 1, word, code},
      {"multikey-1", 4, 4, 1, word, number}, {"multikey-2", 0, 0, 1, word, number}, {"multikey-3", 0, 0, 1, code, code},
      {"multivalue", 4, 1, 1, word, number}, {"multiquery", 4, 4, 4, word, number},
  };
  return cases;
}

// 10,000 samples of each kind over five lengths: structure, spelling, unique keys (L7: the original's may repeat, so
// that a distractor contradicts the answer), and solve() against the brute-force reading.
TEST(NiahBytes, HasTheStructureOfItsKindAndOneAnswer) {
  for (const KindCase& c : kinds()) {
    const std::unique_ptr<Task> task = over_book(c.kind);
    const std::regex key(c.key), value(c.value);
    const std::int64_t least = task->min_length();
    for (const std::int64_t length : {least, least + 37, least + 150, least + 333, least + 1500}) {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const Sample sample = draw(*task, length, i);
        const Asked asked = read(sample);
        std::set<std::string> keys, values;
        for (const auto& [name, held] : asked.needles) {
          keys.insert(name);
          values.insert(held);
          if (i < 20) {
            EXPECT_TRUE(std::regex_match(name, key)) << name;
            EXPECT_TRUE(std::regex_match(held, value)) << held;
          }
        }
        const std::size_t needles = c.needles > 0 ? c.needles : asked.needles.size();
        ASSERT_EQ(asked.needles.size(), needles) << c.kind << " " << length << " " << i;
        EXPECT_EQ(keys.size(), c.keys > 0 ? c.keys : needles) << "keys never repeat";
        EXPECT_EQ(values.size(), needles);
        EXPECT_EQ(std::set<std::string>(asked.keys.begin(), asked.keys.end()).size(), c.queries);
        ASSERT_EQ(asked.answer, answer_of(asked));
        ASSERT_EQ(task->solve(sample.tokens, positions_of(sample)), targets_of(sample));
      }
    }
  }
}

// Prompt with BOS plus the longest answer never exceed the length (A7); noise and essay fill it to the byte.
TEST(NiahBytes, FillsTheLength) {
  for (const KindCase& c : kinds()) {
    const std::unique_ptr<Task> task = over_book(c.kind);
    for (std::int64_t length = task->min_length(); length < task->min_length() + 120; ++length) {
      const Sample sample = draw(*task, length, 0);
      const std::int64_t used = static_cast<std::int64_t>(sample.tokens.size()) + 1;
      EXPECT_LE(used, length);
      if (c.needles > 0) {
        EXPECT_EQ(used, length) << c.kind;
      } else {
        EXPECT_GT(used, length - (c.kind == "multikey-3" ? 99 : 42));
      }
    }
  }
}

// A letter of several bytes is never split by a needle or by the end of the haystack (B10, A8: lengths are bytes).
TEST(NiahBytes, PromptsAreValidText) {
  for (const std::string kind : {"single-2", "multikey-1", "multivalue"}) {
    const std::unique_ptr<Task> task = over_book(kind);
    for (std::uint64_t i = 0; i < 300; ++i) {
      const Asked asked = read(draw(*task, 700 + static_cast<std::int64_t>(i % 7), i));
      ASSERT_TRUE(is_valid_utf8(asked.prompt)) << i;
      for (const std::size_t at : asked.at) {
        EXPECT_TRUE(at == 0 || asked.prompt[at - 1] == '\n' || asked.prompt[at - 1] == ' ') << "behind a sentence";
      }
    }
  }
  // A text without any sentence end still gets its needles spread by depth.
  const Asked spread = read(draw(*make("niah-bytes:depth=50,kind=single-2"), 4000, 0));
  EXPECT_NEAR(static_cast<double>(spread.at[0]), 1950, 40);
}

TEST(NiahBytes, FixedDepthPutsTheNeedleThere) {
  for (const std::string kind : {"single-1", "single-2", "multikey-1", "multikey-2", "multikey-3"}) {
    for (const int depth : {0, 30, 100}) {
      const std::unique_ptr<Task> task = over_book(kind + ",depth=" + std::to_string(depth));
      for (std::uint64_t i = 0; i < 20; ++i) EXPECT_NEAR(draw(*task, 20000, i).facts.at("depth"), depth, 2.0) << kind;
    }
  }
}

// A lone needle takes each of RULER's 40 depths equally often. In a text of empty lines every place ends a line, so
// depths are exact.
TEST(NiahBytes, DepthsAreUniform) {
  const std::unique_ptr<Task> task =
      make_task(parse_task_spec("niah-bytes:kind=single-2"), {{{"lines", std::string(1000, '\n')}}});
  std::map<std::size_t, std::int64_t> seen;
  for (std::uint64_t i = 0; i < 10000; ++i) ++seen[read(draw(*task, 605, i)).at[0]];  // 500 bytes of haystack
  for (const std::int64_t percent : {0, 3, 5, 51, 97, 100})
    EXPECT_TRUE(seen.contains(static_cast<std::size_t>(5 * percent)));
  ASSERT_EQ(seen.size(), 40U);
  std::vector<std::int64_t> counts;
  for (const auto& [at, count] : seen) counts.push_back(count);
  EXPECT_GT(p_value(counts), kLevel);
}

// L7: in the original every sample has the same order of needles.
TEST(NiahBytes, OrderOfNeedlesIsDrawnForEachSample) {
  const std::unique_ptr<Task> task = make("niah-bytes:kind=multiquery");
  std::map<std::vector<std::size_t>, std::int64_t> orders;
  for (std::uint64_t i = 0; i < 2400; ++i) {
    const Asked asked = read(draw(*task, 700, i));
    std::vector<std::size_t> order;
    for (const auto& [key, value] : asked.needles) {
      order.push_back(
          static_cast<std::size_t>(std::find(asked.keys.begin(), asked.keys.end(), key) - asked.keys.begin()));
    }
    ++orders[order];
  }
  ASSERT_EQ(orders.size(), 24U);
  std::vector<std::int64_t> counts;
  for (const auto& [order, count] : orders) counts.push_back(count);
  EXPECT_GT(p_value(counts), kLevel);
}

// The original spins for ever where the needles do not fit. Here the shortest length is named, and works.
TEST(NiahBytes, TooShortIsRefusedAtOnce) {
  for (const KindCase& c : kinds()) {
    const std::unique_ptr<Task> task = over_book(c.kind);
    EXPECT_NO_THROW(draw(*task, task->min_length(), 0));
    EXPECT_THROW(draw(*task, task->min_length() - 1, 0), Error);
  }
  // There are 512,000 words to name needles with.
  try {
    draw(*over_book("multikey-2"), 1 << 26, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the longest length is 21504063"));  // 63 + 512,000 * 42
  }
}

TEST(NiahBytes, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(over_book("multivalue,depth=5"), Error);
  EXPECT_THROW(over_book("multi-value"), Error);
  EXPECT_THROW(make_task(parse_task_spec("niah-bytes"), {}), Error);
}

}  // namespace
}  // namespace lenbench
