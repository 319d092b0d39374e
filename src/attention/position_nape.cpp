// NAPE (arXiv 2506.16640): ALiBi on the first heads, no position on the rest, which alone get the length scale.
#include <cmath>
#include <string>
#include <vector>

#include "attention/position_makers.h"
#include "base/error.h"
#include "base/names.h"

namespace lenbench {
namespace {

class Nape final : public PositionEncoding {
 public:
  explicit Nape(PositionSpec spec) : PositionEncoding(std::move(spec)) {}

  std::vector<double> slopes() const override {
    std::vector<double> result(static_cast<std::size_t>(spec_.num_heads), 0.0);
    for (std::int64_t h = 0; h < spec_.alibi_num_heads; ++h) {
      const auto rank = static_cast<double>(h);
      result[static_cast<std::size_t>(h)] = spec_.alibi_slope_type == "linear" ? 1.0 / (rank + 1.0) : std::exp2(-rank);
    }
    return result;
  }

  std::vector<std::int64_t> scaled_heads() const override {
    std::vector<std::int64_t> heads;
    for (std::int64_t h = spec_.alibi_num_heads; h < spec_.num_heads; ++h) heads.push_back(h);
    return heads;
  }
};

}  // namespace

std::unique_ptr<const PositionEncoding> make_position_nape(PositionSpec spec) {
  if (spec.alibi_num_heads == -1) spec.alibi_num_heads = spec.num_heads / 2;
  if (spec.alibi_num_heads < 0 || spec.alibi_num_heads > spec.num_heads) {
    throw Error("position encoding nape: alibi_num_heads must be in 0.." + std::to_string(spec.num_heads) + ", got " +
                std::to_string(spec.alibi_num_heads));
  }
  if (spec.alibi_slope_type != "linear" && spec.alibi_slope_type != "exp") {
    throw Error("position encoding nape: unknown alibi_slope_type '" + spec.alibi_slope_type + "'" +
                did_you_mean(spec.alibi_slope_type, {"linear", "exp"}) + "; use linear or exp");
  }
  return std::make_unique<Nape>(std::move(spec));
}

}  // namespace lenbench
