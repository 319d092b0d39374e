// local-count: label each token with its place in its run of equal tokens.
//
// Fed: BOS, then B = floor(2 L / (M + 2)) runs, M = max-reps; each run is one symbol, another than its neighbour's,
// said r times, r uniform on 2..M. Every row but BOS is judged, labels are not fed back: the first token of a run is 0,
// the second 1 ... So the length is only nearly L: B (M + 2) / 2 tokens on average, up to B M. Ids: symbols 0..S-1 and
// labels 0..M-1 share ids from 0; pad, bos, eos, mask, sep follow the larger of the two. The original also feeds a
// closing EOS, which no judged row can see.
#include <algorithm>

#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kSymbols, kReps };

class LocalCountTask : public Task {
 public:
  LocalCountTask(const TaskEntry& entry, const TaskParameters& resolved)
      : symbols_(integer_of(resolved, "symbols")),
        max_reps_(integer_of(resolved, "max-reps")),
        info_(describe(entry, resolved)),
        streams_(info_) {
    const std::int64_t ids = std::max(symbols_, max_reps_);
    info_.specials = specials_from(static_cast<std::int32_t>(ids));
    info_.vocab_size = ids + kNumSpecials;
    info_.examples = {{"runs of 3, 2 and 2", {49, 7, 7, 7, 2, 2, 15, 15}, {0, 1, 2, 0, 1, 0, 1}, {1, 2, 3, 4, 5, 6, 7}},
                      {"a symbol that comes back starts at 0 again",
                       {49, 4, 4, 9, 9, 9, 4, 4, 4, 4},
                       {0, 1, 0, 1, 2, 0, 1, 2, 3},
                       {1, 2, 3, 4, 5, 6, 7, 8, 9}}};
    for (const std::int32_t a : {0, 1}) {
      const std::int32_t b = 1 - a, bos = info_.specials.bos;
      const auto note = [&](std::int32_t x, std::int32_t y) {
        return std::to_string(a) + std::to_string(x) + std::to_string(y);
      };
      info_.truth_table.push_back({note(a, a), {bos, a, a, a}, {0, 1, 2}, {1, 2, 3}});
      info_.truth_table.push_back({note(a, b), {bos, a, a, b}, {0, 1, 0}, {1, 2, 3}});
      info_.truth_table.push_back({note(b, a), {bos, a, b, a}, {0, 0, 0}, {1, 2, 3}});
      info_.truth_table.push_back({note(b, b), {bos, a, b, b}, {0, 0, 1}, {1, 2, 3}});
    }
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return (max_reps_ + 3) / 2; }
  std::int64_t total_tokens(std::int64_t length) const override { return 1 + num_runs(length) * max_reps_; }
  double chance() const override { return 1.0 / static_cast<double>(max_reps_); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::int64_t runs = num_runs(key.length);
    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    tokens = {info_.specials.bos};
    Rng symbols = streams_.stream(key, kSymbols);
    Rng reps = streams_.stream(key, kReps);
    std::int64_t symbol = static_cast<std::int64_t>(symbols.below(static_cast<std::uint64_t>(symbols_)));
    for (std::int64_t run = 0; run < runs; ++run) {
      // A step of 1..S-1 around the circle of symbols: uniform over the others.
      if (run > 0) symbol = (symbol + symbols.between(1, symbols_ - 1)) % symbols_;
      const std::int64_t length = reps.between(2, max_reps_);
      for (std::int64_t i = 0; i < length; ++i) {
        const auto row = static_cast<std::int64_t>(tokens.size());
        sample.scored.push_back({row, static_cast<std::int32_t>(i), static_cast<std::int32_t>(row - 1), false});
        tokens.push_back(static_cast<std::int32_t>(symbol));
      }
    }
    sample.prompt_tokens = sample.scored.front().position + 1;
    sample.facts["pads"] = 0;
    sample.facts["pairs"] = static_cast<double>(runs);
    sample.facts["density"] = static_cast<double>(runs) / static_cast<double>(tokens.size() - 1);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    std::vector<std::int32_t> targets;
    for (const std::int64_t position : positions) {
      std::int64_t first = position;
      while (first > 1 && tokens[static_cast<std::size_t>(first - 1)] == tokens[static_cast<std::size_t>(position)]) {
        --first;
      }
      targets.push_back(position < 1 ? -1 : static_cast<std::int32_t>(position - first));
    }
    return targets;
  }

 private:
  std::int64_t num_runs(std::int64_t length) const { return 2 * length / (max_reps_ + 2); }

  std::int64_t symbols_, max_reps_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& local_count_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "local-count";
    made.comparability = "distributional: LocalCount of ASEntmax (arXiv 2506.16640); scoring is lenbench's own";
    made.summary = "runs of equal symbols; each token's label is its place in its run, from 0";
    made.published =
        "16 symbols, runs of 2 to 48, trained on lengths 64 to 128; the length is only nearly the nominal one; not "
        "runnable as released (48 labels, 21 outputs) and no scoring was released, so lenbench judges every label "
        "(token "
        "accuracy) and the whole sequence (exact match)";
    made.parameters = {{"max-reps", "48", "longest run", {}, 2, 65536},
                       {"symbols", "16", "alphabet", {}, 2, std::int64_t{1} << 20}};
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<LocalCountTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
