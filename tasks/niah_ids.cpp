// Needle in a haystack on token ids, with the structure of RULER's needle tasks (arXiv 2404.06654).
//
// Ids: haystack 0..255, key symbols 256..511, value symbols 512..575, needle mark 576, separator 577, query mark 578,
// then pad, bos, eos, mask, sep. A needle is: mark, two key symbols, separator, three value symbols (7 tokens); with
// key-symbols= and value-symbols= they are longer, as RULER's UUIDs are beside its words and numbers (16 and 22 symbols
// hold as many bits as a UUID).
// Fed: BOS, body, `578 k1 k2` per query, SEP, then the values asked for, in order of the queries and, within a key, of
// appearance (all tokens judged, the last not fed).
//
// Length rule (RULER's): prompt with BOS plus answer tokens never exceed L. Noise and essay fill L exactly; a haystack
// of needles leaves less than one needle unused. facts: `fill` is the share used.
//
// depth= puts the needle asked for at one depth; min-distance= and max-distance= put it where so many tokens of
// haystack (or of needles, in a haystack of needles) stand behind it, uniformly among the places there are: any in an
// essay. Other needles behind it come on top; facts have the distance that came out.
//
// Haystacks: noise is the ids 0..24 over and over, in lines of five, with needles at distinct lines; essay is a fixed
// Markov source, with needles at distinct depths of RULER's 40 (0..100 per cent, rounded); in needles every slot is a
// needle, all keys distinct. Keys never repeat, and the order of needles is drawn for each sample.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "tasks/entry.h"
#include "tasks/haystack.h"
#include "tasks/numeral.h"
#include "tasks/placement.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kKeys, kValues, kPlaces, kOrder, kBody, kAskedPlace };

constexpr std::int32_t kWords = 256;
constexpr std::int32_t kKeySymbols = 256;
constexpr std::int32_t kValueSymbols = 64;
constexpr std::int32_t kKey0 = kWords;
constexpr std::int32_t kValue0 = kKey0 + kKeySymbols;
constexpr std::int32_t kNeedleMark = kValue0 + kValueSymbols;
constexpr std::int32_t kSeparator = kNeedleMark + 1;
constexpr std::int32_t kQueryMark = kSeparator + 1;
constexpr std::int32_t kFirstSpecial = kQueryMark + 1;
constexpr std::int64_t kKeyAt = 1;  // inside a needle
constexpr std::int64_t kLine = 5;
constexpr std::int32_t kNoiseCycle = 25;
constexpr std::int64_t kMinEssay = 50;  // haystack tokens from which the 40 depths are distinct places

enum class Haystack { kNoise, kEssay, kNeedles };

// Successor table of the essay source. From id s the next id is one of 16 fixed ones, number j with weight 2^-(j+1)
// and the last with what is left: integers only.
class EssaySource {
 public:
  EssaySource() {
    for (std::int32_t word = 0; word < kWords; ++word) {
      for (int j = 0; j < kSuccessors; ++j) {
        const std::string name = "niah-ids essay " + std::to_string(word) + " " + std::to_string(j);
        next_[static_cast<std::size_t>(word * kSuccessors + j)] =
            static_cast<std::int32_t>(stable_hash(name) % static_cast<std::uint64_t>(kWords));
      }
    }
  }
  std::int32_t next(std::int32_t word, Rng& rng) const {
    const std::uint32_t bits = rng.next_u32();
    int j = 0;
    while (j < kSuccessors - 1 && ((bits >> j) & 1U) != 0) ++j;
    return next_[static_cast<std::size_t>(word * kSuccessors + j)];
  }

 private:
  static constexpr int kSuccessors = 16;
  std::array<std::int32_t, static_cast<std::size_t>(kWords)* kSuccessors> next_ = {};
};

// How many needles a kind has. `auto` counts take the kind's default; a count the kind fixes cannot be changed.
struct Counts {
  std::int64_t keys, values, queries;
};

