// nback: label each token with the token n places before it; 2Back with the default.
//
// Fed: BOS, a leading 0, L symbols of 1..S-1. Every row but BOS is judged, labels are not fed back: row p must give the
// token at p - n, or 0 where there is none. Ids: symbols 0..S-1, then pad, bos, eos, mask, sep. The first n + 1 labels
// are 0 in every sample; they count for exact match and are no answers. The original also feeds a closing EOS, which no
// judged row can see.
#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kSymbols };

class NBackTask : public Task {
 public:
  NBackTask(const TaskEntry& entry, const TaskParameters& resolved)
      : steps_(integer_of(resolved, "n")),
        symbols_(integer_of(resolved, "symbols")),
        info_(describe(entry, resolved)),
        streams_(info_) {
    info_.specials = specials_from(static_cast<std::int32_t>(symbols_));
    info_.vocab_size = symbols_ + kNumSpecials;
    info_.examples = {
        {"each label is the token two places before, 0 at the start",
         {17, 0, 3, 7, 7, 15},
         {0, 0, 0, 3, 7},
         {1, 2, 3, 4, 5}},
        {"the leading 0 is the label of the third token", {17, 0, 1, 2, 1, 2, 1}, {0, 1, 2, 1}, {3, 4, 5, 6}}};
    for (std::int32_t string = 0; steps_ == 2 && string < 8; ++string) {
      const std::int32_t first = 1 + string / 4, second = 1 + string / 2 % 2, third = 1 + string % 2;
      info_.truth_table.push_back({"0" + std::to_string(first) + std::to_string(second) + std::to_string(third),
                                   {info_.specials.bos, 0, first, second, third},
                                   {0, 0, 0, first},
                                   {1, 2, 3, 4}});
    }
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return steps_ + 1; }
  std::int64_t total_tokens(std::int64_t length) const override { return length + 2; }
  double chance() const override { return 1.0 / static_cast<double>(symbols_ - 1); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    tokens = {info_.specials.bos, 0};
    tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    Rng rng = streams_.stream(key, kSymbols);
    for (std::int64_t i = 0; i < key.length; ++i) {
      tokens.push_back(1 + static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(symbols_ - 1))));
    }
    DistanceFacts distances;
    for (std::int64_t row = 1; row < static_cast<std::int64_t>(tokens.size()); ++row) {
      const std::int64_t first_answer = steps_ + 2;
      const bool is_answer = row >= first_answer;
      const auto answer = static_cast<std::int32_t>(is_answer ? row - first_answer : -1);
      sample.scored.push_back({row, label(tokens, row), answer, false});
      if (!is_answer) continue;
      sample.sources.push_back(row - steps_);
      distances.add(steps_);
    }
    sample.prompt_tokens = sample.scored.front().position + 1;
    sample.facts["pads"] = 0;
    distances.put(sample);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    return solve_rows(positions, [&](std::int64_t position) { return position < 1 ? -1 : label(tokens, position); });
  }

 private:
  std::int32_t label(std::span<const std::int32_t> tokens, std::int64_t row) const {
    return row - steps_ < 1 ? 0 : tokens[static_cast<std::size_t>(row - steps_)];
  }

  std::int64_t steps_, symbols_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

const TaskEntry& nback_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "nback";
    made.comparability = "distributional: 2Back of ASEntmax (arXiv 2506.16640); scoring is lenbench's own";
    made.summary =
        "a 0 and a string of independent uniform symbols; each token's label is the token n places before it";
    made.published =
        "n = 2, 16 symbols of which 0 leads, trained on lengths 32 to 64; no experiment and no scoring were released, "
        "so "
        "lenbench judges every label (token accuracy) and the whole sequence (exact match)";
    made.parameters = {{"n", "2", "how many places back", {}, 1, 1024},
                       {"symbols", "16", "alphabet, the leading 0 included", {}, 3, std::int64_t{1} << 20}};
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<NBackTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
