// Needle in a haystack as text: the eight needle tasks of RULER (arXiv 2404.06654) on bytes, in wording of our own.
//
// Fed: BOS, the body, "\nQuestion: Which number is filed under KEY?\nAnswer: ", then the values asked for with ", "
// between them; only the bytes of values are judged, and the last is not fed. A needle is "The number filed under KEY
// is VALUE." and one byte that parts it from what follows. Keys are words of words.h or codes, values numbers of seven
// digits or codes; a code is 32 hexadecimal digits and four hyphens with the marks of a random UUID.
//
//   kind         haystack  keys  values per key  queries  key / value
//   single-1     noise     1     1               1        word / number
//   single-2     essay     1     1               1        word / number
//   single-3     essay     1     1               1        word / code
//   multikey-1   essay     4     1               1        word / number
//   multikey-2   needles   all   1               1        word / number
//   multikey-3   needles   all   1               1        code / code
//   multivalue   essay     1     4               1        word / number
//   multiquery   essay     4     1               4        word / number
//
// Essay is running text of the documents from a random place on, around their end if need be; needles stand behind the
// sentence that ends last before one of RULER's 40 depths (0..100 per cent, rounded), all at distinct depths. Noise is
// five fixed sentences over and over, one a line, with needles between distinct lines.
//
// depth= puts the needle asked for at one depth; min-distance= and max-distance= put it where so many bytes of haystack
// (or of needles, in a haystack of needles) stand behind it, uniformly among the places there are: in an essay behind
// the sentence that ends last before any byte. Other needles behind it come on top; facts have the distance that came
// out.
//
// Length rule: prompt with BOS plus answer never exceed L. Noise and essay fill L exactly; a haystack of needles leaves
// less than one needle unused. Unlike in the original, keys and values never repeat, the order of needles is drawn for
// each sample, and a length that cannot hold the needles is refused.
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "tasks/entry.h"
#include "tasks/haystack.h"
#include "tasks/placement.h"
#include "tasks/words.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kKeys, kValues, kPlaces, kOrder, kEssay, kCodes, kAskedPlace };
enum class Haystack { kNoise, kEssay, kNeedles };
enum class Spelling { kWord, kNumber, kCode };

struct Kind {
  const char* name;
  Haystack haystack;
  std::int64_t keys, values, queries;
  Spelling key, value;
};

constexpr std::array<Kind, 8> kKinds = {{
    {"single-1", Haystack::kNoise, 1, 1, 1, Spelling::kWord, Spelling::kNumber},
    {"single-2", Haystack::kEssay, 1, 1, 1, Spelling::kWord, Spelling::kNumber},
    {"single-3", Haystack::kEssay, 1, 1, 1, Spelling::kWord, Spelling::kCode},
    {"multikey-1", Haystack::kEssay, 4, 1, 1, Spelling::kWord, Spelling::kNumber},
    {"multikey-2", Haystack::kNeedles, 1, 1, 1, Spelling::kWord, Spelling::kNumber},
    {"multikey-3", Haystack::kNeedles, 1, 1, 1, Spelling::kCode, Spelling::kCode},
    {"multivalue", Haystack::kEssay, 1, 4, 1, Spelling::kWord, Spelling::kNumber},
    {"multiquery", Haystack::kEssay, 4, 1, 4, Spelling::kWord, Spelling::kNumber},
}};

constexpr std::string_view kBetween = ", ";
constexpr std::string_view kAnswer = "\nAnswer: ";
constexpr std::string_view kQuestion = "\nQuestion: ";
constexpr auto kLine = static_cast<std::int64_t>(kNoiseLine.size());
constexpr std::int64_t kMinEssay = 200;  // haystack bytes below which depths would fall together
constexpr std::int64_t kFirstNumber = 1000000, kNumbers = 9000000;
constexpr std::int64_t kCodePrefixes = std::int64_t{1} << 32;

const Kind& kind_of(const std::string& name) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return name == kind.name; });
}

