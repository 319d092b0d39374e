// Counting words, with the structure of two tasks of RULER (arXiv 2404.06654).
//
// As ids: a word is two of the symbols 0..255, "dots" twice the id 256, then pad, bos, eos, mask, sep. Fed: BOS, the
// words, SEP, the answers. As bytes: BOS, words of words.h with a space behind each, a question, "\nAnswer: ", the
// answers with ", " between them.
//
//   common-words    some words occur `times` times, all others `others` times, in random order. The answer is the
//                   common words in order of their first place (the original accepts any order, and numbers the list).
//                   auto: 30 and 3, below length 4096 or where those do not fit 6 and 1.
//   frequent-words  the word of rank k occurs floor(n / k^2) times, the zeta law with exponent 2 (shares 0.61, 0.15,
//                   0.068, 0.038 ...), for ranks up to max(5, L / 50); rank 1 is written as dots. The answer is ranks
//                   2, 3 and 4. n is the largest that fits; from 32 on these ranks differ, so no answer is a tie.
//
// Words are drawn for each sample and their order too (the original shuffles every list alike). Prompt with BOS plus
// answer never exceed L; facts: `fill` is the share used. The original's solved example is left out.
#include <algorithm>

#include "base/error.h"
#include "tasks/entry.h"
#include "tasks/words.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kWords, kOrder };

constexpr std::int32_t kDots = 256;
constexpr std::int64_t kDotsWord = -1;  // in a list of word numbers
constexpr std::string_view kDotsText = "......";
constexpr std::string_view kQuestion = "\nQuestion: ", kAnswer = "\nAnswer: ";
constexpr std::int64_t kTokensAnUncommonRank = 50;
constexpr std::int64_t kMinFirstRank = 32;
constexpr std::int64_t kShortList = 4096;  // below it RULER lists fewer repeats
constexpr std::int64_t kFrequentAnswers = 3;

// A list of words with its answer; the law of the list is the derived task's.
class WordCountTask : public Task {
 public:
  WordCountTask(const TaskEntry& entry, const TaskParameters& resolved, std::int64_t answers, std::string question)
      : script_(word_of(resolved, "tokens") == "bytes" ? WordScript::bytes() : WordScript::ids(0)),
        answers_(answers),
        question_(std::string(kQuestion) + std::move(question) + std::string(kAnswer)),
        info_(describe(entry, resolved)),
        streams_(info_) {
    info_.specials = specials_from(script_.is_bytes() ? kNumBytes : kDots + 1);
    info_.vocab_size = info_.specials.sep + 1;
  }

