// Distances between what a model makes of different inputs, by depth.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/predictor.h"
#include "record/record.h"
#include "stats/sums.h"

namespace lenbench {

// Sums over pairs of samples next to each other in index order, so that batch boundaries change nothing.
class RepresentationMeter {
 public:
  // The states of one call (Probe::states), following those added before.
  void add(const Probe& probe);
  // Those of a part, which has its own pairs in `distances`, following those added before.
  void add(const Part& part, const std::vector<RepresentationDistance>& distances);
  // Means by depth; empty without a pair. A distance that is not finite is left undefined.
  std::vector<RepresentationDistance> result() const;
  // The states that pairs with samples before and after need.
  void describe(Part& part) const;

 private:
  using State = std::vector<std::vector<double>>;  // by depth; empty where it is not finite
  struct Sums {
    CompensatedSum distance, cosine;
  };
  void add_pair(const State& next);

  State first_, last_;
  std::vector<Sums> depths_;
  std::int64_t pairs_ = 0;
};

}  // namespace lenbench
