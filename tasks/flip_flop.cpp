// flip-flop: a one-bit memory that is written, ignored and at last read.
//
// Nominal length L, n = floor(L / 2) pairs of a command and a fair bit: the first writes, the last reads, each of the
// n - 2 between writes with probability w and ignores otherwise. Fed: BOS, the pairs without the last bit (2 n - 1
// tokens), the bit of the last write; the end token is judged and not fed; no SEP. Ids: bits 0 and 1, write 2, ignore
// 3, read 4, then pad, bos, eos, mask, sep.
#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kCommands, kBits };

constexpr std::int32_t kWrite = 2, kIgnore = 3, kRead = 4;
constexpr std::int32_t kFirstSpecial = 5;

class FlipFlopTask : public Task {
 public:
  FlipFlopTask(const TaskEntry& entry, const TaskParameters& resolved)
      : write_percent_(integer_of(resolved, "write")), info_(describe(entry, resolved)), streams_(info_) {
    info_.specials = specials_from(kFirstSpecial);
    info_.vocab_size = kFirstSpecial + kNumSpecials;
    info_.examples = {
        {"write 1, ignore 0, ignore 0, read: 1, then the end token", {6, 2, 1, 3, 0, 3, 0, 4, 1}, {1, 7}, {7, 8}},
        {"write 1, write 0, ignore 1, read: the last write counts", {6, 2, 1, 2, 0, 3, 1, 4}, {0}, {7}}};
    for (std::int32_t first = 0; first < 2; ++first) {
      const char* const written = first == 0 ? "write 0" : "write 1";
      info_.truth_table.push_back({std::string(written) + ", read", {6, kWrite, first, kRead}, {first}, {3}});
      for (std::int32_t second = 0; second < 2; ++second) {
        const std::string bit = std::to_string(second);
        info_.truth_table.push_back({std::string(written) + ", ignore " + bit + ", read",
                                     {6, kWrite, first, kIgnore, second, kRead},
                                     {first},
                                     {5}});
        info_.truth_table.push_back({std::string(written) + ", write " + bit + ", read",
                                     {6, kWrite, first, kWrite, second, kRead},
                                     {second},
                                     {5}});
      }
    }
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return 4; }
  std::int64_t total_tokens(std::int64_t length) const override { return 2 * (length / 2) + 1; }
  double chance() const override { return 0.5; }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::int64_t pairs = key.length / 2;
    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    tokens.push_back(info_.specials.bos);
    Rng commands = streams_.stream(key, kCommands);
    Rng bits = streams_.stream(key, kBits);
    std::int64_t source = 0, writes = 0;
    for (std::int64_t i = 0; i + 1 < pairs; ++i) {
      const bool write = i == 0 || commands.chance(static_cast<std::uint64_t>(write_percent_), 100);
      tokens.push_back(write ? kWrite : kIgnore);
      if (write) source = static_cast<std::int64_t>(tokens.size());
      writes += write ? 1 : 0;
      tokens.push_back(static_cast<std::int32_t>(bits.below(2)));
    }
    tokens.push_back(kRead);
    const auto row = static_cast<std::int64_t>(tokens.size()) - 1;
    sample.prompt_tokens = row + 1;
    const std::int32_t bit = tokens[static_cast<std::size_t>(source)];
    sample.scored = {{row, bit, 0, true}, {row + 1, info_.specials.eos, -1, false}};
    sample.sources = {source};
    tokens.push_back(bit);
    sample.facts["pads"] = static_cast<double>(2 * (pairs - 1 - writes));
    sample.facts["pairs"] = static_cast<double>(writes);
    sample.facts["density"] = static_cast<double>(writes) / static_cast<double>(2 * pairs - 1);
    DistanceFacts distance;
    distance.add(row - source);
    distance.put(sample);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    return solve_rows(positions, [&](std::int64_t position) { return solve_row(tokens, position); });
  }

 private:
  std::int32_t solve_row(std::span<const std::int32_t> tokens, std::int64_t position) const {
    const auto at = [&](std::int64_t place) { return tokens[static_cast<std::size_t>(place)]; };
    if (position > 0 && at(position - 1) == kRead) return info_.specials.eos;
    if (at(position) != kRead) return -1;
    for (std::int64_t place = position - 2; place > 0; place -= 2) {
      if (at(place) == kWrite) return at(place + 1);
    }
    return -1;
  }

  std::int64_t write_percent_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& flip_flop_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "flip-flop";
    made.comparability = "distributional: Flip-Flop of ASEntmax (arXiv 2506.16640)";
    made.summary = "pairs of a command (write, ignore) and a bit, then read: the answer is the bit of the last write";
    made.published =
        "the write probability is published twice: 0.1 in the configurations and as the generator's default (write=10, "
        "the default here), 0.8 in the README command (write=80). They are different tasks: the last write is about "
        "ten "
        "pairs back with 0.1 and next to the read in four of five samples with 0.8. Trained on lengths 32 to 64; "
        "score: "
        "the bit and the end token (exact match)";
    made.parameters = {{"write", "10", "per cent of the commands between first and last that write", {}, 0, 100}};
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<FlipFlopTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
