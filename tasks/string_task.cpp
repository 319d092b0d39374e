// Draws a string of independent uniform symbols and answers with its rearrangement.
#include "tasks/string_task.h"

#include <algorithm>

namespace lenbench {
namespace {

enum Field : std::uint8_t { kSymbols };

class StringTask : public Task {
 public:
  StringTask(const TaskEntry& entry, const TaskParameters& resolved, const StringRule& rule)
      : order_(rule.order),
        symbols_(integer_of(resolved, "symbols")),
        info_(describe(entry, resolved)),
        streams_(info_) {
    info_.specials = specials_from(static_cast<std::int32_t>(symbols_));
    info_.vocab_size = symbols_ + kNumSpecials;
    info_.examples = rule.examples;
    for (std::int32_t string = 0; string < 4; ++string) {
      const std::int32_t first = string / 2, second = string % 2;
      const auto answer = rule.table.begin() + 2 * string;
      info_.truth_table.push_back({std::to_string(first) + std::to_string(second),
                                   {info_.specials.bos, first, second, info_.specials.sep, answer[0], answer[1]},
                                   {answer[0], answer[1], info_.specials.eos},
                                   {3, 4, 5}});
    }
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return 1; }
  std::int64_t total_tokens(std::int64_t length) const override { return 2 * length + 2; }
  double chance() const override { return 1.0 / static_cast<double>(symbols_); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    Sample sample;
    std::vector<std::int32_t>& tokens = sample.tokens;
    tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    tokens.push_back(info_.specials.bos);
    Rng rng = streams_.stream(key, kSymbols);
    for (std::int64_t i = 0; i < key.length; ++i) {
      tokens.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(symbols_))));
    }
    const std::vector<std::int64_t> order = order_(std::span(tokens).subspan(1));
    tokens.push_back(info_.specials.sep);
    sample.prompt_tokens = key.length + 2;
    sample.scored.reserve(order.size() + 1);
    sample.sources.reserve(order.size());
    DistanceFacts distances;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t source = order[i] + 1;
      const auto row = static_cast<std::int64_t>(tokens.size()) - 1;
      const std::int32_t target = tokens[static_cast<std::size_t>(source)];
      sample.scored.push_back({row, target, static_cast<std::int32_t>(i), true});
      sample.sources.push_back(source);
      distances.add(row - source);
      tokens.push_back(target);
    }
    sample.scored.push_back({static_cast<std::int64_t>(tokens.size()) - 1, info_.specials.eos, -1, false});
    sample.facts["pads"] = 0;
    distances.put(sample);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    const auto sep = std::find(tokens.begin(), tokens.end(), info_.specials.sep) - tokens.begin();
    const auto length = static_cast<std::int64_t>(sep) - 1;
    std::vector<std::int64_t> order;
    std::vector<std::int32_t> targets;
    for (const std::int64_t position : positions) {
      const std::int64_t place = position - sep;
      if (place < 0 || place > length) {
        targets.push_back(-1);
      } else if (place == length) {
        targets.push_back(info_.specials.eos);
      } else {
        if (order.empty()) order = order_(tokens.subspan(1, static_cast<std::size_t>(length)));
        targets.push_back(tokens[static_cast<std::size_t>(order[static_cast<std::size_t>(place)] + 1)]);
      }
    }
    return targets;
  }

 private:
  SourceOrder order_;
  std::int64_t symbols_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

std::vector<ParameterSpec> string_parameters() {
  return {{"symbols", "32", "alphabet of the string", {}, 1, std::int64_t{1} << 20}};
}

std::unique_ptr<Task> make_string_task(const TaskEntry& entry, const TaskParameters& resolved, const StringRule& rule) {
  return std::make_unique<StringTask>(entry, resolved, rule);
}

}  // namespace lenbench