std::int64_t spelled_bytes(Spelling spelling) {
  return spelling == Spelling::kWord ? kSyllableWordBytes : spelling == Spelling::kNumber ? 7 : 36;
}

std::int64_t num_spelled(Spelling spelling) {
  return spelling == Spelling::kWord ? kNumSyllableWords : spelling == Spelling::kNumber ? kNumbers : kCodePrefixes;
}

std::string spelled(Spelling spelling, std::int64_t number, Rng& codes) {
  if (spelling == Spelling::kWord) return syllable_word(number);
  return spelling == Spelling::kNumber ? std::to_string(kFirstNumber + number) : uuid_text(number, codes);
}

struct Needle {
  std::string key, value;
  std::int64_t query;   // which query asks for it; the number of queries or more: none
  std::int64_t at = 0;  // position of its first byte in Sample::tokens
};

class NiahBytesTask : public Task {
 public:
  NiahBytesTask(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources& resources)
      : kind_(kind_of(word_of(resolved, "kind"))), info_(describe(entry, resolved)), streams_(info_) {
    for (const Document& document : checked_documents(entry, resources)) corpus_ += document.bytes + "\n";
    // Keys and values have one width each, so any will do to measure with.
    const std::string some_key(static_cast<std::size_t>(spelled_bytes(kind_.key)), 'k');
    const std::string some_value(static_cast<std::size_t>(spelled_bytes(kind_.value)), 'v');
    needle_bytes_ = static_cast<std::int64_t>(needle_text({some_key, some_value, 0}).size()) + 1;
    const std::vector<std::string> keys(static_cast<std::size_t>(kind_.queries), some_key);
    question_bytes_ = static_cast<std::int64_t>(question_text(keys).size());
    placement_.emplace(entry, resolved, step(), kind_.queries * kind_.values);
    info_.specials = specials_from(kNumBytes);
    info_.vocab_size = kNumBytes + kNumSpecials;
    info_.examples = worked_examples();
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override {
    const std::int64_t needles = kind_.keys * kind_.values;
    if (kind_.haystack == Haystack::kNeedles) {
      const std::int64_t behind = (placement_->least() + needle_bytes_ - 1) / needle_bytes_;
      return frame_tokens() + std::max(needles, 1 + behind) * needle_bytes_;
    }
    const std::int64_t hay = kind_.haystack == Haystack::kEssay ? kMinEssay : kLine;
    return frame_tokens() + needles * needle_bytes_ + std::max(hay, placement_->least());
  }
  std::int64_t total_tokens(std::int64_t length) const override { return used_tokens(length) - 1; }
  double chance() const override {
    return kind_.value == Spelling::kNumber ? 1.0 / static_cast<double>(kNumbers) : 0x1p-122;
  }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::int64_t body = used_tokens(key.length) - frame_tokens();
    const bool only_needles = kind_.haystack == Haystack::kNeedles;
    const std::int64_t total = only_needles ? body / needle_bytes_ : kind_.keys * kind_.values;
    if (total > std::min(num_spelled(kind_.key), num_spelled(kind_.value))) {
      throw Error("niah-bytes: length " + std::to_string(key.length) + " needs " + std::to_string(total) +
                  " distinct keys and there are " + std::to_string(num_spelled(kind_.key)) +
                  "; use another kind; the longest length is " +
                  std::to_string(frame_tokens() + num_spelled(kind_.key) * needle_bytes_));
    }
    std::vector<Needle> needles = draw_needles(key, total);
    const std::string hay = only_needles ? "" : haystack(key, body - total * needle_bytes_);

    Sample sample;
    sample.tokens.reserve(static_cast<std::size_t>(used_tokens(key.length)));
    sample.tokens.push_back(info_.specials.bos);
    put_body(sample.tokens, hay, draw_points(key, hay, total), needles);
    finish(sample, std::move(needles), body);
    sample.facts["fill"] = static_cast<double>(used_tokens(key.length)) / static_cast<double>(key.length);
    if (kind_.haystack == Haystack::kEssay) {
      sample.facts["haystack_turns"] = static_cast<double>(hay.size()) / static_cast<double>(corpus_.size());
    }
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    const std::string text = text_of(tokens);
    return solve_rows(positions, [&](std::int64_t position) { return solve_row(text, position); });
  }

