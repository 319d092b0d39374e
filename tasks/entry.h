// What a task's file gives to the catalogue, and what every task needs to draw: checked parameters and keyed streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/catalog.h"
#include "tasks/rng.h"
#include "tasks/task.h"

namespace lenbench {

// Longest nominal length any task draws, in tokens.
inline constexpr std::int64_t kMaxLength = std::int64_t{1} << 26;

// One line of the catalogue. `make` receives every parameter, checked and canonical.
struct TaskEntry {
  std::string name;
  int version = 1;
  std::string comparability;
  std::string summary;
  std::string published;
  std::vector<ParameterSpec> parameters;
  bool needs_documents = false;  // `make` reads TaskResources::documents
  std::unique_ptr<Task> (*make)(const TaskEntry& entry, const TaskParameters& resolved,
                                const TaskResources& resources) = nullptr;
};

// The fields of TaskInfo that follow from the entry: name, version, comparability, summary, published, parameters
// (`resolved` without implicit defaults).
TaskInfo describe(const TaskEntry& entry, const TaskParameters& resolved);

// The documents. Throws Error when there are none, or one is empty or not valid UTF-8.
const std::vector<Document>& checked_documents(const TaskEntry& entry, const TaskResources& resources);

// Resolved parameters by type. The name and the value were checked by the catalogue.
std::int64_t integer_of(const TaskParameters& resolved, const std::string& name);
bool flag_of(const TaskParameters& resolved, const std::string& name);
const std::string& word_of(const TaskParameters& resolved, const std::string& name);

// `true|false`, as words of a ParameterSpec.
std::vector<std::string> flag_words();

// Throws Error when the length lies outside [task.min_length(), longest] or the index is too large to have streams.
void check_draw(const Task& task, const DrawKey& key, std::int64_t longest = kMaxLength);

// Collects what Sample::facts says about distances.
class DistanceFacts {
 public:
  void add(std::int64_t tokens);
  // Writes distance, distance_min and distance_max; nothing when none was added.
  void put(Sample& sample) const;

 private:
  std::int64_t count_ = 0, low_ = 0, high_ = 0;
  double sum_ = 0;
};

// The parameters min-distance and max-distance, both off by default. `from` ends the sentence "least distance in tokens
// ...".
std::vector<ParameterSpec> distance_parameters(const std::string& from);

// What they hold: least <= distance < below.
struct DistanceRange {
  std::int64_t least = 0, below = kMaxLength;
  bool is_any() const { return least == 0 && below == kMaxLength; }
  // Numbers k with least <= end - k * step < below, the lowest and the highest of those >= 0. Requires end >= least;
  // there is at least one, because below - least >= step.
  std::int64_t first(std::int64_t end, std::int64_t step) const;
  std::int64_t last(std::int64_t end, std::int64_t step) const { return (end - least) / step; }
};
// Throws Error when they are less than `step` tokens apart, the distance between places that can be asked for.
DistanceRange distance_range(const TaskEntry& entry, const TaskParameters& resolved, std::int64_t step);

// Task::solve for a task whose rows are solved one by one: `row` of each position.
template <class Row>
std::vector<std::int32_t> solve_rows(std::span<const std::int64_t> positions, const Row& row) {
  std::vector<std::int32_t> targets;
  targets.reserve(positions.size());
  for (const std::int64_t position : positions) targets.push_back(row(position));
  return targets;
}

// Ids pad, bos, eos, mask, sep in that order from `first` (five in number).
SpecialTokens specials_from(std::int32_t first);
inline constexpr std::int32_t kNumSpecials = 5;

// The random streams of one task, version and parameter set. A sample's streams are keyed by (task, version,
// parameters, seed, split, length) and counted by (index, field): two samples never share a counter.
class SampleStreams {
 public:
  explicit SampleStreams(const TaskInfo& info);
  // `field` says what is drawn (places, keys, values ...) so that one law can change without moving the others.
  Rng stream(const DrawKey& key, std::uint8_t field) const;
  // Key and stream number of something all samples of one seed, split and length share.
  std::uint64_t shared_key(const DrawKey& key) const;
  static std::uint64_t shared_stream(std::uint8_t field);

 private:
  std::uint64_t base_;
};

}  // namespace lenbench
