// ALiBi (arXiv 2108.12409) on every head: slope of head h of H = 2^p heads is 2^(-8(h+1)/H).
#include <bit>
#include <cmath>

#include "attention/position_makers.h"

namespace lenbench {
namespace {

class Alibi final : public PositionEncoding {
 public:
  explicit Alibi(PositionSpec spec) : PositionEncoding(std::move(spec)) {}

  // Head counts that are no power of two take the slopes of the next smaller power P, then every second slope of 2P.
  std::vector<double> slopes() const override {
    const auto heads = static_cast<std::uint64_t>(spec_.num_heads);
    const std::uint64_t power = std::bit_floor(heads);
    std::vector<double> result;
    for (std::uint64_t h = 0; h < power; ++h) {
      result.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(power)));
    }
    for (std::uint64_t h = 0; result.size() < heads; h += 2) {
      result.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(2 * power)));
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<const PositionEncoding> make_position_alibi(PositionSpec spec) {
  return std::make_unique<Alibi>(std::move(spec));
}

}  // namespace lenbench