 private:
  // Bytes from one place for a needle to the next.
  std::int64_t step() const {
    return kind_.haystack == Haystack::kNoise ? kLine : kind_.haystack == Haystack::kEssay ? 1 : needle_bytes_;
  }
  std::int64_t asked_place(const DrawKey& key, std::int64_t last, std::int64_t end) const {
    return placement_->place(streams_.stream(key, kAskedPlace), last, end);
  }

  bool codes() const { return kind_.value == Spelling::kCode; }
  std::string noun() const { return codes() ? "code" : "number"; }
  std::string needle_text(const Needle& needle) const {
    return "The " + noun() + " filed under " + needle.key + " is " + needle.value + ".";
  }
  std::string question_text(const std::vector<std::string>& keys) const {
    const bool one = kind_.queries * kind_.values == 1;
    std::string text = std::string(kQuestion) + "Which " + noun() + (one ? " is" : "s are") + " filed under ";
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0) text += i + 1 < keys.size() ? ", " : " and ";
      text += keys[i];
    }
    return text + "?" + std::string(kAnswer);
  }

  // Everything but the body: BOS, question, answers.
  std::int64_t frame_tokens() const {
    const std::int64_t answers = kind_.queries * kind_.values;
    return 1 + question_bytes_ + answers * spelled_bytes(kind_.value) +
           (answers - 1) * static_cast<std::int64_t>(kBetween.size());
  }
  // Prompt with BOS plus answer tokens.
  std::int64_t used_tokens(std::int64_t length) const {
    if (kind_.haystack != Haystack::kNeedles) return length;
    return length - (length - frame_tokens()) % needle_bytes_;
  }

  std::vector<Needle> draw_needles(const DrawKey& key, std::int64_t total) const {
    const std::int64_t num_keys = total / kind_.values;
    const std::vector<std::int64_t> keys = streams_.stream(key, kKeys).distinct(num_keys, num_spelled(kind_.key));
    const std::vector<std::int64_t> values = streams_.stream(key, kValues).distinct(total, num_spelled(kind_.value));
    Rng codes = streams_.stream(key, kCodes);
    std::vector<Needle> needles;
    for (std::int64_t k = 0; k < num_keys; ++k) {
      const std::string name = spelled(kind_.key, keys[static_cast<std::size_t>(k)], codes);
      for (std::int64_t v = 0; v < kind_.values; ++v) {
        const std::int64_t value = values[static_cast<std::size_t>(k * kind_.values + v)];
        needles.push_back({name, spelled(kind_.value, value, codes), k});
      }
    }
    Rng order = streams_.stream(key, kOrder);
    order.shuffle(needles);
    if (placement_->is_set()) {
      const auto asked = std::find_if(needles.begin(), needles.end(), [](const Needle& n) { return n.query == 0; });
      std::rotate(needles.begin(), asked, asked + 1);
    }
    return needles;
  }

  std::string haystack(const DrawKey& key, std::int64_t bytes) const {
    if (kind_.haystack == Haystack::kNoise) return running_text(kNoiseLine, 0, bytes);
    return running_text(corpus_, static_cast<std::int64_t>(streams_.stream(key, kEssay).below(corpus_.size())), bytes);
  }

  // Haystack bytes before each needle, the first for the needle asked for under a fixed depth or distance; its place in
  // line for a needle haystack.
  std::vector<std::int64_t> draw_points(const DrawKey& key, const std::string& hay, std::int64_t total) const {
    Rng rng = streams_.stream(key, kPlaces);
    std::vector<std::int64_t> points;
    if (kind_.haystack == Haystack::kNeedles) {
      for (std::int64_t i = 0; i < total; ++i) points.push_back(i);
      const std::int64_t last = total - 1;
      if (placement_->is_set()) {
        std::rotate(points.begin(), points.begin() + asked_place(key, last, last * needle_bytes_), points.end());
      }
      return points;
    }
    const bool essay = kind_.haystack == Haystack::kEssay;
    const auto size = static_cast<std::int64_t>(hay.size());
    const std::int64_t lines = size / kLine;
    if (placement_->is_set()) {
      points.push_back(essay ? sentence_end(hay, asked_place(key, size, size)) : asked_place(key, lines, size) * kLine);
    }
    const std::int64_t places = essay ? kDepths : lines + 1;
    for (const std::int64_t place : rng.distinct(std::min(total + 1, places), places)) {
      if (static_cast<std::int64_t>(points.size()) == total) break;
      if (!essay) points.push_back(place * kLine);
      if (essay && depth_percent(place) != placement_->depth())
        points.push_back(sentence_end(hay, depth_percent(place) * size / 100));
    }
    return points;
  }

  void put_body(std::vector<std::int32_t>& tokens, const std::string& hay, const std::vector<std::int64_t>& points,
                std::vector<Needle>& needles) const {
    std::vector<std::size_t> by_point(needles.size());
    for (std::size_t i = 0; i < by_point.size(); ++i) by_point[i] = i;
    std::stable_sort(by_point.begin(), by_point.end(),
                     [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
    const bool only_needles = kind_.haystack == Haystack::kNeedles;
    std::size_t done = 0;
    for (const std::size_t i : by_point) {
      const std::size_t point = only_needles ? 0 : static_cast<std::size_t>(points[i]);
      append_bytes(tokens, std::string_view(hay).substr(done, point - done));
      done = point;
      needles[i].at = static_cast<std::int64_t>(tokens.size());
      const bool line = point == 0 || hay[point - 1] == '\n';
      append_bytes(tokens, needle_text(needles[i]) + (line ? "\n" : " "));
    }
    append_bytes(tokens, std::string_view(hay).substr(done));
  }

  // Appends question and answers, and the facts on them.
  void finish(Sample& sample, std::vector<Needle> needles, std::int64_t body) const {
    std::vector<std::int32_t>& tokens = sample.tokens;
    std::sort(needles.begin(), needles.end(), [](const Needle& a, const Needle& b) { return a.at < b.at; });
    std::vector<const Needle*> asked;
    std::vector<std::string> keys;
    for (std::int64_t query = 0; query < kind_.queries; ++query) {
      for (const Needle& needle : needles) {
        if (needle.query == query) asked.push_back(&needle);
      }
      keys.push_back(asked.back()->key);
    }
    append_bytes(tokens, question_text(keys));
    sample.prompt_tokens = static_cast<std::int64_t>(tokens.size());
    double depth = 0;
    DistanceFacts distances;
    for (std::size_t a = 0; a < asked.size(); ++a) {
      if (a > 0) append_bytes(tokens, kBetween);
      const Needle& needle = *asked[a];
      const std::int64_t value_at =
          needle.at + static_cast<std::int64_t>(needle_text(needle).size() - 1 - needle.value.size());
      for (std::size_t j = 0; j < needle.value.size(); ++j) {
        const bool fed = a + 1 < asked.size() || j + 1 < needle.value.size();
        const auto target = static_cast<std::int32_t>(static_cast<unsigned char>(needle.value[j]));
        sample.scored.push_back(
            {static_cast<std::int64_t>(tokens.size()) - 1, target, static_cast<std::int32_t>(a), fed});
        sample.sources.push_back(value_at + static_cast<std::int64_t>(j));
        if (fed) tokens.push_back(target);
      }
      depth += 100.0 * static_cast<double>(needle.at - 1) /
               static_cast<double>(std::max<std::int64_t>(1, body - needle_bytes_));
      distances.add(sample.prompt_tokens - needle.at);
    }
    const auto answers = static_cast<double>(asked.size());
    const auto total = static_cast<std::int64_t>(needles.size());
    sample.facts["needles"] = static_cast<double>(total);
    sample.facts["pairs"] = static_cast<double>(total);
    sample.facts["pads"] = static_cast<double>(body - total * needle_bytes_);
    sample.facts["density"] = static_cast<double>(total) / static_cast<double>(body);
    sample.facts["queries"] = static_cast<double>(kind_.queries);
    sample.facts["depth"] = depth / answers;
    distances.put(sample);
  }

  std::int32_t solve_row(const std::string& text, std::int64_t position) const {
    const auto row = static_cast<std::size_t>(position);
    const std::size_t question = text.rfind(kQuestion, row);
    if (question == std::string::npos) return -1;
    const std::size_t answer = text.find(kAnswer, question);
    if (answer == std::string::npos || answer + kAnswer.size() > row + 1) return -1;
    const auto offset = static_cast<std::int64_t>(row + 1 - answer - kAnswer.size());
    const auto value_bytes = spelled_bytes(kind_.value);
    const std::int64_t stride = value_bytes + static_cast<std::int64_t>(kBetween.size());
    const std::int64_t which = offset / stride, part = offset % stride;
    if (which >= kind_.queries * kind_.values || part >= value_bytes) return -1;
    // Keys have one width, so the asked one is counted from the end of the question: "... a, b, c and d?".
    const auto key_bytes = static_cast<std::size_t>(spelled_bytes(kind_.key));
    std::size_t end = answer - 1;
    for (std::int64_t left = kind_.queries - 1 - which / kind_.values, gap = 5; left > 0; --left, gap = 2) {
      end -= key_bytes + static_cast<std::size_t>(gap);
    }
    const std::string pattern = " filed under " + text.substr(end - key_bytes, key_bytes) + " is ";
    std::size_t found = text.find(pattern);
    for (std::int64_t skip = which % kind_.values; skip > 0 && found != std::string::npos; --skip) {
      found = text.find(pattern, found + 1);
    }
    if (found == std::string::npos || found > question) return -1;
    return static_cast<unsigned char>(text[found + pattern.size() + static_cast<std::size_t>(part)]);
  }

  std::vector<WorkedExample> worked_examples() const {
    const auto example = [&](const char* note, const std::string& prompt, const std::string& value) {
      WorkedExample made{note, {info_.specials.bos}, {}, {}};
      append_bytes(made.tokens, prompt + value.substr(0, value.size() - 1));
      append_bytes(made.targets, value);
      for (std::size_t i = 0; i < value.size(); ++i) {
        made.positions.push_back(static_cast<std::int64_t>(prompt.size() + i));
      }
      return made;
    };
    return {example("one needle between two lines",
                    "All is still.\nThe number filed under tamiko is 4821907.\nAll is well.\nQuestion: Which number is "
                    "filed under tamiko?\nAnswer: ",
                    "4821907"),
            example("two needles; the question names one",
                    "The number filed under nolape is 1000000.\nThe number filed under lapeno is 9999999.\n\nQuestion: "
                    "Which number is filed under lapeno?\nAnswer: ",
                    "9999999")};
  }

  Kind kind_;
  std::string corpus_;
  std::int64_t needle_bytes_ = 0, question_bytes_ = 0;
  std::optional<Placement> placement_;  // set by the constructor
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& niah_bytes_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "niah-bytes";
    made.comparability =
        "inspired: the needle tasks of RULER (arXiv 2404.06654) on bytes, with other wording, words and essays";
    made.summary = "needle sentences hidden in noise, in running text or among others; the question names a key";
    std::vector<std::string> kinds;
    for (const Kind& kind : kKinds) kinds.emplace_back(kind.name);
    made.parameters = {{"kind", "single-1", "haystack, and what is multiplied", kinds}};
    for (const ParameterSpec& spec : placement_parameters()) made.parameters.push_back(spec);
    made.published = std::string(kNeedlePublished);
    made.needs_documents = true;
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources& resources) -> std::unique_ptr<Task> {
      return std::make_unique<NiahBytesTask>(self, resolved, resources);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
