// Associative recall: `recall` (single-token keys) and `recall-dense` (two-token keys, capacity grows with length).
//
// Tokens: BOS, L context tokens, then for each query: query mark, key, value. The last value is scored and not fed.
// Ids: filler 0..F-1, key symbols, values, query mark, then pad, bos, eos, mask, sep.
//
// Law: K = min(floor(L / density), number of keys) distinct keys, each once, each followed by its value (drawn with
// replacement); the K places of key and value are uniform among all non-overlapping choices; the rest is filler. Query
// i draws a place u uniform over the context and asks for the pair nearest to u that was not asked before (ties: the
// lower place); with repeat=true, for the nearest pair. Fewer pairs than queries: as many queries as pairs. The places
// u are those at least min-distance and less than max-distance tokens from the context's last token, so that distance
// can be held while the length grows (facts tell the distances that came out: pairs are not everywhere).
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kPlaces, kKeys, kValues, kFiller, kQueries };

// The pairs not asked yet, in order of place; finds the nearest one to a place in near-constant time.
class UnaskedPairs {
 public:
  explicit UnaskedPairs(std::size_t count) : left_(count + 2), right_(count + 2) {
    std::iota(left_.begin(), left_.end(), std::size_t{0});
    std::iota(right_.begin(), right_.end(), std::size_t{0});
  }
  void remove(std::size_t pair) {
    left_[pair + 1] = pair;
    right_[pair + 1] = pair + 2;
  }
  // `places` ascending; at least one pair is left.
  std::size_t nearest(const std::vector<std::int64_t>& places, std::int64_t to) {
    const auto after = static_cast<std::size_t>(std::lower_bound(places.begin(), places.end(), to) - places.begin());
    const std::size_t right = root(right_, after + 1);
    const std::size_t left = root(left_, after);
    if (left == 0) return right - 1;
    if (right == places.size() + 1) return left - 1;
    return to - places[left - 1] <= places[right - 1] - to ? left - 1 : right - 1;
  }

 private:
  static std::size_t root(std::vector<std::size_t>& parents, std::size_t node) {
    while (parents[node] != node) {
      parents[node] = parents[parents[node]];
      node = parents[node];
    }
    return node;
  }
  std::vector<std::size_t> left_, right_;  // 1-based with a sentinel at each end
};

