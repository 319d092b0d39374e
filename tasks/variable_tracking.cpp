// Variable tracking with the structure of RULER's (arXiv 2404.06654): chains of assignments in noise, the question
// names a value, the answer is every name that has it, in the order of the chain.
//
// As ids: noise 0..24 in lines of five, names are two of the symbols 25..280, values two of 281..344, let mark 345,
// equals mark 346, query mark 347, then pad, bos, eos, mask, sep. A statement is let, name, equals, value or name (6
// tokens). Fed: BOS, body, query mark and value, SEP, the names.
// As bytes: statements "Let tamiko be 482133." and "Let reluba be tamiko.", one a line, noise as in niah-bytes; then
// "\nQuestion: Which names stand for 482133?\nAnswer: " and the names with ", " between them.
//
// A chain has one name more than hops. Statements stand at distinct line ends, those of a chain in its order; chains
// are mixed at random; min-distance= and max-distance= choose the line ends by the noise behind them. Names and values
// never repeat. Prompt with BOS plus answer fill L exactly. The original shows a solved example first; here there is
// none.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "tasks/entry.h"
#include "tasks/haystack.h"
#include "tasks/words.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kNames, kValues, kPlaces, kOrder };

constexpr std::int32_t kNoiseCycle = 25;
constexpr std::int64_t kNoiseTokens = 5;  // a line of ids
constexpr std::int32_t kName0 = kNoiseCycle;
constexpr std::int32_t kValue0 = kName0 + 256;
constexpr std::int32_t kValueSymbols = 64;
constexpr std::int32_t kLet = kValue0 + kValueSymbols;
constexpr std::int32_t kEquals = kLet + 1;
constexpr std::int32_t kQuery = kEquals + 1;
constexpr std::int32_t kFirstSpecial = kQuery + 1;
constexpr std::int64_t kFirstNumber = 100000, kNumbers = 900000;
constexpr std::string_view kQuestion = "\nQuestion: Which names stand for ", kAnswer = "?\nAnswer: ";

using Tokens = std::vector<std::int32_t>;

