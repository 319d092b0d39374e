// MQMTAR: multi-query multi-token associative recall as in ASEntmax (arXiv 2506.16640), scripts/generate_data.py.
//
// Ids: blank 0, key/value separator 1, query mark 2, symbols 3..258, 259 unused, pad 260, BOS 261, EOS 262, mask 263,
// SEP 264. Nominal length L, K = min(floor(0.8 L / 6), 10000) pairs, slots of s = floor(L / K) tokens. A slot holds
// k1 k2 1 v1 v2 0 and s - 6 more blanks; how many of those stand before the key is hypergeometric (s - 6 draws from
// s - 1 cells on the left and s - 3 on the right). Fed: BOS, K slots, four queries `2 k1 k2`, SEP, four answers
// `2 v1 v2`; EOS is judged and not fed.
//
// Words: 10,000 key bigrams and 10,000 value bigrams per file of the original. There, a file is one (split, length) for
// validation and test, but holds every length for training; so here pools depend on the length except in `train`.
//
// Two options separate the length from what changes with it (both off as published). slots=training: the slot width s
// is drawn per sample as training lengths have it (7, 8 or 9 tokens in 12, 19 and 2 of the 33 lengths 32..64) and K =
// floor(L / s), so that the density of pairs is that of training at every length. fill=exact: BOS, context, queries and
// SEP are exactly L tokens; pairs come from what is left for the context, and its spare tokens are blanks, one more in
// each of so many slots drawn at random (several in each when there are more than slots).
//
// answers=interleaved is an easier layout over the same vocabulary, for curricula: SEP and the answer follow each query
// at once (`2 k1 k2 SEP 2 v1 v2`), so that nothing has to be counted to find the query that an answer belongs to. With
// one query both layouts are the same.
#include <algorithm>
#include <array>

#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kKeys, kValues, kBlanks, kQueries, kWidth, kSpare };

constexpr std::int32_t kBlank = 0;
constexpr std::int32_t kPairSeparator = 1;
constexpr std::int32_t kQueryMark = 2;
constexpr std::int32_t kFirstSymbol = 3;
constexpr std::int64_t kSymbols = 256;
constexpr std::int64_t kPool = 10000;
constexpr std::int64_t kUnit = 6;        // k1 k2 1 v1 v2 0
constexpr std::int64_t kWordTokens = 5;  // of those that are not blank
constexpr std::int64_t kQueryUnit = 3;   // 2 k1 k2, and 2 v1 v2
constexpr std::int32_t kFirstSpecial = 260;

// Slot widths of the 33 training lengths, as ranges of a draw below 33.
constexpr std::int64_t kTrainLengths = 33, kNarrow = 7, kWide = 9;
constexpr std::int64_t kUpToSeven = 12, kUpToEight = 31;

using Word = std::array<std::int32_t, 2>;

// The context of one sample: `pairs` slots of `slot` tokens, and `spare` blanks more.
struct Shape {
  std::int64_t pairs, slot, spare;
};

class MqmtarTask : public Task {
 public:
  MqmtarTask(const TaskEntry& entry, const TaskParameters& resolved)
      : queries_(integer_of(resolved, "queries")),
        distinct_(word_of(resolved, "queries-with") == "distinct"),
        exact_(word_of(resolved, "fill") == "exact"),
        as_trained_(word_of(resolved, "slots") == "training"),
        interleaved_(word_of(resolved, "answers") == "interleaved"),
        info_(describe(entry, resolved)),
        streams_(info_) {
    info_.specials = specials_from(kFirstSpecial);
    info_.vocab_size = kFirstSpecial + kNumSpecials;
    info_.examples = worked_examples();
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override {
    const std::int64_t pairs = distinct_ ? queries_ : 1;
    return (as_trained_ ? kWide * pairs : (15 * pairs + 1) / 2) + frame_tokens();
  }
  std::int64_t total_tokens(std::int64_t length) const override {
    const std::int64_t after_prompt =
        interleaved_ ? kQueryUnit + (queries_ - 1) * (2 * kQueryUnit + 1) : kQueryUnit * queries_;
    if (exact_) return length + after_prompt;
    std::int64_t context = 0;
    for (std::int64_t width = kNarrow; width <= kWide; ++width) {
      const Shape shape = shape_of(length, width);
      context = std::max(context, shape.pairs * shape.slot);
    }
    return context + frame() + after_prompt;
  }
  double chance() const override { return 1.0 / static_cast<double>(kSymbols * kSymbols); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key, longest());
    const Shape shape = shape_of(key.length, draw_width(key));
    const std::int64_t pairs = shape.pairs;
    const std::vector<Word> keys = draw_words(key, kKeys, pairs);
    const std::vector<Word> values = draw_words(key, kValues, pairs);

    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    const std::int64_t context = pairs * shape.slot + shape.spare;
    tokens.assign(static_cast<std::size_t>(1 + context), kBlank);
    tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    tokens[0] = info_.specials.bos;
    const std::vector<std::int64_t> widths = draw_widths(key, shape);
    std::vector<std::int64_t> key_at(keys.size());
    Rng blanks = streams_.stream(key, kBlanks);
    std::int64_t slot_at = 1;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      key_at[i] = slot_at + blanks_before(blanks, widths[i]);
      slot_at += widths[i];
      const Word& k = keys[i];
      const Word& v = values[i];
      std::int32_t* unit = tokens.data() + key_at[i];
      unit[0] = k[0], unit[1] = k[1], unit[2] = kPairSeparator, unit[3] = v[0], unit[4] = v[1];
    }