class RecallTask : public Task {
 public:
  RecallTask(const TaskEntry& entry, const TaskParameters& resolved, std::int64_t key_tokens)
      : key_tokens_(key_tokens),
        symbols_(integer_of(resolved, key_tokens == 1 ? "keys" : "symbols")),
        values_(integer_of(resolved, "values")),
        filler_(integer_of(resolved, "filler")),
        queries_(integer_of(resolved, "queries")),
        density_(integer_of(resolved, "density")),
        repeat_(flag_of(resolved, "repeat")),
        distances_(distance_range(entry, resolved, 1)),
        info_(describe(entry, resolved)),
        streams_(info_) {
    max_pairs_ = key_tokens_ == 1 ? symbols_ : std::min(symbols_ * symbols_, integer_of(resolved, "pairs"));
    key0_ = static_cast<std::int32_t>(filler_);
    value0_ = key0_ + static_cast<std::int32_t>(symbols_);
    query_ = value0_ + static_cast<std::int32_t>(values_);
    info_.specials = specials_from(query_ + 1);
    info_.vocab_size = query_ + 1 + kNumSpecials;
    info_.examples = key_tokens_ == 1 ? recall_examples() : dense_examples();
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return std::max(density_, distances_.least + 1); }
  std::int64_t total_tokens(std::int64_t length) const override {
    return length + num_queries(length) * (key_tokens_ + 2);
  }
  double chance() const override { return 1.0 / static_cast<double>(values_); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::int64_t pairs = num_pairs(key.length);
    const std::int64_t asked = num_queries(key.length);
    const std::vector<std::int64_t> places = draw_places(key, pairs);

    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)) + 1);
    tokens.push_back(info_.specials.bos);
    Rng filler = streams_.stream(key, kFiller);
    for (std::int64_t i = 0; i < key.length; ++i) tokens.push_back(below(filler, filler_));

    const std::int64_t num_keys = key_tokens_ == 1 ? symbols_ : symbols_ * symbols_;
    const std::vector<std::int64_t> keys = streams_.stream(key, kKeys).distinct(pairs, num_keys);
    Rng values = streams_.stream(key, kValues);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto at = static_cast<std::size_t>(places[i] + 1);
      put_key(tokens, at, keys[i]);
      tokens[at + static_cast<std::size_t>(key_tokens_)] = value0_ + below(values, values_);
    }

    const std::vector<std::size_t> queries = draw_queries(key, places, asked);
    DistanceFacts distances;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const std::int64_t source = places[queries[i]] + 1 + key_tokens_;
      const std::int32_t value = tokens[static_cast<std::size_t>(source)];
      tokens.push_back(query_);
      const std::size_t at = tokens.size();
      tokens.resize(at + static_cast<std::size_t>(key_tokens_));
      put_key(tokens, at, keys[queries[i]]);
      distances.add(static_cast<std::int64_t>(at) - (places[queries[i]] + 1));
      const bool fed = i + 1 < queries.size();
      sample.scored.push_back({static_cast<std::int64_t>(tokens.size()) - 1, value, static_cast<std::int32_t>(i), fed});
      sample.sources.push_back(source);
      if (fed) tokens.push_back(value);
    }
    sample.prompt_tokens = sample.scored.front().position + 1;
    sample.facts["pairs"] = static_cast<double>(pairs);
    sample.facts["queries"] = static_cast<double>(asked);
    sample.facts["density"] = static_cast<double>(pairs) / static_cast<double>(key.length);
    sample.facts["pads"] = static_cast<double>(key.length - pairs * (key_tokens_ + 1));
    distances.put(sample);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    return solve_rows(positions, [&](std::int64_t position) { return look_up(tokens, position); });
  }

 private:
  static std::int32_t below(Rng& rng, std::int64_t bound) {
    return static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(bound)));
  }
  std::int64_t num_pairs(std::int64_t length) const { return std::min(length / density_, max_pairs_); }
  std::int64_t num_queries(std::int64_t length) const {
    return repeat_ ? queries_ : std::min(num_pairs(length), queries_);
  }

  void put_key(std::vector<std::int32_t>& tokens, std::size_t at, std::int64_t key) const {
    if (key_tokens_ == 1) {
      tokens[at] = key0_ + static_cast<std::int32_t>(key);
    } else {
      tokens[at] = key0_ + static_cast<std::int32_t>(key / symbols_);
      tokens[at + 1] = key0_ + static_cast<std::int32_t>(key % symbols_);
    }
  }

  // Stars and bars: contract each unit to one slot, choose the slots, expand. Ascending offsets into the context.
  std::vector<std::int64_t> draw_places(const DrawKey& key, std::int64_t pairs) const {
    const std::int64_t slots = key.length - key_tokens_ * pairs;
    std::vector<std::int64_t> places = streams_.stream(key, kPlaces).distinct(pairs, slots);
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] += static_cast<std::int64_t>(i) * key_tokens_;
    return places;
  }

  std::vector<std::size_t> draw_queries(const DrawKey& key, const std::vector<std::int64_t>& places,
                                        std::int64_t asked) const {
    Rng rng = streams_.stream(key, kQueries);
    const std::int64_t first = distances_.first(key.length - 1, 1), last = distances_.last(key.length - 1, 1);
    UnaskedPairs unasked(places.size());
    std::vector<std::size_t> queries;
    for (std::int64_t i = 0; i < asked; ++i) {
      const std::int64_t place = rng.between(first, last);
      queries.push_back(unasked.nearest(places, place));
      if (!repeat_) unasked.remove(queries.back());
    }
    return queries;
  }

  bool is_value(std::int32_t token) const { return value0_ <= token && token < query_; }

  // The value after the first earlier occurrence of the key that ends at `position`; -1 when there is none.
  std::int32_t look_up(std::span<const std::int32_t> tokens, std::int64_t position) const {
    const std::int64_t key_at = position - key_tokens_ + 1;
    for (std::int64_t at = 0; at + key_tokens_ < key_at; ++at) {
      const std::int32_t next = tokens[static_cast<std::size_t>(at + key_tokens_)];
      const bool same = std::equal(tokens.begin() + at, tokens.begin() + at + key_tokens_, tokens.begin() + key_at);
      if (same && is_value(next)) return next;
    }
    return -1;
  }

  // Written for the default alphabets: filler 0..63, keys 64..319, values 320..383, query mark 384, BOS 386.
  static std::vector<WorkedExample> recall_examples() {
    return {{"key 70 is followed by 325 in the context, key 64 by 320",
             {386, 5, 70, 325, 9, 64, 320, 0, 384, 70, 325, 384, 64},
             {325, 320},
             {9, 12}},
            {"both keys have the same value; pairs may touch",
             {386, 319, 383, 100, 383, 63, 384, 100, 383, 384, 319},
             {383, 383},
             {7, 10}}};
  }
  static std::vector<WorkedExample> dense_examples() {
    return {{"the key is the bigram 64 65, not 65 64", {386, 65, 64, 330, 7, 64, 65, 331, 384, 64, 65}, {331}, {10}},
            {"two keys that share their first symbol",
             {386, 80, 81, 320, 80, 82, 383, 3, 384, 80, 82, 383, 384, 80, 81},
             {383, 320},
             {10, 14}}};
  }

  std::int64_t key_tokens_, symbols_, values_, filler_, queries_, density_;
  bool repeat_;
  DistanceRange distances_;
  std::int64_t max_pairs_ = 0;
  std::int32_t key0_ = 0, value0_ = 0, query_ = 0;
  TaskInfo info_;
  SampleStreams streams_;
};

