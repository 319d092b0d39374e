// MQAR: multi-query associative recall as in zoology (arXiv 2312.04927), zoology/data/multiquery_ar.py.
//
// Ids: 0 fill, keys 1 .. V/2 - 1, values V/2 .. V - 1, then pad, bos, eos, mask, sep. Fed: BOS, which the original does
// not have, then L tokens: K pairs key value, then S = (L - 2K) / 2 slots of two tokens. Slots g_1 .. g_K are drawn one
// after the other without replacement with probability proportional to (g + 1)^(a - 1); key i stands in the first place
// of slot g_i, and at that row, not after it, its value is the label. Nothing is fed back. An odd L feeds L - 1.
//
// fill=random draws all other places of the slots from the ids that are not keys or values of the sample. The original
// draws them from all ids, so that a key can stand there without a label.
#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "tasks/entry.h"
#include "tasks/power_law.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kKeys, kValues, kSlots, kFill };

constexpr std::int64_t kTokensAPair = 16;  // pairs=auto: the ratio of zoology's figure 2
constexpr std::int64_t kLongest = std::int64_t{1} << 22;

class MqarTask : public Task {
 public:
  MqarTask(const TaskEntry& entry, const TaskParameters& resolved)
      : vocab_(integer_of(resolved, "vocab")),
        uniform_(word_of(resolved, "gap") == "uniform"),
        exponent_percent_(integer_of(resolved, "a-percent") - 100),
        random_fill_(word_of(resolved, "fill") == "random"),
        info_(describe(entry, resolved)),
        streams_(info_) {
    if (uniform_ && word_of(resolved, "a-percent") != "1") {
      throw Error("mqar: a-percent=" + word_of(resolved, "a-percent") +
                  " has no meaning with gap=uniform; leave one of the two out");
    }
    if (word_of(resolved, "pairs") != "auto") pairs_ = integer_of(resolved, "pairs");
    if (pairs_ > num_keys()) {
      throw Error("mqar: pairs=" + std::to_string(pairs_) + " with vocab=" + std::to_string(vocab_) + ", which has " +
                  std::to_string(num_keys()) + " keys; use fewer pairs or a larger vocabulary");
    }
    info_.specials = specials_from(static_cast<std::int32_t>(vocab_));
    info_.vocab_size = vocab_ + kNumSpecials;
    info_.examples = worked_examples();
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return pairs_ == 0 ? 4 : 4 * pairs_; }
  std::int64_t total_tokens(std::int64_t length) const override { return 1 + length - length % 2; }
  double chance() const override { return 1.0 / static_cast<double>(vocab_ - vocab_ / 2); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key, kLongest);
    const std::int64_t pairs = num_pairs(key.length);
    const std::int64_t slots = (key.length - 2 * pairs) / 2;
    const std::vector<std::int64_t> keys = streams_.stream(key, kKeys).distinct(pairs, num_keys());
    const std::vector<std::int64_t> values = streams_.stream(key, kValues).distinct(pairs, vocab_ - vocab_ / 2);

    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    tokens.push_back(info_.specials.bos);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      tokens.push_back(1 + static_cast<std::int32_t>(keys[i]));
      tokens.push_back(static_cast<std::int32_t>(vocab_ / 2 + values[i]));
    }
    const auto context = static_cast<std::int64_t>(tokens.size());
    put_fill(tokens, key, slots);

    const std::vector<std::int64_t> gaps = draw_slots(key, pairs, slots);
    std::vector<std::size_t> by_slot(gaps.size());
    for (std::size_t i = 0; i < by_slot.size(); ++i) by_slot[i] = i;
    std::sort(by_slot.begin(), by_slot.end(), [&](std::size_t a, std::size_t b) { return gaps[a] < gaps[b]; });
    DistanceFacts distances;
    double gap = 0;
    for (std::size_t answer = 0; answer < by_slot.size(); ++answer) {
      const std::size_t pair = by_slot[answer];
      const std::int64_t at = context + 2 * gaps[pair];
      const std::int64_t key_at = 1 + 2 * static_cast<std::int64_t>(pair);
      tokens[static_cast<std::size_t>(at)] = tokens[static_cast<std::size_t>(key_at)];
      sample.scored.push_back(
          {at, tokens[static_cast<std::size_t>(key_at) + 1], static_cast<std::int32_t>(answer), false});
      sample.sources.push_back(key_at + 1);
      distances.add(at - key_at);
      gap += static_cast<double>(gaps[pair]);
    }
    sample.prompt_tokens = sample.scored.front().position + 1;
    sample.facts["pairs"] = static_cast<double>(pairs);
    sample.facts["queries"] = static_cast<double>(pairs);
    sample.facts["pads"] = static_cast<double>(2 * slots - pairs);
    sample.facts["density"] = static_cast<double>(pairs) / static_cast<double>(2 * pairs + 2 * slots - pairs);
    distances.put(sample);
    sample.facts["slot"] = gap / static_cast<double>(pairs);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    return solve_rows(positions, [&](std::int64_t position) { return look_up(tokens, position); });
  }

 private:
  std::int64_t num_keys() const { return vocab_ / 2 - 1; }
  std::int64_t num_pairs(std::int64_t length) const {
    return pairs_ > 0 ? pairs_ : std::clamp<std::int64_t>(length / kTokensAPair, 1, num_keys());
  }

  void put_fill(std::vector<std::int32_t>& tokens, const DrawKey& key, std::int64_t slots) const {
    if (!random_fill_) {
      tokens.resize(tokens.size() + 2 * static_cast<std::size_t>(slots));
      return;
    }
    std::vector<bool> used(static_cast<std::size_t>(vocab_));
    for (std::size_t i = 1; i < tokens.size(); ++i) used[static_cast<std::size_t>(tokens[i])] = true;
    std::vector<std::int32_t> free;
    for (std::int32_t id = 0; id < vocab_; ++id) {
      if (!used[static_cast<std::size_t>(id)]) free.push_back(id);
    }
    Rng rng = streams_.stream(key, kFill);
    for (std::int64_t i = 0; i < 2 * slots; ++i)
      tokens.push_back(free[static_cast<std::size_t>(rng.below(free.size()))]);
  }

  std::vector<std::int64_t> draw_slots(const DrawKey& key, std::int64_t pairs, std::int64_t slots) const {
    Rng rng = streams_.stream(key, kSlots);
    if (uniform_) return rng.distinct(pairs, slots);
    WeightedDraws draws(*weights(slots));
    std::vector<std::int64_t> drawn;
    for (std::int64_t i = 0; i < pairs; ++i) drawn.push_back(draws.next(rng));
    return drawn;
  }

  // The table of the law, kept for the next sample of the same length.
  std::shared_ptr<const std::vector<std::uint64_t>> weights(std::int64_t slots) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!weights_ || static_cast<std::int64_t>(weights_->size()) != slots) {
      weights_ = std::make_shared<const std::vector<std::uint64_t>>(power_weights(slots, exponent_percent_));
    }
    return weights_;
  }

  // The value behind the first earlier place of the key, among the pairs.
  std::int32_t look_up(std::span<const std::int32_t> tokens, std::int64_t position) const {
    const std::int32_t key = tokens[static_cast<std::size_t>(position)];
    if (key < 1 || key > num_keys()) return -1;
    for (std::int64_t at = 1; at + 1 < position; at += 2) {
      if (tokens[static_cast<std::size_t>(at)] == key) return tokens[static_cast<std::size_t>(at) + 1];
    }
    return -1;
  }

  std::vector<WorkedExample> worked_examples() const {
    return {{"pairs 2 8000 and 4 7000; key 4 is asked in slot 0, key 2 in slot 3, each labelled in place",
             {8193, 2, 8000, 4, 7000, 4, 0, 0, 0, 0, 0, 2, 0},
             {7000, 8000},
             {5, 11}},
            {"one pair, asked at once", {8193, 4095, 4096, 4095, 0}, {4096}, {3}}};
  }

  std::int64_t vocab_;
  std::int64_t pairs_ = 0;  // 0: auto
  bool uniform_;
  std::int64_t exponent_percent_;
  bool random_fill_;
  TaskInfo info_;
  SampleStreams streams_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const std::vector<std::uint64_t>> weights_;
};

}  // namespace

const TaskEntry& mqar_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "mqar";
    made.comparability =
        "distributional: MQAR of zoology (arXiv 2312.04927) with BOS before it; fill=random holds no key or value of "
        "the sample, where the original's may";
    made.summary = "pairs at the front, their keys again in later slots; each value is the label at its key's slot";
    made.published =
        "a = 0.01, 8192 ids; trained at length/pairs 64/4, 128/8, 256/16 (and 256/32, 256/64), tested up to 1024/256; "
        "with this a most queries stand right behind the pairs, so distance hardly grows with length";
    made.parameters = {{"pairs", "auto", "key-value pairs (auto: length / 16)", {"auto"}, 1, 1 << 19},
                       {"vocab", "8192", "ids: fill 0, keys below the half, values above", {}, 4, 1 << 20},
                       {"gap", "power", "law of the slots: (slot + 1)^(a - 1), or all alike", {"power", "uniform"}},
                       {"a-percent", "1", "100 a of the power law (zoology: a = 0.01)", {}, 1, 200},
                       {"fill", "zero", "what stands in all other places of the slots", {"zero", "random"}}};
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<MqarTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
