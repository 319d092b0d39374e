// Variable tracking, common words, frequent words: structure and brute-force answers on ids and on bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "cases.h"
#include "p_value.h"
#include "tasks/haystack.h"
#include "tasks/words.h"

namespace lenbench {
namespace {

using namespace testing_tasks;
using Words = std::vector<std::string>;

// A sample as words: bytes as they are, ids as numbers; the prompt without BOS, and the answer with its last token.
struct Story {
  std::string prompt, answer;
};

Story story(const Task& task, const Sample& sample) {
  const bool bytes = task.info().vocab_size == 261;
  const auto write = [&](std::string& text, std::int32_t token) {
    if (bytes) {
      text.push_back(static_cast<char>(token));
    } else {
      text += std::to_string(token) + " ";
    }
  };
  Story told;
  for (std::int64_t i = 1; i < static_cast<std::int64_t>(sample.tokens.size()); ++i) {
    write(i < sample.prompt_tokens ? told.prompt : told.answer, sample.tokens[static_cast<std::size_t>(i)]);
  }
  write(told.answer, sample.scored.back().target);
  return told;
}

Words split_words(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Answers as words: bytes parted by commas, ids in twos.
Words answers_of(const Task& task, const Story& told) {
  Words parts = split_words(told.answer), answers;
  if (task.info().vocab_size == 261) {
    for (std::string& part : parts) {
      if (part.back() == ',') part.pop_back();
    }
    return parts;
  }
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) answers.push_back(parts[i] + " " + parts[i + 1]);
  return answers;
}

TEST(SyllableWords, AreDistinctAndReadBack) {
  std::set<std::string> words;
  for (std::int64_t number = 0; number < kNumSyllableWords; number += 37) {
    const std::string word = syllable_word(number);
    EXPECT_EQ(word.size(), 6U);
    EXPECT_EQ(syllable_word_number(word), number);
    words.insert(word);
  }
  EXPECT_EQ(words.size(), (512000U + 36) / 37);
  EXPECT_EQ(syllable_word(0), "bababa");
  EXPECT_EQ(syllable_word(kNumSyllableWords - 1), "zuzuzu");
  for (const std::string text : {"", "tamik", "Tamiko", "tamikx", "......", "amikot"})
    EXPECT_EQ(syllable_word_number(text), -1);
}

TEST(Haystack, RunsAroundTheEndAndKeepsLettersWhole) {
  EXPECT_EQ(running_text("abc", 1, 7), "bcabcab");
  EXPECT_EQ(running_text("a\xc3\xa9", 0, 5),
            "a\xc3\xa9"
            "a ");
  EXPECT_EQ(running_text("a\xe2\x80\x9c", 2, 3), "\xe2\x80\x9c");
  EXPECT_EQ(running_text("x\xe2\x80\x9c", 0, 3), "x  ");
  EXPECT_EQ(sentence_end("One. Two", 7), 5);
  EXPECT_EQ(sentence_end("One. Two", 4), 0);
  EXPECT_EQ(sentence_end("One\nTwo", 7), 4);
  EXPECT_EQ(sentence_end(std::string(500, 'x') + "\xc3\xa9", 501), 500);
  // numpy.round(numpy.linspace(0, 100, 40)), first, some and last.
  EXPECT_EQ(depth_percent(0), 0);
  EXPECT_EQ(depth_percent(1), 3);
  EXPECT_EQ(depth_percent(20), 51);
  EXPECT_EQ(depth_percent(39), 100);
}

struct Statement {
  std::string name, right;
};

std::vector<Statement> statements_of(const Task& task, const Story& told) {
  std::vector<Statement> statements;
  const Words words = split_words(told.prompt);
  if (task.info().vocab_size == 261) {
    for (std::size_t i = 0; i + 3 < words.size(); ++i) {
      if (words[i] == "Let" && words[i + 2] == "be") {
        statements.push_back({words[i + 1], words[i + 3].substr(0, words[i + 3].size() - 1)});
      }
    }
  } else {
    for (std::size_t i = 0; i + 5 < words.size(); ++i) {
      if (words[i] == "345")
        statements.push_back({words[i + 1] + " " + words[i + 2], words[i + 4] + " " + words[i + 5]});
    }
  }
  return statements;
}

std::string asked_value(const Task& task, const Story& told) {
  if (task.info().vocab_size == 261) {
    const std::size_t at = told.prompt.rfind("stand for ");
    return told.prompt.substr(at + 10, 6);
  }
  const Words words = split_words(told.prompt);
  return words[words.size() - 3] + " " + words[words.size() - 2];
}

// 10,000 samples: one chain or several, ids and bytes. Brute force: give every name its value in order of the text
// (the law of the original: an assignment stands after what it refers to), then list the names with the value asked.
TEST(VariableTracking, BruteForceAgrees) {
  struct Case {
    std::string spec;
    std::size_t chains, names;
  };
  for (const Case& c : {Case{"variable-tracking", 1, 5},
                        {"variable-tracking:chains=4", 4, 5},
                        {"variable-tracking:tokens=bytes", 1, 5},
                        {"variable-tracking:chains=3,hops=2,tokens=bytes", 3, 3}}) {
    const std::unique_ptr<Task> task = make(c.spec);
    for (const std::int64_t length : {task->min_length(), task->min_length() + 3, task->min_length() + 200}) {
      for (std::uint64_t i = 0; i < (length > task->min_length() + 3 ? 500U : 1000U); ++i) {
        const Sample sample = draw(*task, length, i);
        ASSERT_EQ(static_cast<std::int64_t>(sample.tokens.size()), length - 1);
        const Story told = story(*task, sample);
        std::map<std::string, std::string> value;
        std::set<std::string> names, values;
        Words expected;
        const std::vector<Statement> statements = statements_of(*task, told);
        for (const Statement& statement : statements) {
          const bool by_name = value.contains(statement.right);
          value[statement.name] = by_name ? value[statement.right] : statement.right;
          names.insert(statement.name);
          values.insert(value[statement.name]);
          if (value[statement.name] == asked_value(*task, told)) expected.push_back(statement.name);
        }
        ASSERT_EQ(statements.size(), c.chains * c.names);
        EXPECT_EQ(names.size(), statements.size()) << "L7: names never repeat";
        EXPECT_EQ(values.size(), c.chains);
        ASSERT_EQ(expected.size(), c.names);
        ASSERT_EQ(answers_of(*task, told), expected);
        ASSERT_EQ(task->solve(sample.tokens, positions_of(sample)), targets_of(sample));
      }
    }
  }
}

// Statements stand at lines drawn without replacement: with 5 of 20 line ends each is taken equally often.
TEST(VariableTracking, LinesAreUniform) {
  const std::unique_ptr<Task> task = make("variable-tracking");
  // BOS, query 3, SEP, answers 10: 15; five statements 30; 19 lines 95.
  std::vector<std::int64_t> counts(20);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const Sample sample = draw(*task, 140, i);
    std::size_t noise = 0;
    for (std::size_t t = 1; sample.tokens[t] != 347; ++t) {
      if (sample.tokens[t] == 345) ++counts.at(noise / 5);
      noise += sample.tokens[t] < 25 ? 1U : 0U;
    }
    EXPECT_EQ(noise, 95U);
  }
  // Places of one sample exclude each other, which makes counts more even than independent ones: a safe side.
  EXPECT_GT(p_value(counts), kLevel);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 50000);
}