class VariableTrackingTask : public Task {
 public:
  VariableTrackingTask(const TaskEntry& entry, const TaskParameters& resolved)
      : script_(word_of(resolved, "tokens") == "bytes" ? WordScript::bytes() : WordScript::ids(kName0)),
        chains_(integer_of(resolved, "chains")),
        names_(integer_of(resolved, "hops") + 1),
        distances_(distance_range(entry, resolved, chains_ * names_ * line_tokens())),
        info_(describe(entry, resolved)),
        streams_(info_) {
    info_.specials = specials_from(script_.is_bytes() ? kNumBytes : kFirstSpecial);
    info_.vocab_size = info_.specials.sep + 1;
    info_.examples = worked_examples();
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override {
    const std::int64_t statements = chains_ * names_;
    return frame_tokens() + statements * statement_tokens() + (statements - 1) * line_tokens() + distances_.least;
  }
  std::int64_t total_tokens(std::int64_t length) const override { return length - 1; }
  double chance() const override { return 1.0 / static_cast<double>(script_.num_words()); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::int64_t statements = chains_ * names_;
    const std::int64_t noise = key.length - frame_tokens() - statements * statement_tokens();
    const std::vector<std::int64_t> names = streams_.stream(key, kNames).distinct(statements, script_.num_words());
    const std::vector<std::int64_t> values = streams_.stream(key, kValues).distinct(chains_, num_values());
    const std::int64_t first = distances_.first(noise, line_tokens()), last = distances_.last(noise, line_tokens());
    std::vector<std::int64_t> places = streams_.stream(key, kPlaces).distinct(statements, last - first + 1);
    for (std::int64_t& place : places) place += first;
    std::sort(places.begin(), places.end());
    std::vector<std::int64_t> chain_of;
    for (std::int64_t i = 0; i < statements; ++i) chain_of.push_back(i / names_);
    Rng order = streams_.stream(key, kOrder);
    order.shuffle(chain_of);

    Sample sample;
    sample.tokens.reserve(static_cast<std::size_t>(key.length));
    sample.tokens.push_back(info_.specials.bos);
    const Tokens hay = noise_tokens(noise);
    std::vector<std::int64_t> done(static_cast<std::size_t>(chains_)), answers, sources;
    DistanceFacts distances;
    std::size_t used = 0;
    for (std::size_t i = 0; i < chain_of.size(); ++i) {
      const auto until = static_cast<std::size_t>(places[i] * line_tokens());
      sample.tokens.insert(sample.tokens.end(), hay.begin() + static_cast<std::ptrdiff_t>(used),
                           hay.begin() + static_cast<std::ptrdiff_t>(until));
      used = until;
      const std::int64_t chain = chain_of[i];
      std::int64_t& step = done[static_cast<std::size_t>(chain)];
      const auto name = [&](std::int64_t at) { return names[static_cast<std::size_t>(chain * names_ + at)]; };
      if (chain == 0) {
        answers.push_back(name(step));
        sources.push_back(static_cast<std::int64_t>(sample.tokens.size()) + (script_.is_bytes() ? 4 : 1));
        distances.add(key.length - frame_tokens() + 1 - sources.back());
      }
      put_statement(sample.tokens, name(step),
                    step == 0 ? value_tokens(values[static_cast<std::size_t>(chain)]) : word_tokens(name(step - 1)));
      ++step;
    }
    sample.tokens.insert(sample.tokens.end(), hay.begin() + static_cast<std::ptrdiff_t>(used), hay.end());
    put_question(sample.tokens, value_tokens(values[0]));
    sample.prompt_tokens = static_cast<std::int64_t>(sample.tokens.size());
    script_.put_answers(sample, answers, sources);
    sample.facts["pairs"] = static_cast<double>(statements);
    sample.facts["pads"] = static_cast<double>(noise);
    sample.facts["density"] = static_cast<double>(statements) / static_cast<double>(key.length - frame_tokens());
    distances.put(sample);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    // The question stands before every judged row, so the chain it asks for is the same for all of them.
    const Tokens ask = question_mark();
    const auto question = std::search(tokens.begin(), tokens.end(), ask.begin(), ask.end());
    const std::int64_t first_row = (question - tokens.begin()) + question_tokens() - 1;
    std::vector<std::int64_t> chain;
    if (first_row < static_cast<std::int64_t>(tokens.size())) {
      const auto value = question + static_cast<std::ptrdiff_t>(ask.size());
      chain = chain_of(tokens.first(static_cast<std::size_t>(question - tokens.begin())),
                       Tokens(value, value + static_cast<std::ptrdiff_t>(width())));
    }
    return solve_rows(positions, [&](std::int64_t position) { return script_.answer_at(chain, position - first_row); });
  }

 private:
  std::int64_t line_tokens() const {
    return script_.is_bytes() ? static_cast<std::int64_t>(kNoiseLine.size()) : kNoiseTokens;
  }
  std::int64_t statement_tokens() const { return script_.is_bytes() ? 22 : 6; }
  std::int64_t num_values() const {
    return script_.is_bytes() ? kNumbers : std::int64_t{kValueSymbols} * kValueSymbols;
  }
  std::int64_t question_tokens() const {
    return script_.is_bytes() ? static_cast<std::int64_t>(kQuestion.size() + 6 + kAnswer.size()) : 4;
  }
  // Everything but the body: BOS, question, answers.
  std::int64_t frame_tokens() const { return 1 + question_tokens() + script_.answer_tokens(names_); }

  Tokens word_tokens(std::int64_t word) const {
    Tokens tokens;
    script_.put(tokens, word);
    return tokens;
  }
  Tokens value_tokens(std::int64_t value) const {
    Tokens tokens;
    if (script_.is_bytes()) {
      append_bytes(tokens, std::to_string(kFirstNumber + value));
    } else {
      tokens = {kValue0 + static_cast<std::int32_t>(value / kValueSymbols),
                kValue0 + static_cast<std::int32_t>(value % kValueSymbols)};
    }
    return tokens;
  }
  Tokens noise_tokens(std::int64_t count) const {
    Tokens tokens;
    if (script_.is_bytes()) {
      append_bytes(tokens, running_text(kNoiseLine, 0, count));
    } else {
      for (std::int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<std::int32_t>(i % kNoiseCycle));
    }
    return tokens;
  }
  void put_statement(Tokens& tokens, std::int64_t name, const Tokens& right) const {
    const bool bytes = script_.is_bytes();
    if (bytes) {
      append_bytes(tokens, "Let ");
    } else {
      tokens.push_back(kLet);
    }
    script_.put(tokens, name);
    if (bytes) {
      append_bytes(tokens, " be ");
    } else {
      tokens.push_back(kEquals);
    }
    tokens.insert(tokens.end(), right.begin(), right.end());
    if (bytes) append_bytes(tokens, ".\n");
  }
  void put_question(Tokens& tokens, const Tokens& value) const {
    if (script_.is_bytes()) {
      append_bytes(tokens, kQuestion);
      tokens.insert(tokens.end(), value.begin(), value.end());
      append_bytes(tokens, kAnswer);
    } else {
      tokens.push_back(kQuery);
      tokens.insert(tokens.end(), value.begin(), value.end());
      tokens.push_back(info_.specials.sep);
    }
  }

  std::size_t width() const { return script_.is_bytes() ? 6 : 2; }  // of a name or value
  Tokens question_mark() const {
    if (!script_.is_bytes()) return {kQuery};
    Tokens tokens;
    append_bytes(tokens, kQuestion);
    return tokens;
  }

  // Names in the order in which they follow from `value`: each is set to the one before it.
  std::vector<std::int64_t> chain_of(std::span<const std::int32_t> body, const Tokens& value) const {
    const bool bytes = script_.is_bytes();
    const std::size_t left_at = bytes ? 4 : 1, right_at = bytes ? 14 : 4;
    const Tokens let = bytes ? Tokens{'L', 'e', 't', ' '} : Tokens{kLet};
    std::map<Tokens, std::int64_t> set_to;  // right side -> name
    for (std::size_t at = 1; at + right_at + width() <= body.size(); ++at) {
      if (!std::equal(let.begin(), let.end(), body.begin() + static_cast<std::ptrdiff_t>(at))) continue;
      const auto right = body.subspan(at + right_at, width());
      set_to[Tokens(right.begin(), right.end())] = script_.read(body.subspan(at + left_at));
    }
    std::vector<std::int64_t> chain;
    for (Tokens current = value; static_cast<std::int64_t>(chain.size()) < names_;) {
      const auto next = set_to.find(current);
      if (next == set_to.end()) break;
      chain.push_back(next->second);
      current = word_tokens(next->second);
    }
    return chain;
  }

  static std::vector<WorkedExample> worked_examples() {
    // Names 25 26 and so on; values 281 282 and 300 301.
    return {{"value 281 282 goes to 30 31, from there to 40 41 and 50 51; the task asks for five names, this chain has "
             "them",
             {349, 345, 30,  31, 346, 281, 282, 0,   1,   2,  3,  4,   345, 40, 41,  346, 30, 31,
              5,   6,   7,   8,  9,   345, 50,  51,  346, 40, 41, 345, 60,  61, 346, 50,  51, 345,
              70,  71,  346, 60, 61,  347, 281, 282, 352, 30, 31, 40,  41,  50, 51,  60,  61, 70},
             {30, 31, 40, 41, 50, 51, 60, 61, 70, 71},
             {44, 45, 46, 47, 48, 49, 50, 51, 52, 53}},
            {"two chains; only the one of value 300 301 is asked for",
             {349, 345, 30, 31,  346, 281, 282, 345, 32, 33,  346, 300, 301, 345, 34, 35,
              346, 30,  31, 345, 36,  37,  346, 32,  33, 347, 300, 301, 352, 32,  33, 36},
             {32, 33, 36, 37},
             {28, 29, 30, 31}}};
  }

  WordScript script_;
  std::int64_t chains_, names_;
  DistanceRange distances_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& variable_tracking_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "variable-tracking";
    made.comparability =
        "inspired: variable tracking of RULER (arXiv 2404.06654), on ids or bytes, with other wording and no example";
    made.summary = "chains of assignments in noise; the question names a value, the answer is every name that has it";
    made.parameters = {{"tokens", "ids", "what the statements are written in", {"ids", "bytes"}},
                       {"chains", "1", "chains, of which one is asked for", {}, 1, 100},
                       {"hops", "4", "assignments of a name to a name in a chain", {}, 1, 100}};
    for (const ParameterSpec& spec : distance_parameters("of noise behind each statement")) {
      made.parameters.push_back(spec);
    }
    made.published =
        "1 chain of 4 hops, names of 5 letters, a start value of 5 digits; prompt and 30 generated tokens fit the "
        "length; one solved example; scored by substring";
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<VariableTrackingTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
