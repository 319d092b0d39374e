// Depths and distances of the needle asked for.
#include "tasks/placement.h"

#include "base/error.h"

namespace lenbench {

Placement::Placement(const TaskEntry& entry, const TaskParameters& resolved, std::int64_t step, std::int64_t asked)
    : step_(step), distances_(distance_range(entry, resolved, step)) {
  const std::string& depth = word_of(resolved, "depth");
  if (depth != "uniform") depth_ = integer_of(resolved, "depth");
  const bool by_distance = !distances_.is_any();
  if (is_set() && asked > 1) {
    throw Error(entry.name + ": " + (by_distance ? "a distance" : "depth=" + depth) + " with kind=" +
                word_of(resolved, "kind") + ", which asks for several needles; use a kind that asks for one, or " +
                (by_distance ? "leave the distance out" : "depth=uniform"));
  }
  if (by_distance && depth_ >= 0) {
    throw Error(entry.name + ": depth=" + depth + " beside a distance; leave one of them out");
  }
}

std::int64_t Placement::place(Rng rng, std::int64_t last, std::int64_t end) const {
  if (depth_ >= 0) return depth_ * last / 100;
  return rng.between(distances_.first(end, step_), distances_.last(end, step_));
}

std::vector<ParameterSpec> placement_parameters() {
  std::vector<ParameterSpec> parameters = {
      {"depth", "uniform", "per cent of the haystack before the needle asked for", {"uniform"}, 0, 100}};
  for (const ParameterSpec& spec : distance_parameters("of haystack behind the needle asked for")) {
    parameters.push_back(spec);
  }
  return parameters;
}

}  // namespace lenbench