    const std::vector<std::int64_t> asked = draw_queries(key, pairs);
    DistanceFacts distances;
    const auto ask = [&](std::size_t q) {
      const auto i = static_cast<std::size_t>(asked[q]);
      tokens.insert(tokens.end(), {kQueryMark, keys[i][0], keys[i][1]});
      distances.add(static_cast<std::int64_t>(tokens.size()) - 2 - key_at[i]);
    };
    const auto answer = [&](std::size_t q) {
      const auto i = static_cast<std::size_t>(asked[q]);
      feed_target(sample, kQueryMark, -1);
      for (std::size_t j = 0; j < 2; ++j) {
        feed_target(sample, values[i][j], static_cast<std::int32_t>(q));
        sample.sources.push_back(key_at[i] + 3 + static_cast<std::int64_t>(j));
      }
    };
    const std::size_t together = interleaved_ ? 1 : asked.size();
    for (std::size_t first = 0; first < asked.size(); first += together) {
      for (std::size_t q = first; q < first + together; ++q) ask(q);
      tokens.push_back(info_.specials.sep);
      for (std::size_t q = first; q < first + together; ++q) answer(q);
    }
    sample.prompt_tokens = sample.scored.front().position + 1;
    sample.scored.push_back({static_cast<std::int64_t>(tokens.size()) - 1, info_.specials.eos, -1, false});