std::int64_t count_of(const TaskParameters& resolved, const std::string& name, std::int64_t automatic, bool free,
                      std::int64_t low) {
  const std::string& text = word_of(resolved, name);
  if (text == "auto") return automatic;
  const std::int64_t count = integer_of(resolved, name);
  const std::string kind = word_of(resolved, "kind");
  if (!free && count != automatic) {
    throw Error("niah-ids: " + name + "=" + text + " does not fit kind=" + kind + ", which has " +
                std::to_string(automatic) + "; leave it out or choose another kind");
  }
  if (count < low) {
    throw Error("niah-ids: " + name + "=" + text + " is too few for kind=" + kind + "; use " + std::to_string(low) +
                " or more");
  }
  return count;
}

Counts counts_of(const TaskParameters& resolved) {
  const std::string& kind = word_of(resolved, "kind");
  Counts counts{};
  const bool multi_query = kind == "multi-query";
  counts.queries = count_of(resolved, "queries", multi_query ? 4 : 1, multi_query, 2);
  const bool many_keys = multi_query || kind == "multi-key";
  const std::int64_t keys = many_keys ? std::max<std::int64_t>(4, counts.queries) : 1;
  counts.keys = count_of(resolved, "keys", keys, many_keys, std::max<std::int64_t>(2, counts.queries));
  counts.values = count_of(resolved, "values", kind == "multi-value" ? 4 : 1, kind == "multi-value", 2);
  return counts;
}

Haystack haystack_of(const TaskParameters& resolved) {
  const std::string& word = word_of(resolved, "haystack");
  if (word == "noise") return Haystack::kNoise;
  return word == "essay" ? Haystack::kEssay : Haystack::kNeedles;
}

struct Needle {
  std::int64_t key, value;
  std::int64_t query;   // which query asks for it; counts_.queries or more: none
  std::int64_t at = 0;  // position of its mark in Sample::tokens
};

