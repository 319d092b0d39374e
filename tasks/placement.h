// Where the needle asked for stands: anywhere, at one depth, or at a distance from the question.
#pragma once

#include <cstdint>
#include <string>

#include "tasks/entry.h"

namespace lenbench {

// Places for a needle are numbered from 0 and `step` tokens apart.
class Placement {
 public:
  // From the parameters depth, min-distance and max-distance. Throws Error when both are given, when either is for
  // `asked` needles at once, and when the distances are less than `step` apart.
  Placement(const TaskEntry& entry, const TaskParameters& resolved, std::int64_t step, std::int64_t asked);

  // False: anywhere.
  bool is_set() const { return depth_ >= 0 || !distances_.is_any(); }
  std::int64_t depth() const { return depth_; }            // per cent; -1: none
  std::int64_t least() const { return distances_.least; }  // tokens that must fit behind the needle
  // The place, of 0..last: depth per cent of `last`, or uniform among those that have the distance to `end`, which is
  // in tokens from place 0. Requires is_set() and end >= least().
  std::int64_t place(Rng rng, std::int64_t last, std::int64_t end) const;

 private:
  std::int64_t step_;
  std::int64_t depth_ = -1;
  DistanceRange distances_;
};

// The parameters it reads.
std::vector<ParameterSpec> placement_parameters();

}  // namespace lenbench
