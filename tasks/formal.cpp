// The layout of formal-language tasks.
#include "tasks/formal.h"

#include <algorithm>
#include <cassert>

namespace lenbench {
namespace {

constexpr std::uint8_t kInput = 0;

class FormalTask : public Task {
 public:
  FormalTask(const TaskEntry& entry, const TaskParameters& resolved, const FormalLaw& law,
             const std::vector<FormalExample>& examples, const std::vector<FormalRow>& table)
      : law_(law), info_(describe(entry, resolved)), streams_(info_) {
    info_.published =
        "trained on lengths 1 to 40 drawn uniformly, tested on every length to 500 with 512 samples each (100 in the "
        "suite's example); the score is the mean accuracy of output tokens over lengths above 40, and 0.9 of it counts "
        "as solved";
    info_.specials = specials_from(law.symbols);
    info_.vocab_size = law.symbols + kNumSpecials;
    for (const FormalExample& example : examples) info_.examples.push_back(worked(example));
    for (const FormalRow& row : table) {
      std::string note;
      for (const std::int32_t symbol : row.input) note += std::to_string(symbol);
      info_.truth_table.push_back(worked({note.c_str(), row.input, row.output}));
    }
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return law_.min_length; }
  std::int64_t total_tokens(std::int64_t length) const override {
    const std::int64_t input = input_tokens(length);
    return 2 + input + law_.blanks(input);
  }
  double chance() const override { return 1.0 / static_cast<double>(law_.output_symbols); }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key, law_.max_length);
    Rng rng = streams_.stream(key, kInput);
    const Symbols input = law_.input(key.length, rng);
    return laid_out(input, law_.output(input));
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    const auto sep = std::find(tokens.begin(), tokens.end(), info_.specials.sep);
    const auto sep_at = static_cast<std::int64_t>(sep - tokens.begin());
    if (sep == tokens.end() || sep_at < 1 + law_.min_length) return std::vector<std::int32_t>(positions.size(), -1);
    const Symbols output = law_.output(tokens.subspan(1, static_cast<std::size_t>(sep_at - 1)));
    std::vector<std::int32_t> targets;
    for (const std::int64_t position : positions) {
      const std::int64_t blank = position - sep_at - 1;
      const bool judged = 0 <= blank && blank < static_cast<std::int64_t>(output.size());
      targets.push_back(judged ? output[static_cast<std::size_t>(blank)] : -1);
    }
    return targets;
  }

 private:
  std::int64_t input_tokens(std::int64_t length) const { return law_.odd_input ? length - (length + 1) % 2 : length; }

  WorkedExample worked(const FormalExample& example) const {
    const Sample sample = laid_out(example.input, example.output);
    WorkedExample made = {example.note, sample.tokens, example.output, {}};
    for (const ScoredToken& row : sample.scored) made.positions.push_back(row.position);
    return made;
  }

  Sample laid_out(const Symbols& input, const Symbols& output) const {
    const auto size = static_cast<std::int64_t>(input.size());
    const std::int64_t blanks = law_.blanks(size);
    assert(!output.empty() && static_cast<std::int64_t>(output.size()) <= blanks);
    Sample sample;
    sample.tokens.reserve(static_cast<std::size_t>(2 + size + blanks));
    sample.tokens.push_back(info_.specials.bos);
    sample.tokens.insert(sample.tokens.end(), input.begin(), input.end());
    sample.tokens.push_back(info_.specials.sep);
    for (std::size_t i = 0; i < output.size(); ++i) {
      sample.scored.push_back(
          {static_cast<std::int64_t>(sample.tokens.size() + i), output[i], static_cast<std::int32_t>(i), false});
    }
    sample.tokens.insert(sample.tokens.end(), static_cast<std::size_t>(blanks), info_.specials.mask);
    sample.prompt_tokens = sample.scored.front().position + 1;
    sample.facts["input_tokens"] = static_cast<double>(size);
    sample.facts["pads"] = static_cast<double>(blanks);
    if (law_.repeats != nullptr) {
      const std::vector<std::int64_t> places = law_.repeats(input);
      DistanceFacts distances;
      for (std::size_t i = 0; i < places.size(); ++i) distances.add(sample.scored[i].position - 1 - places[i]);
      distances.put(sample);
    }
    return sample;
  }

  FormalLaw law_;
  TaskInfo info_;
  SampleStreams streams_;
};

}  // namespace

std::unique_ptr<Task> make_formal(const TaskEntry& entry, const TaskParameters& resolved, const FormalLaw& law,
                                  const std::vector<FormalExample>& examples, const std::vector<FormalRow>& table) {
  return std::make_unique<FormalTask>(entry, resolved, law, examples, table);
}

std::string formal_comparability(const std::string& original) {
  return "distributional: " + original +
         " of the Chomsky-hierarchy suite (arXiv 2207.02098): its inputs and answers at one length; BOS, SEP and the "
         "place of the blanks are ours";
}

Symbols uniform_symbols(std::int64_t count, std::int32_t symbols, Rng& rng) {
  Symbols drawn(static_cast<std::size_t>(count));
  for (std::int32_t& symbol : drawn) {
    symbol = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(symbols)));
  }
  return drawn;
}

std::int64_t one_blank(std::int64_t) { return 1; }
std::int64_t as_many_blanks(std::int64_t input_tokens) { return input_tokens; }

}  // namespace lenbench
