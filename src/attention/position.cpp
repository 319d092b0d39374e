// The catalogue of position encodings and what they share.
#include "attention/position.h"

#include <numeric>
#include <string>

#include "attention/position_makers.h"
#include "base/error.h"
#include "base/names.h"

namespace lenbench {

at::Tensor PositionEncoding::rotate(const at::Tensor& x_BHTD, const at::Tensor& /*positions_BT*/,
                                    std::span<const std::int64_t> /*lengths*/) const {
  return x_BHTD;
}

std::vector<double> PositionEncoding::slopes() const {
  return std::vector<double>(static_cast<std::size_t>(spec_.num_heads), 0.0);
}

std::vector<std::int64_t> PositionEncoding::scaled_heads() const {
  std::vector<std::int64_t> heads(static_cast<std::size_t>(spec_.num_heads));
  std::iota(heads.begin(), heads.end(), std::int64_t{0});
  return heads;
}

std::vector<bool> PositionEncoding::head_has_position() const {
  std::vector<bool> result;
  for (double slope : slopes()) result.push_back(slope > 0);
  return result;
}

const std::vector<PositionInfo>& position_catalog() {
  static const std::vector<PositionInfo> catalog = {
#define LENBENCH_POSITION(name, summary) {#name, summary},
#include "attention/positions.def"
#undef LENBENCH_POSITION
  };
  return catalog;
}

std::unique_ptr<const PositionEncoding> make_position(const PositionSpec& spec) {
  if (spec.num_heads < 1 || spec.head_dim < 1) {
    throw Error("position encoding " + spec.name + ": num_heads and head_dim must be at least 1, got " +
                std::to_string(spec.num_heads) + " and " + std::to_string(spec.head_dim));
  }
#define LENBENCH_POSITION(id, summary) \
  if (spec.name == #id) return make_position_##id(spec);
#include "attention/positions.def"
#undef LENBENCH_POSITION
  std::vector<std::string> known;
  for (const PositionInfo& info : position_catalog()) known.push_back(info.name);
  throw Error("unknown position encoding '" + spec.name + "'" + did_you_mean(spec.name, known) +
              "; use one of: " + join(known, ", "));
}

}  // namespace lenbench