// Words of the list, with dots as "dots".
Words list_of(const Task& task, const Story& told) {
  Words words = split_words(told.prompt.substr(0, told.prompt.rfind("\nQuestion"))), list;
  if (task.info().vocab_size == 261) {
    std::replace(words.begin(), words.end(), std::string("......"), std::string("dots"));
    return words;
  }
  for (std::size_t i = 0; i + 2 < words.size(); i += 2) {
    list.push_back(words[i] == "256" ? "dots" : words[i] + " " + words[i + 1]);
  }
  return list;
}

std::map<std::string, std::int64_t> counted(const Words& list) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& word : list) ++counts[word];
  return counts;
}

TEST(CommonWords, BruteForceAgrees) {
  for (const std::string tokens : {"ids", "bytes"}) {
    const std::unique_ptr<Task> task = make("common-words:tokens=" + tokens);
    for (const std::int64_t length : {task->min_length(), std::int64_t{700}, std::int64_t{4096}}) {
      const std::int64_t times = length < 4096 ? 6 : 30, others = length < 4096 ? 1 : 3;
      for (std::uint64_t i = 0; i < (length < 700 ? 4000U : length < 4096 ? 900U : 100U); ++i) {
        const Sample sample = draw(*task, length, i);
        const Story told = story(*task, sample);
        const Words list = list_of(*task, told);
        Words expected;
        std::set<std::string> seen;
        std::map<std::string, std::int64_t> counts = counted(list);
        for (const std::string& word : list) {
          if (counts[word] == times && seen.insert(word).second) expected.push_back(word);
        }
        ASSERT_EQ(expected.size(), 10U);
        ASSERT_EQ(answers_of(*task, told), expected);
        ASSERT_EQ(task->solve(sample.tokens, positions_of(sample)), targets_of(sample));
        for (const auto& [word, count] : counts) EXPECT_TRUE(count == times || count == others) << word;
        const std::int64_t used = static_cast<std::int64_t>(sample.tokens.size()) + 1;
        EXPECT_LE(used, length);
        EXPECT_GT(used, length - others * (tokens == "ids" ? 2 : 7));
      }
    }
  }
}