  const TaskInfo& info() const override { return info_; }
  double chance() const override { return 1.0 / static_cast<double>(script_.num_words()); }
  std::int64_t total_tokens(std::int64_t length) const override {
    return frame_tokens() + num_listed(length) * unit_tokens() - 1;
  }
  std::int64_t min_length() const override { return min_length_; }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::int64_t distinct = num_distinct(key.length);
    if (distinct > script_.num_words()) {
      throw Error(info_.name + ": length " + std::to_string(key.length) + " needs " + std::to_string(distinct) +
                  " distinct words and there are " + std::to_string(script_.num_words()) + "; the longest length is " +
                  std::to_string(longest()));
    }
    const std::vector<std::int64_t> counts = counts_by_rank(key.length);
    const std::vector<std::int64_t> words = streams_.stream(key, kWords).distinct(distinct, script_.num_words());
    std::vector<std::int64_t> list;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      list.insert(list.end(), static_cast<std::size_t>(counts[rank]),
                  rank == 0 && has_dots() ? kDotsWord : words[rank]);
    }
    Rng order = streams_.stream(key, kOrder);
    order.shuffle(list);

    Sample sample;
    sample.tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    sample.tokens.push_back(info_.specials.bos);
    for (const std::int64_t word : list) put_unit(sample.tokens, word);
    put_question(sample.tokens);
    sample.prompt_tokens = static_cast<std::int64_t>(sample.tokens.size());
    const auto first = words.begin() + (has_dots() ? 1 : 0);
    std::vector<Counted> asked;
    for (auto word = first; word != first + answers_; ++word) {
      asked.push_back({*word, 0, std::find(list.begin(), list.end(), *word) - list.begin()});
    }
    if (by_place()) std::sort(asked.begin(), asked.end(), earlier);
    std::vector<std::int64_t> answer, sources;
    DistanceFacts distances;
    for (const Counted& word : asked) {
      answer.push_back(word.word);
      sources.push_back(1 + word.first * unit_tokens());
      distances.add(sample.prompt_tokens - sources.back());
    }
    script_.put_answers(sample, answer, sources);
    sample.facts["words"] = static_cast<double>(list.size());
    sample.facts["distinct_words"] = static_cast<double>(distinct);
    sample.facts["pads"] = static_cast<double>(has_dots() ? counts[0] * unit_tokens() : 0);
    distances.put(sample);
    sample.facts["fill"] = static_cast<double>(total_tokens(key.length) + 1) / static_cast<double>(key.length);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    // The list ends where no word stands; the question behind it has one length.
    std::vector<std::int64_t> list;
    std::size_t at = 1;
    for (; at + static_cast<std::size_t>(unit_tokens()) <= tokens.size();
         at += static_cast<std::size_t>(unit_tokens())) {
      const std::int64_t word = read_unit(tokens.subspan(at));
      if (word < kDotsWord) break;
      list.push_back(word);
    }
    const std::vector<std::int64_t> answer = most_frequent(list);
    const std::int64_t first_row = static_cast<std::int64_t>(at) + question_tokens() - 1;
    return solve_rows(positions,
                      [&](std::int64_t position) { return script_.answer_at(answer, position - first_row); });
  }

 protected:
  const WordScript& script() const { return script_; }
  std::int64_t answers() const { return answers_; }
  // To be called at the end of a constructor, when counts_by_rank() works.
  void settle(std::int64_t fewest_listed, std::vector<WorkedExample> examples) {
    min_length_ = frame_tokens() + fewest_listed * unit_tokens();
    info_.examples = std::move(examples);
  }
  // Words that fit beside the frame.
  std::int64_t capacity(std::int64_t length) const { return (length - frame_tokens()) / unit_tokens(); }

  // How often each word stands in the list. Rank 0 is written as dots when has_dots().
  virtual std::vector<std::int64_t> counts_by_rank(std::int64_t length) const = 0;
  virtual bool has_dots() const = 0;
  virtual std::int64_t num_distinct(std::int64_t length) const = 0;
  // Whether the answer is in order of first place, or else of frequency.
  virtual bool by_place() const = 0;

 private:
  struct Counted {
    std::int64_t word, count, first;  // first: its first place in the list
  };
  static bool earlier(const Counted& a, const Counted& b) { return a.first < b.first; }

  // The answer, from a list alone: its most frequent words but dots.
  std::vector<std::int64_t> most_frequent(const std::vector<std::int64_t>& list) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i] != kDotsWord) places.emplace_back(list[i], static_cast<std::int64_t>(i));
    }
    std::sort(places.begin(), places.end());
    std::vector<Counted> words;
    for (const auto& [word, place] : places) {
      if (words.empty() || words.back().word != word) words.push_back({word, 0, place});
      ++words.back().count;
    }
    std::sort(words.begin(), words.end(), [](const Counted& a, const Counted& b) {
      return a.count != b.count ? a.count > b.count : earlier(a, b);
    });
    words.resize(std::min(words.size(), static_cast<std::size_t>(answers_)));
    if (by_place()) std::sort(words.begin(), words.end(), earlier);
    std::vector<std::int64_t> answer;
    for (const Counted& word : words) answer.push_back(word.word);
    return answer;
  }
  std::int64_t unit_tokens() const { return script_.word_tokens() + (script_.is_bytes() ? 1 : 0); }
  std::int64_t question_tokens() const { return script_.is_bytes() ? static_cast<std::int64_t>(question_.size()) : 1; }
  // Everything but the list: BOS, question or SEP, answers.
  std::int64_t frame_tokens() const { return 1 + question_tokens() + script_.answer_tokens(answers_); }
  std::int64_t num_listed(std::int64_t length) const {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts_by_rank(length)) sum += count;
    return sum;
  }
  // The longest length whose words are all distinct.
  std::int64_t longest() const {
    std::int64_t low = min_length_, high = kMaxLength;
    while (low < high) {
      const std::int64_t middle = (low + high + 1) / 2;
      const bool fits = num_distinct(middle) <= script_.num_words();
      (fits ? low : high) = fits ? middle : middle - 1;
    }
    return low;
  }

  void put_unit(std::vector<std::int32_t>& tokens, std::int64_t word) const {
    if (word == kDotsWord) {
      if (script_.is_bytes()) append_bytes(tokens, kDotsText);
      if (!script_.is_bytes()) tokens.insert(tokens.end(), 2, kDots);
    } else {
      script_.put(tokens, word);
    }
    if (script_.is_bytes()) tokens.push_back(' ');
  }
  // The word at the front, kDotsWord for dots, less for neither.
  std::int64_t read_unit(std::span<const std::int32_t> tokens) const {
    const std::int64_t word = script_.read(tokens);
    if (word >= 0) return word;
    std::vector<std::int32_t> dots;
    put_unit(dots, kDotsWord);
    return std::equal(dots.begin(), dots.end(), tokens.begin()) ? kDotsWord : kDotsWord - 1;
  }
  void put_question(std::vector<std::int32_t>& tokens) const {
    if (script_.is_bytes()) append_bytes(tokens, question_);
    if (!script_.is_bytes()) tokens.push_back(info_.specials.sep);
  }

  WordScript script_;
  std::int64_t answers_;
  std::string question_;
  std::int64_t min_length_ = 0;
  TaskInfo info_;
  SampleStreams streams_;
};

