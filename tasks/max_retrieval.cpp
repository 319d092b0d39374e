// Draws the items of Max Retrieval.
#include "tasks/max_retrieval.h"

#include "base/error.h"
#include "tasks/entry.h"

namespace lenbench {
namespace {

enum Field : std::uint8_t { kPriorities, kClasses, kQuery };

constexpr std::int64_t kMostItems = std::int64_t{1} << 20;
constexpr std::uint64_t kSteps = std::uint64_t{1} << 24;

const SampleStreams& streams() {
  static const SampleStreams made = [] {
    TaskInfo info;
    info.name = "max-retrieval";
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
      priorities[i] = rng.below(kSteps);
      if (times > 0 && priorities[i] < largest) continue;
      times = times > 0 && priorities[i] == largest ? times + 1 : 1;
      largest = priorities[i];
      source = static_cast<std::int64_t>(i);
    }
    if (times == 1) return priorities;
  }
}

float unit(std::uint64_t steps) { return static_cast<float>(steps) / static_cast<float>(kSteps); }

}  // namespace

MaxRetrievalSample draw_max_retrieval(const DrawKey& key) {
  if (key.length < 1 || key.length > kMostItems) {
    throw Error("max-retrieval: length " + std::to_string(key.length) + " is outside 1 to " +
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
  sample.query = unit(query.below(kSteps));
  sample.target = sample.classes[static_cast<std::size_t>(sample.source)];
  return sample;
}

}  // namespace lenbench
