// Power laws over ranks as integer tables, so that a draw is the same on every CPU (libm is not), and draws from them.
#pragma once

#include <cstdint>
#include <vector>

#include "tasks/rng.h"

namespace lenbench {

// Weights of (rank + 1)^e for rank 0 .. count - 1, with e = exponent_percent / 100, scaled so that the largest is 2^36;
// relative error below 2^-30 plus rounding to whole numbers. Requires 1 <= count <= 2^26 and |exponent_percent| <= 100.
std::vector<std::uint64_t> power_weights(std::int64_t count, std::int64_t exponent_percent);

// Draws ranks without replacement, each time with probability proportional to the weights of those left, in the order
// drawn. O(n) to make, O(log n) a draw.
class WeightedDraws {
 public:
  // Requires a positive sum below 2^63.
  explicit WeightedDraws(const std::vector<std::uint64_t>& weights);
  // Requires that a rank of positive weight is left.
  std::int64_t next(Rng& rng);

 private:
  std::vector<std::uint64_t> weights_;
  std::vector<std::uint64_t> tree_;  // Fenwick tree of `weights_`, 1-based
  std::uint64_t total_ = 0;
  std::size_t top_ = 1;  // largest power of two within the tree
};

}  // namespace lenbench
