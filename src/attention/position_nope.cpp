// No position encoding: the base class as it is.
#include "attention/position_makers.h"

namespace lenbench {
namespace {

class Nope final : public PositionEncoding {
 public:
  explicit Nope(PositionSpec spec) : PositionEncoding(std::move(spec)) {}
};

}  // namespace

std::unique_ptr<const PositionEncoding> make_position_nope(PositionSpec spec) {
  return std::make_unique<Nope>(std::move(spec));
}

}  // namespace lenbench