std::int64_t count_or(const TaskParameters& resolved, const std::string& name, std::int64_t automatic) {
  return word_of(resolved, name) == "auto" ? automatic : integer_of(resolved, name);
}

class CommonWordsTask : public WordCountTask {
 public:
  CommonWordsTask(const TaskEntry& entry, const TaskParameters& resolved)
      : WordCountTask(entry, resolved, integer_of(resolved, "common"),
                      "Which " + word_of(resolved, "common") +
                          " words come most often? Name them in the order in which they first come."),
        given_times_(count_or(resolved, "times", 0)),
        given_others_(count_or(resolved, "others", 0)) {
    for (const bool long_list : {false, true}) {
      if (times(long_list) > others(long_list)) continue;
      throw Error("common-words: times=" + std::to_string(times(long_list)) +
                  " with others=" + std::to_string(others(long_list)) + (long_list ? " from" : " below") +
                  " length 4096 makes no word common; use more times or fewer others");
    }
    settle(
        answers() * times(false) + others(false),
        {{"words 0 1 and 2 3 stand twice and all others once; the task's ten are the ten most frequent, and this list "
          "has three words",
          {258, 2, 3, 0, 1, 5, 6, 0, 1, 2, 3, 261, 2, 3, 0, 1, 5},
          {2, 3, 0, 1, 5, 6},
          {11, 12, 13, 14, 15, 16}},
         {"symbols are counted as words of two: 1 2 stands twice, 2 1 once",
          {258, 1, 2, 2, 1, 1, 2, 261, 1},
          {1, 2},
          {7, 8}}});
  }

 private:
  std::int64_t times(bool long_list) const { return given_times_ > 0 ? given_times_ : long_list ? 30 : 6; }
  std::int64_t others(bool long_list) const { return given_others_ > 0 ? given_others_ : long_list ? 3 : 1; }
  bool is_long(std::int64_t length) const {
    return length >= kShortList && capacity(length) >= answers() * times(true) + others(true);
  }
  std::vector<std::int64_t> counts_by_rank(std::int64_t length) const override {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(num_distinct(length)), others(is_long(length)));
    std::fill_n(counts.begin(), answers(), times(is_long(length)));
    return counts;
  }
  std::int64_t num_distinct(std::int64_t length) const override {
    const bool long_list = is_long(length);
    return answers() + (capacity(length) - answers() * times(long_list)) / others(long_list);
  }
  bool has_dots() const override { return false; }
  bool by_place() const override { return true; }

  std::int64_t given_times_, given_others_;  // 0: auto
};