constexpr std::int64_t kMaxAlphabet = std::int64_t{1} << 20;

std::vector<ParameterSpec> shared_parameters(const std::string& density, std::int64_t min_density) {
  std::vector<ParameterSpec> parameters = {
      {"values", "64", "value alphabet", {}, 1, kMaxAlphabet},
      {"filler", "64", "filler alphabet", {}, 1, kMaxAlphabet},
      {"queries", "8", "queries per sample, at most one per pair unless repeat=true", {}, 1, 4096},
      {"density", density, "context tokens per pair", {}, min_density, 65536},
      {"repeat", "false", "queries drawn with repetition (for training)", flag_words()},
      {"layout", "scattered", "where the pairs stand", {"scattered"}}};
  for (const ParameterSpec& spec :
       distance_parameters("between the end of the context and the place whose nearest pair is asked")) {
    parameters.push_back(spec);
  }
  return parameters;
}

}  // namespace

const TaskEntry& recall_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "recall";
    made.comparability = "exact: lenbench's own task";
    made.summary = "single-token keys with values scattered over filler; each query asks for the value of one key";
    made.parameters = shared_parameters("8", 2);
    made.parameters.push_back({"keys", "256", "key alphabet, and the largest number of pairs", {}, 1, kMaxAlphabet});
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<RecallTask>(self, resolved, 1);
    };
    return made;
  }();
  return entry;
}

const TaskEntry& recall_dense_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "recall-dense";
    made.comparability = "exact: lenbench's own task";
    made.summary = "two-token keys, one pair per six tokens: the number of pairs grows with the length";
    made.parameters = shared_parameters("6", 3);
    made.parameters.push_back({"symbols", "256", "alphabet of the key symbols", {}, 1, 4096});
    made.parameters.push_back({"pairs", "65536", "largest number of pairs", {}, 1, kMaxAlphabet});
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<RecallTask>(self, resolved, 2);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
