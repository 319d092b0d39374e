// parity: 1 when the number of ones is even.
//
// Fed: BOS, L fair bits, SEP, the answer; the end token is judged and not fed. Ids: bits 0 and 1, then pad, bos, eos,
// mask, sep. The sense is that of ASEntmax's generator; the Chomsky-hierarchy suite answers 1 when the number is odd.
#include <algorithm>

#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kBits };

constexpr std::int32_t kFirstSpecial = 2;

class ParityTask : public Task {
 public:
  ParityTask(const TaskEntry& entry, const TaskParameters& resolved)
      : info_(describe(entry, resolved)), streams_(info_) {
    info_.specials = specials_from(kFirstSpecial);
    info_.vocab_size = kFirstSpecial + kNumSpecials;
    info_.examples = {{"two ones: even, so 1, then the end token", {3, 0, 1, 1, 6, 1}, {1, 4}, {4, 5}},
                      {"three ones: odd, so 0", {3, 1, 0, 1, 1, 6}, {0}, {5}}};
    for (std::int32_t first = 0; first < 2; ++first) {
      info_.truth_table.push_back({std::to_string(first), {3, first, 6}, {1 - first}, {2}});
    }
    for (std::int32_t first = 0; first < 2; ++first) {
      for (std::int32_t second = 0; second < 2; ++second) {
        info_.truth_table.push_back(
            {std::to_string(first) + std::to_string(second), {3, first, second, 6}, {first == second ? 1 : 0}, {3}});
      }
    }
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return 1; }
  std::int64_t total_tokens(std::int64_t length) const override { return length + 3; }
  double chance() const override { return 0.5; }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    tokens.push_back(info_.specials.bos);
    Rng rng = streams_.stream(key, kBits);
    std::int32_t parity = 1;
    for (std::int64_t i = 0; i < key.length; ++i) {
      tokens.push_back(static_cast<std::int32_t>(rng.below(2)));
      parity ^= tokens.back();
    }
    tokens.push_back(info_.specials.sep);
    sample.prompt_tokens = key.length + 2;
    sample.scored = {{key.length + 1, parity, 0, true}, {key.length + 2, info_.specials.eos, -1, false}};
    tokens.push_back(parity);
    sample.facts["pads"] = 0;
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    const auto sep = std::find(tokens.begin(), tokens.end(), info_.specials.sep) - tokens.begin();
    std::vector<std::int32_t> targets;
    for (const std::int64_t position : positions) {
      if (position == sep) {
        targets.push_back(std::count(tokens.begin(), tokens.begin() + sep, 1) % 2 == 0 ? 1 : 0);
      } else {
        targets.push_back(position == sep + 1 ? info_.specials.eos : -1);
      }
    }
    return targets;
  }

 private:
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& parity_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "parity";
    made.comparability = "distributional: Parity of ASEntmax's generator (arXiv 2506.16640)";
    made.summary = "a string of fair bits; the answer is 1 when the number of ones is even, else 0";
    made.published =
        "in the generator, not in the README; note the sense: the Chomsky-hierarchy suite answers 1 when the number of "
        "ones is odd. Trained on lengths 32 to 64";
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<ParityTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