class FrequentWordsTask : public WordCountTask {
 public:
  FrequentWordsTask(const TaskEntry& entry, const TaskParameters& resolved)
      : WordCountTask(entry, resolved, kFrequentAnswers,
                      "Dots left aside, which three words come most often? Name the most frequent first.") {
    std::int64_t fewest = 0;
    for (const std::int64_t count : zeta_counts(kMinFirstRank, 5)) fewest += count;
    settle(fewest,
           {{"dots do not count; 7 7 stands three times, 1 2 twice, 9 0 once",
             {258, 7, 7, 256, 256, 1, 2, 7, 7, 9, 0, 256, 256, 1, 2, 7, 7, 256, 256, 256, 256, 261, 7, 7, 1, 2, 9},
             {7, 7, 1, 2, 9, 0},
             {21, 22, 23, 24, 25, 26}},
            {"the most frequent comes first, wherever it stands",
             {258, 4, 4, 3, 3, 2, 2, 3, 3, 2, 2, 2, 2, 261, 2, 2, 3, 3, 4},
             {2, 2, 3, 3, 4, 4},
             {13, 14, 15, 16, 17, 18}}});
  }

 private:
  static std::vector<std::int64_t> zeta_counts(std::int64_t first, std::int64_t ranks) {
    std::vector<std::int64_t> counts;
    for (std::int64_t rank = 1; rank <= ranks && first / (rank * rank) > 0; ++rank) {
      counts.push_back(first / (rank * rank));
    }
    return counts;
  }
  std::vector<std::int64_t> counts_by_rank(std::int64_t length) const override {
    const std::int64_t ranks = std::max<std::int64_t>(5, length / kTokensAnUncommonRank), room = capacity(length);
    std::int64_t low = kMinFirstRank, high = std::max(room, kMinFirstRank);
    while (low < high) {
      const std::int64_t first = (low + high + 1) / 2;
      std::int64_t sum = 0;
      for (const std::int64_t count : zeta_counts(first, ranks)) sum += count;
      (sum <= room ? low : high) = sum <= room ? first : first - 1;
    }
    return zeta_counts(low, ranks);
  }
  std::int64_t num_distinct(std::int64_t length) const override {
    return static_cast<std::int64_t>(counts_by_rank(length).size());
  }
  bool has_dots() const override { return true; }
  bool by_place() const override { return false; }
};

}  // namespace

const TaskEntry& common_words_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "common-words";
    made.comparability =
        "inspired: common words of RULER (arXiv 2404.06654), on ids or bytes, answers in order, no numbers, no example";
    made.summary = "a list in which a few words stand many times and all others a few times: which words?";
    made.published =
        "10 common words 30 times each and all others 3 times (6 and 1 below 4096 tokens); prompt and 120 generated "
        "tokens "
        "fit the length; a numbered list, one solved example; scored by substring";
    made.parameters = {
        {"tokens", "ids", "what the words are written in", {"ids", "bytes"}},
        {"common", "10", "words that stand often", {}, 1, 1000},
        {"times", "auto", "how often (auto: 30, below length 4096 6)", {"auto"}, 2, 10000},
        {"others", "auto", "how often all others stand (auto: 3, below length 4096 1)", {"auto"}, 1, 10000}};
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<CommonWordsTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

const TaskEntry& frequent_words_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "frequent-words";
    made.comparability =
        "inspired: frequent words of RULER (arXiv 2404.06654), on ids or bytes, answers in order, no ties, no example";
    made.summary = "words by a zeta law; which are the three most frequent besides dots?";
    made.published =
        "zeta law with exponent 2 over length/50 random words of six letters, the most frequent replaced by dots; "
        "prompt "
        "and 50 generated tokens fit the length; scored by substring";
    made.parameters = {{"tokens", "ids", "what the words are written in", {"ids", "bytes"}}};
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<FrequentWordsTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