class NiahIdsTask : public Task {
 public:
  NiahIdsTask(const TaskEntry& entry, const TaskParameters& resolved)
      : counts_(counts_of(resolved)),
        haystack_(haystack_of(resolved)),
        needles_(counts_.keys * counts_.values),
        key_(kKey0, 8, integer_of(resolved, "key-symbols")),
        value_(kValue0, 6, integer_of(resolved, "value-symbols")),
        needle_tokens_(2 + key_.symbols() + value_.symbols()),
        query_tokens_(1 + key_.symbols()),
        placement_(entry, resolved, step(), counts_.queries * counts_.values),
        answer_tokens_(counts_.queries * counts_.values * value_.symbols()),
        info_(describe(entry, resolved)),
        streams_(info_) {
    if (haystack_ == Haystack::kEssay && needles_ > kDepths) {
      throw Error("niah-ids: " + std::to_string(needles_) + " needles in haystack=essay, which has " +
                  std::to_string(kDepths) + " depths; use fewer keys or values, or haystack=noise");
    }
    info_.specials = specials_from(kFirstSpecial);
    info_.vocab_size = kFirstSpecial + kNumSpecials;
    info_.examples = worked_examples();
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override {
    switch (haystack_) {
      case Haystack::kNoise:
        return frame_tokens() + needles_ * needle_tokens_ + std::max(kLine * needles_, placement_.least());
      case Haystack::kEssay:
        return frame_tokens() + needles_ * needle_tokens_ + std::max(kMinEssay, placement_.least());
      case Haystack::kNeedles:
        break;
    }
    return frame_tokens() +
           std::max(needles_, 1 + (placement_.least() + needle_tokens_ - 1) / needle_tokens_) * needle_tokens_;
  }
  std::int64_t total_tokens(std::int64_t length) const override { return used_tokens(length) - 1; }
  double chance() const override { return value_.chance(); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::int64_t body = used_tokens(key.length) - frame_tokens();
    const std::int64_t total = haystack_ == Haystack::kNeedles ? body / needle_tokens_ : needles_;
    const std::int64_t num_keys = counts_.keys + total - needles_;
    if (num_keys > key_.count()) {
      throw Error("niah-ids: length " + std::to_string(key.length) + " needs " + std::to_string(num_keys) +
                  " distinct keys and there are " + std::to_string(key_.count()) +
                  "; use haystack=noise or essay, or more key-symbols; the longest length is " +
                  std::to_string(frame_tokens() + (key_.count() - counts_.keys + needles_) * needle_tokens_));
    }
    std::vector<Needle> needles = draw_needles(key, total);

    Sample sample;
    sample.tokens.reserve(static_cast<std::size_t>(used_tokens(key.length)));
    sample.tokens.push_back(info_.specials.bos);
    put_body(sample.tokens, key, body, draw_points(key, body, total), needles);
    finish(sample, std::move(needles), body);
    sample.facts["fill"] = static_cast<double>(used_tokens(key.length)) / static_cast<double>(key.length);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    return solve_rows(positions, [&](std::int64_t position) { return solve_row(tokens, position); });
  }

 private:
  // Tokens from one place for a needle to the next.
  std::int64_t step() const {
    return haystack_ == Haystack::kNoise ? kLine : haystack_ == Haystack::kEssay ? 1 : needle_tokens_;
  }
  std::int64_t value_at() const { return kKeyAt + key_.symbols() + 1; }  // inside a needle
  // Everything but the body: BOS, queries, SEP, answers.
  std::int64_t frame_tokens() const { return 2 + query_tokens_ * counts_.queries + answer_tokens_; }
  // Prompt with BOS plus answer tokens.
  std::int64_t used_tokens(std::int64_t length) const {
    if (haystack_ != Haystack::kNeedles) return length;
    return length - (length - frame_tokens()) % needle_tokens_;
  }

  // Needles in order of appearance. The first `keys` drawn keys may be asked for; the rest fill a needle haystack.
  std::vector<Needle> draw_needles(const DrawKey& key, std::int64_t total) const {
    const std::int64_t extra = total - needles_;
    const std::vector<std::int64_t> keys = streams_.stream(key, kKeys).distinct(counts_.keys + extra, key_.count());
    const std::vector<std::int64_t> values = streams_.stream(key, kValues).distinct(total, value_.count());
    std::vector<Needle> needles;
    for (std::int64_t i = 0; i < total; ++i) {
      const std::int64_t k = i < needles_ ? i / counts_.values : counts_.keys + i - needles_;
      needles.push_back({keys[static_cast<std::size_t>(k)], values[static_cast<std::size_t>(i)], k});
    }
    Rng order = streams_.stream(key, kOrder);
    order.shuffle(needles);
    if (placement_.is_set()) {
      // The needle asked for goes to the place that draw_points keeps for it.
      const auto found = std::find_if(needles.begin(), needles.end(), [](const Needle& n) { return n.query == 0; });
      const Needle needle = *found;
      needles.erase(found);
      needles.insert(needles.begin(), needle);
    }
    return needles;
  }

  // Haystack tokens that stand before each needle: one entry per needle, all distinct except in a needle haystack.
  // With a fixed depth or distance the first entry is that of the needle asked for.
  std::vector<std::int64_t> draw_points(const DrawKey& key, std::int64_t body, std::int64_t total) const {
    const std::int64_t hay = body - total * needle_tokens_;
    Rng rng = streams_.stream(key, kPlaces);
    if (haystack_ == Haystack::kNeedles) {
      std::vector<std::int64_t> slots(static_cast<std::size_t>(total));
      for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<std::int64_t>(i);
      if (placement_.is_set())
        std::rotate(slots.begin(), slots.begin() + asked_place(key, total - 1, body - needle_tokens_), slots.end());
      return slots;
    }
    const bool essay = haystack_ == Haystack::kEssay;
    const std::int64_t places = essay ? kDepths : hay / kLine + 1;
    const auto point = [&](std::int64_t place) { return essay ? depth_percent(place) * hay / 100 : place * kLine; };
    std::vector<std::int64_t> points;
    if (placement_.is_set())
      points.push_back(essay ? asked_place(key, hay, hay) : asked_place(key, places - 1, hay) * kLine);
    for (const std::int64_t place : rng.distinct(std::min(total + 1, places), places)) {
      if (static_cast<std::int64_t>(points.size()) == total) break;
      if (points.empty() || !placement_.is_set() || point(place) != points.front()) points.push_back(point(place));
    }
    return points;
  }

  std::int64_t asked_place(const DrawKey& key, std::int64_t last, std::int64_t end) const {
    return placement_.place(streams_.stream(key, kAskedPlace), last, end);
  }

  void put_body(std::vector<std::int32_t>& tokens, const DrawKey& key, std::int64_t body,
                const std::vector<std::int64_t>& points, std::vector<Needle>& needles) const {
    std::vector<std::size_t> by_point(needles.size());
    for (std::size_t i = 0; i < by_point.size(); ++i) by_point[i] = i;
    std::sort(by_point.begin(), by_point.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
    const bool only_needles = haystack_ == Haystack::kNeedles;
    const std::int64_t hay = only_needles ? 0 : body - static_cast<std::int64_t>(needles.size()) * needle_tokens_;
    static const EssaySource essay;
    Rng rng = streams_.stream(key, kBody);
    auto word = static_cast<std::int32_t>(rng.below(kWords));
    std::size_t next = 0;
    for (std::int64_t i = 0; i <= hay; ++i) {
      for (; next < needles.size() && (only_needles || points[by_point[next]] == i); ++next) {
        put_needle(tokens, needles[by_point[next]]);
      }
      if (i == hay) break;
      tokens.push_back(haystack_ == Haystack::kEssay ? word : static_cast<std::int32_t>(i % kNoiseCycle));
      if (haystack_ == Haystack::kEssay) word = essay.next(word, rng);
    }
  }

  void put_needle(std::vector<std::int32_t>& tokens, Needle& needle) const {
    needle.at = static_cast<std::int64_t>(tokens.size());
    tokens.push_back(kNeedleMark);
    key_.put(tokens, needle.key);
    tokens.push_back(kSeparator);
    value_.put(tokens, needle.value);
  }

  // Appends queries and answers, and the facts on them.
  void finish(Sample& sample, std::vector<Needle> needles, std::int64_t body) const {
    std::vector<std::int32_t>& tokens = sample.tokens;
    std::sort(needles.begin(), needles.end(), [](const Needle& a, const Needle& b) { return a.at < b.at; });
    std::vector<const Needle*> asked;
    double depth = 0;
    DistanceFacts distances;
    const auto last_place = static_cast<double>(std::max<std::int64_t>(1, body - needle_tokens_));
    for (std::int64_t query = 0; query < counts_.queries; ++query) {
      const auto asks = [&](const Needle& needle) { return needle.query == query; };
      tokens.push_back(kQueryMark);
      key_.put(tokens, std::find_if(needles.begin(), needles.end(), asks)->key);
      for (const Needle& needle : needles) {
        if (!asks(needle)) continue;
        asked.push_back(&needle);
        depth += 100.0 * static_cast<double>(needle.at - 1) / last_place;
        distances.add(static_cast<std::int64_t>(tokens.size()) - 2 - (needle.at + kKeyAt));
      }
    }
    tokens.push_back(info_.specials.sep);
    sample.prompt_tokens = static_cast<std::int64_t>(tokens.size());
    for (std::size_t a = 0; a < asked.size(); ++a) {
      for (std::int64_t j = 0; j < value_.symbols(); ++j) {
        const std::int64_t source = asked[a]->at + value_at() + j;
        const std::int32_t target = tokens[static_cast<std::size_t>(source)];
        const bool fed = a + 1 < asked.size() || j + 1 < value_.symbols();
        sample.scored.push_back(
            {static_cast<std::int64_t>(tokens.size()) - 1, target, static_cast<std::int32_t>(a), fed});
        sample.sources.push_back(source);
        if (fed) tokens.push_back(target);
      }
    }
    const auto answers = static_cast<double>(asked.size());
    sample.facts["needles"] = static_cast<double>(needles.size());
    sample.facts["queries"] = static_cast<double>(counts_.queries);
    sample.facts["depth"] = depth / answers;
    const auto total = static_cast<std::int64_t>(needles.size());
    sample.facts["pairs"] = static_cast<double>(total);
    sample.facts["density"] = static_cast<double>(total) / static_cast<double>(body);
    sample.facts["pads"] = static_cast<double>(body - total * needle_tokens_);
    distances.put(sample);
  }

  std::int32_t solve_row(std::span<const std::int32_t> tokens, std::int64_t position) const {
    std::int64_t sep = position;
    while (sep > 0 && tokens[static_cast<std::size_t>(sep)] != info_.specials.sep) --sep;
    const std::int64_t answer = (position - sep) / value_.symbols();
    const std::int64_t part = (position - sep) % value_.symbols();
    const std::int64_t query_at = sep - query_tokens_ * (counts_.queries - answer / counts_.values);
    if (answer >= counts_.queries * counts_.values || query_at < 1) return -1;
    std::int64_t skip = answer % counts_.values;
    const auto key = tokens.subspan(static_cast<std::size_t>(query_at + 1), static_cast<std::size_t>(key_.symbols()));
    for (std::int64_t at = 1; at + needle_tokens_ <= query_at; ++at) {
      const auto unit = tokens.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(needle_tokens_));
      if (unit[0] != kNeedleMark || !std::equal(key.begin(), key.end(), unit.begin() + kKeyAt)) continue;
      if (skip-- == 0) return unit[static_cast<std::size_t>(value_at() + part)];
    }
    return -1;
  }

  static std::vector<WorkedExample> worked_examples() {
    return {{"one needle in noise",
             {580, 0, 1, 2, 3, 4, 576, 300, 301, 577, 512, 575, 540, 5, 6, 7, 8, 9, 578, 300, 301, 583, 512, 575},
             {512, 575, 540},
             {21, 22, 23}},
            {"two needles whose keys are each other's mirror image",
             {580, 576, 256, 511, 577, 520, 521, 522, 0,   1,   2,   3,   4,
              576, 511, 256, 577, 530, 531, 532, 578, 511, 256, 583, 530, 531},
             {530, 531, 532},
             {23, 24, 25}}};
  }

  Counts counts_;
  Haystack haystack_;
  std::int64_t needles_;  // keys * values; a needle haystack has more
  Numeral key_, value_;
  std::int64_t needle_tokens_, query_tokens_;
  Placement placement_;
  std::int64_t answer_tokens_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& niah_ids_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "niah-ids";
    made.comparability = "inspired: the needle tasks of RULER (arXiv 2404.06654), on token ids";
    made.summary =
        "needles (key bigram, value trigram) hidden in noise, an essay or other needles; the query names a key";
    made.parameters = {{"kind", "single", "what is multiplied", {"single", "multi-key", "multi-value", "multi-query"}},
                       {"haystack", "noise", "what surrounds the needles", {"noise", "essay", "needles"}},
                       {"keys", "auto", "needles with different keys (multi-key, multi-query: 4)", {"auto"}, 1, 1000},
                       {"values", "auto", "needles per key (multi-value: 4)", {"auto"}, 1, 1000},
                       {"queries", "auto", "keys asked for (multi-query: 4)", {"auto"}, 1, 1000},
                       {"key-symbols", "2", "symbols of a key (16: as long as a UUID)", {}, 2, 64, true},
                       {"value-symbols", "3", "symbols of a value (22: as long as a UUID)", {}, 1, 64, true}};
    for (const ParameterSpec& spec : placement_parameters()) made.parameters.push_back(spec);
    made.published = std::string(kNeedlePublished);
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<NiahIdsTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
