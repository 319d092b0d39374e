// Learned positions: a table that the decoder adds to the embeddings, so attention itself does nothing.
#include "attention/position_makers.h"

namespace lenbench {
namespace {

class Learned final : public PositionEncoding {
 public:
  explicit Learned(PositionSpec spec) : PositionEncoding(std::move(spec)) {}

  // Every head reads positions off the residual stream.
  std::vector<bool> head_has_position() const override {
    return std::vector<bool>(static_cast<std::size_t>(spec_.num_heads), true);
  }
};

}  // namespace

std::unique_ptr<const PositionEncoding> make_position_learned(PositionSpec spec) {
  return std::make_unique<Learned>(std::move(spec));
}

}  // namespace lenbench