    std::vector<std::int64_t> unique = asked;
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    sample.facts["pairs"] = static_cast<double>(pairs);
    sample.facts["slot"] = static_cast<double>(shape.slot);
    sample.facts["density"] = static_cast<double>(pairs) / static_cast<double>(context);
    sample.facts["pads"] = static_cast<double>(context - kWordTokens * pairs);
    sample.facts["queries"] = static_cast<double>(queries_);
    sample.facts["repeated_queries"] = static_cast<double>(asked.size() - unique.size());
    distances.put(sample);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    return solve_rows(positions, [&](std::int64_t position) { return solve_row(tokens, position); });
  }

 private:
  // What a prompt holds besides its context: BOS, the queries before the first answer, SEP.
  std::int64_t frame() const { return 2 + kQueryUnit * (interleaved_ ? 1 : queries_); }
  // The part of it that the nominal length counts: all, or nothing where it counts the context alone.
  std::int64_t frame_tokens() const { return exact_ ? frame() : 0; }
  // With the density of training the pool of words ends the context.
  std::int64_t longest() const { return as_trained_ ? (kPool + 1) * kNarrow - 1 + frame_tokens() : kMaxLength; }

  // `width` is that of slots=training; pairs are floor(0.8 L / 6), without floating point, otherwise.
  Shape shape_of(std::int64_t length, std::int64_t width) const {
    const std::int64_t budget = length - frame_tokens();
    Shape shape{};
    shape.pairs = std::min(as_trained_ ? budget / width : 2 * budget / 15, kPool);
    shape.slot = as_trained_ ? width : budget / shape.pairs;
    shape.spare = exact_ ? budget - shape.pairs * shape.slot : 0;
    return shape;
  }

  std::int64_t draw_width(const DrawKey& key) const {
    if (!as_trained_) return kNarrow;
    const auto at = static_cast<std::int64_t>(streams_.stream(key, kWidth).below(kTrainLengths));
    return at < kUpToSeven ? kNarrow : at < kUpToEight ? kNarrow + 1 : kWide;
  }

  std::vector<std::int64_t> draw_widths(const DrawKey& key, const Shape& shape) const {
    std::vector<std::int64_t> widths(static_cast<std::size_t>(shape.pairs), shape.slot + shape.spare / shape.pairs);
    for (const std::int64_t i : streams_.stream(key, kSpare).distinct(shape.spare % shape.pairs, shape.pairs)) {
      ++widths[static_cast<std::size_t>(i)];
    }
    return widths;
  }

  static void feed_target(Sample& sample, std::int32_t target, std::int32_t answer) {
    sample.scored.push_back({static_cast<std::int64_t>(sample.tokens.size()) - 1, target, answer, true});
    sample.tokens.push_back(target);
  }

  std::vector<Word> draw_words(const DrawKey& key, Field field, std::int64_t count) const {
    DrawKey pool_key = key;
    if (key.split == Split::kTrain) pool_key.length = 0;
    const KeyedPermutation pool(streams_.shared_key(pool_key), SampleStreams::shared_stream(field),
                                static_cast<std::uint64_t>(kSymbols * kSymbols));
    std::vector<Word> words;
    words.reserve(static_cast<std::size_t>(count));
    for (const std::int64_t index : streams_.stream(key, field).distinct(count, kPool)) {
      const auto code = static_cast<std::int32_t>(pool.at(static_cast<std::uint64_t>(index)));
      words.push_back({kFirstSymbol + code / static_cast<std::int32_t>(kSymbols),
                       kFirstSymbol + code % static_cast<std::int32_t>(kSymbols)});
    }
    return words;
  }

  // Hypergeometric: s - 6 draws without replacement from s - 1 cells on the left and s - 3 on the right.
  static std::int64_t blanks_before(Rng& rng, std::int64_t slot) {
    std::int64_t left = slot - 1, total = 2 * slot - 4, before = 0;
    for (std::int64_t i = 0; i < slot - kUnit; ++i, --total) {
      if (rng.chance(static_cast<std::uint64_t>(left), static_cast<std::uint64_t>(total))) {
        --left;
        ++before;
      }
    }
    return before;
  }

  std::vector<std::int64_t> draw_queries(const DrawKey& key, std::int64_t pairs) const {
    Rng rng = streams_.stream(key, kQueries);
    if (distinct_) return rng.distinct(queries_, pairs);
    std::vector<std::int64_t> asked;
    for (std::int64_t i = 0; i < queries_; ++i) {
      asked.push_back(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(pairs))));
    }
    return asked;
  }

  std::int32_t solve_row(std::span<const std::int32_t> tokens, std::int64_t position) const {
    std::int64_t sep = position;
    while (sep > 0 && tokens[static_cast<std::size_t>(sep)] != info_.specials.sep) --sep;
    const std::int64_t together = interleaved_ ? 1 : queries_;
    const std::int64_t query = (position - sep) / kQueryUnit;
    const std::int64_t part = (position - sep) % kQueryUnit;
    if (query >= together) return info_.specials.eos;
    if (part == 0) return kQueryMark;
    const std::int64_t query_at = sep - kQueryUnit * (together - query);
    if (query_at < 1) return -1;
    const std::int32_t first = tokens[static_cast<std::size_t>(query_at + 1)];
    const std::int32_t second = tokens[static_cast<std::size_t>(query_at + 2)];
    for (std::int64_t at = 1; at + 4 < query_at; ++at) {
      const std::int32_t* unit = tokens.data() + at;
      if (unit[0] == first && unit[1] == second && unit[2] == kPairSeparator) return unit[2 + part];
    }
    return -1;
  }

  static std::vector<WorkedExample> worked_examples() {
    return {{"the four queries ask for pairs 1, 2, 1 and 2; the marks and the end token are judged too",
             {261, 10, 11, 1,  20, 21, 0,  0,   0, 12, 13, 1, 22, 23, 0, 0,  2,  10, 11, 2, 12,
              13,  2,  10, 11, 2,  12, 13, 264, 2, 20, 21, 2, 22, 23, 2, 20, 21, 2,  22, 23},
             {2, 20, 21, 2, 22, 23, 2, 20, 21, 2, 22, 23, 262},
             {28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}},
            {"the value 11 12 of the first pair is the key of the second: only a bigram before a separator is a key",
             {261, 5, 6, 1, 11, 12, 0,  11,  12, 1,   258, 3, 0,   2, 11, 12, 2, 11,
              12,  2, 5, 6, 2,  11, 12, 264, 2,  258, 3,   2, 258, 3, 2,  11, 12},
             {2, 258, 3, 11, 12, 2},
             {25, 26, 27, 32, 33, 34}}};
  }

  std::int64_t queries_;
  bool distinct_, exact_, as_trained_, interleaved_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& mqmtar_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "mqmtar";
    made.comparability = "distributional: MQMTAR of ASEntmax (arXiv 2506.16640)";
    made.summary =
        "two-token keys with two-token values in a dense context; four queries at the end, answered in order";
    made.published =
        "256 symbols, words of two, 10,000 keys and 10,000 values per file, K = floor(0.8 L / 6) pairs, four queries "
        "with "
        "replacement; trained on lengths 32 to 64, tested at 64, 128, ..., 65536 with 1,000 samples each; score: the "
        "whole "
        "answer (exact match). Labels are not lengths: 64 is a prompt of 78 tokens, 65536 one of 61,180 (fill=exact). "
        "Slots "
        "have 7 to 9 tokens in training and 7 from 128 on (slots=training). 59 % of samples at 64 ask a pair twice, "
        "0.07 % "
        "at 65536 (queries-with=distinct). The original places blanks from an unseeded generator, so its files cannot "
        "be "
        "made again";
    made.parameters = {
        {"queries", "4", "queries per sample", {}, 1, 1000},
        {"queries-with", "replacement", "whether a pair may be asked twice", {"replacement", "distinct"}},
        {"fill", "nominal", "exact: the prompt has exactly the nominal length", {"nominal", "exact"}, 1, 0, true},
        {"slots",
         "length",
         "training: slots as wide as in training, whatever the length",
         {"length", "training"},
         1,
         0,
         true},
        {"answers",
         "end",
         "interleaved: SEP and the answer follow each query at once (easier; for curricula)",
         {"end", "interleaved"},
         1,
         0,
         true}};
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<MqmtarTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