// The original shuffles every list alike; here the place of the first common word moves.
TEST(CommonWords, OrderIsDrawnForEachSample) {
  const std::unique_ptr<Task> task = make("common-words:common=1,others=1,times=2");
  std::vector<std::int64_t> counts(20);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const Sample sample = draw(*task, 44, i);  // BOS, 20 words, SEP, one answer
    counts.at(static_cast<std::size_t>((sample.sources[0] - 1) / 2)) += 1;
  }
  // First of two places among 20: place p with weight 19 - p.
  std::vector<double> shares;
  for (int place = 0; place < 20; ++place) shares.push_back(19 - place);
  shares.pop_back();
  EXPECT_EQ(counts.back(), 0);
  counts.pop_back();
  EXPECT_GT(p_value(counts, shares), kLevel);
}

TEST(CommonWords, RefusesWhatMakesNoWordCommon) {
  EXPECT_THROW(make("common-words:others=6"), Error);
  EXPECT_THROW(make("common-words:others=6,times=6"), Error);
  EXPECT_NO_THROW(make("common-words:others=5"));
  // Long enough for the longer list by its length, but not with a hundred common words: the short law holds.
  EXPECT_EQ(draw(*make("common-words:common=100,tokens=bytes"), 6000, 0).scored.size(), 600U);
  try {
    draw(*make("common-words"), 1 << 22, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the longest length is"));
    const std::string text = error.what();
    const std::int64_t longest = std::stoll(text.substr(text.rfind(' ') + 1));
    EXPECT_NO_THROW(draw(*make("common-words"), longest, 0));
    EXPECT_THROW(draw(*make("common-words"), longest + 6, 0), Error);
  }
}

TEST(FrequentWords, BruteForceAgreesAndNoAnswerIsATie) {
  for (const std::string tokens : {"ids", "bytes"}) {
    const std::unique_ptr<Task> task = make("frequent-words:tokens=" + tokens);
    for (const std::int64_t length : {task->min_length(), std::int64_t{600}, std::int64_t{3000}}) {
      for (std::uint64_t i = 0; i < (length < 3000 ? 2400U : 200U); ++i) {
        const Sample sample = draw(*task, length, i);
        const Story told = story(*task, sample);
        std::map<std::string, std::int64_t> counts = counted(list_of(*task, told));
        counts.erase("dots");
        std::multimap<std::int64_t, std::string, std::greater<>> ranked;
        for (const auto& [word, count] : counts) ranked.emplace(count, word);
        Words expected;
        std::int64_t before = std::numeric_limits<std::int64_t>::max();
        for (const auto& [count, word] : ranked) {
          EXPECT_LT(count, before) << "a tie at rank " << expected.size() + 2;
          before = count;
          if (expected.size() == 3) break;
          expected.push_back(word);
        }
        ASSERT_EQ(answers_of(*task, told), expected);
        ASSERT_EQ(task->solve(sample.tokens, positions_of(sample)), targets_of(sample));
        EXPECT_LE(static_cast<std::int64_t>(sample.tokens.size()) + 1, length);
      }
    }
  }
}

// Shares of the zeta law with exponent 2: 1 / (k^2 zeta(2)) for each rank.
TEST(FrequentWords, SharesAreThoseOfTheZetaLaw) {
  const std::unique_ptr<Task> task = make("frequent-words");
  const Words list = list_of(*task, story(*task, draw(*task, 65536, 0)));
  std::vector<std::int64_t> counts;
  for (const auto& [word, count] : counted(list)) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  EXPECT_EQ(counted(list)["dots"], counts[0]);
  const double total = static_cast<double>(list.size()), zeta = std::acos(-1.0) * std::acos(-1.0) / 6;
  EXPECT_GT(total, 32000);
  for (std::size_t k = 1; k <= 4; ++k) {
    const double share = 1 / (static_cast<double>(k * k) * zeta);
    EXPECT_NEAR(static_cast<double>(counts[k - 1]) / total, share, 0.01 * share) << k;
  }
  EXPECT_NEAR(static_cast<double>(counts[0]) / total, 0.61, 0.01);
  EXPECT_NEAR(static_cast<double>(counts[1]) / total, 0.15, 0.01);
  EXPECT_NEAR(static_cast<double>(counts[2]) / total, 0.068, 0.001);
  EXPECT_NEAR(static_cast<double>(counts[3]) / total, 0.038, 0.001);
}

// From a first rank of 32 on, ranks 2, 3, 4 and 5 have different counts, whatever the length.
TEST(FrequentWords, RanksTwoToFiveAlwaysDiffer) {
  for (std::int64_t first = 32; first < 100000; ++first) {
    ASSERT_TRUE(first / 4 > first / 9 && first / 9 > first / 16 && first / 16 > first / 25) << first;
  }
}

}  // namespace
}  // namespace lenbench
