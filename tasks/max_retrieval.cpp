// Draws the items of Max Retrieval and writes them as ids.
#include "tasks/max_retrieval.h"

#include <memory>

#include "base/error.h"
#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kPriorities, kClasses, kQuery };

constexpr const char* kName = "max-retrieval";
constexpr std::int64_t kMostItems = std::int64_t{1} << 20;
constexpr std::int32_t kNumber0 = kMaxRetrievalClasses;

const SampleStreams& streams() {
  static const SampleStreams made = [] {
    TaskInfo info;
    info.name = kName;
    return SampleStreams(info);
  }();
  return made;
}

std::vector<std::uint64_t> draw_priorities(Rng& rng, std::int64_t items, std::int64_t& source) {
  std::vector<std::uint64_t> priorities(static_cast<std::size_t>(items));
  while (true) {
    std::int64_t times = 0;
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < priorities.size(); ++i) {
      priorities[i] = rng.below(kMaxRetrievalSteps);
      if (times > 0 && priorities[i] < largest) continue;
      times = times > 0 && priorities[i] == largest ? times + 1 : 1;
      largest = priorities[i];
      source = static_cast<std::int64_t>(i);
    }
    if (times == 1) return priorities;
  }
}

float unit(std::uint64_t steps) { return static_cast<float>(steps) / static_cast<float>(kMaxRetrievalSteps); }

std::int32_t number_id(float number) {
  return kNumber0 + static_cast<std::int32_t>(number * static_cast<float>(kMaxRetrievalSteps));
}

class MaxRetrievalTask : public Task {
 public:
  MaxRetrievalTask(const TaskEntry& entry, const TaskParameters& resolved) : info_(describe(entry, resolved)) {
    info_.input = TaskInput::kItems;
    info_.vocab_size = kMaxRetrievalClasses + kMaxRetrievalSteps;
    info_.examples = worked_examples();
    for (const std::int32_t larger : {0, 1}) {
      const std::int32_t half = kNumber0 + kMaxRetrievalSteps / 2, quarter = kNumber0 + kMaxRetrievalSteps / 4;
      const std::string high = "1/2 of class " + std::to_string(larger),
                        low = "1/4 of class " + std::to_string(1 - larger);
      info_.truth_table.push_back({high + ", " + low, {half, larger, quarter, 1 - larger, half}, {larger}, {4}});
      info_.truth_table.push_back({low + ", " + high, {quarter, 1 - larger, half, larger, half}, {larger}, {4}});
    }
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return 2; }
  std::int64_t total_tokens(std::int64_t length) const override { return 2 * length + 1; }
  double chance() const override { return 1.0 / kMaxRetrievalClasses; }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key, kMostItems);
    const MaxRetrievalSample items = draw_max_retrieval(key);
    Sample sample;
    sample.tokens.reserve(static_cast<std::size_t>(total_tokens(key.length)));
    for (std::size_t i = 0; i < items.priorities.size(); ++i) {
      sample.tokens.push_back(number_id(items.priorities[i]));
      sample.tokens.push_back(items.classes[i]);
    }
    sample.tokens.push_back(number_id(items.query));
    const std::int64_t row = 2 * key.length;
    sample.scored.push_back({row, items.target, 0, false});
    sample.prompt_tokens = row + 1;
    sample.sources.push_back(2 * items.source + 1);
    sample.facts["items"] = static_cast<double>(key.length);
    sample.facts["pads"] = 0;
    sample.facts["pairs"] = static_cast<double>(key.length);
    sample.facts["density"] = 0.5;
    DistanceFacts distance;
    distance.add(row - sample.sources.front());
    distance.put(sample);
    return sample;
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    return solve_rows(positions, [&](std::int64_t position) {
      std::int32_t largest = -1, answer = -1;
      for (std::size_t at = 0; at + 1 < static_cast<std::size_t>(position); at += 2) {
        if (tokens[at] <= largest) continue;
        largest = tokens[at];
        answer = tokens[at + 1];
      }
      return answer;
    });
  }

 private:
  static std::vector<WorkedExample> worked_examples() {
    const std::int32_t half = kNumber0 + kMaxRetrievalSteps / 2, quarter = kNumber0 + kMaxRetrievalSteps / 4;
    const std::int32_t eighth = kNumber0 + kMaxRetrievalSteps / 8;
    return {{"priorities 1/4, 1/2 and 1/8 with classes 3, 7 and 3: the second is the largest, whatever the query 1/4",
             {quarter, 3, half, 7, eighth, 3, quarter},
             {7},
             {6}},
            {"two items whose priorities differ by the smallest step there is",
             {half, 4, half + 1, 0, kNumber0},
             {0},
             {4}}};
  }

  TaskInfo info_;
};

}  // namespace

MaxRetrievalSample draw_max_retrieval(const DrawKey& key) {
  if (key.length < 1 || key.length > kMostItems) {
    throw Error(std::string(kName) + ": length " + std::to_string(key.length) + " is outside 1 to " +
                std::to_string(kMostItems) + " items");
  }
  MaxRetrievalSample sample;
  Rng priorities = streams().stream(key, kPriorities);
  for (const std::uint64_t steps : draw_priorities(priorities, key.length, sample.source)) {
    sample.priorities.push_back(unit(steps));
  }
  Rng classes = streams().stream(key, kClasses);
  for (std::int64_t i = 0; i < key.length; ++i) {
    sample.classes.push_back(static_cast<std::int32_t>(classes.below(kMaxRetrievalClasses)));
  }
  Rng query = streams().stream(key, kQuery);
  sample.query = unit(query.below(kMaxRetrievalSteps));
  sample.target = sample.classes[static_cast<std::size_t>(sample.source)];
  return sample;
}

const TaskEntry& max_retrieval_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = kName;
    made.comparability =
        "inspired: Max Retrieval of ASEntmax (arXiv 2506.16640, table 8) and of Velickovic et al. (arXiv 2410.01104), "
        "whose generators are not released";
    made.summary =
        "a set of items, each a priority in [0, 1) and one of ten classes; the answer is the class of the largest "
        "priority (for models of sets, see results/recipes/max-retrieval-*.json)";
    made.published =
        "trained on 16 items, tested on 16, 32, ..., 4096; one cross-attention head, no positions, width 128; AdamW at "
        "1e-3 with weight decay 1e-3, batches of 128, 20,000 steps. Adaptive temperature was introduced on this task";
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources&) -> std::unique_ptr<Task> {
      return std::make_unique<MaxRetrievalTask>(self, resolved);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
