// Rotary encoding, half-split (GPT-NeoX): channel c < D/2 pairs with c + D/2 at angle position * base^(-2c/D).
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>

#include <cmath>
#include <string>

#include "attention/position_makers.h"
#include "base/error.h"

namespace lenbench {
namespace {

class Rope final : public PositionEncoding {
 public:
  explicit Rope(PositionSpec spec) : PositionEncoding(std::move(spec)) {}

  at::Tensor rotate(const at::Tensor& x_BHTD, const at::Tensor& positions_BT) const override {
    const std::int64_t half = spec_.head_dim / 2;
    // Angles in double: at position 65,535 a float angle is off by up to 0.004 rad, and lower precision merges
    // neighbouring positions.
    const at::TensorOptions options = positions_BT.options().dtype(at::kDouble);
    const at::Tensor exponents_C = at::arange(half, options) * (-2.0 / static_cast<double>(spec_.head_dim));
    const at::Tensor frequencies_C = at::pow(spec_.rope_base, exponents_C);
    const at::Tensor angles_B1TC = (positions_BT.to(at::kDouble).unsqueeze(-1) * frequencies_C).unsqueeze(1);
    const at::Tensor cos_B1TC = at::cos(angles_B1TC).to(x_BHTD.scalar_type());
    const at::Tensor sin_B1TC = at::sin(angles_B1TC).to(x_BHTD.scalar_type());
    const at::Tensor first = x_BHTD.narrow(-1, 0, half);
    const at::Tensor second = x_BHTD.narrow(-1, half, half);
    return at::cat({first * cos_B1TC - second * sin_B1TC, second * cos_B1TC + first * sin_B1TC}, -1);
  }

  std::vector<bool> head_has_position() const override {
    return std::vector<bool>(static_cast<std::size_t>(spec_.num_heads), true);
  }
};

}  // namespace

std::unique_ptr<const PositionEncoding> make_position_rope(PositionSpec spec) {
  if (spec.head_dim % 2 != 0) {
    throw Error("position encoding rope: head_dim must be even, got " + std::to_string(spec.head_dim));
  }
  if (!std::isfinite(spec.rope_base) || spec.rope_base <= 0) {
    throw Error("position encoding rope: the base must be finite and above 0, got " + std::to_string(spec.rope_base));
  }
  return std::make_unique<Rope>(std::move(spec));
}

}  // namespace lenbench
