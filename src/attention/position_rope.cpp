// Rotary encoding, half-split (GPT-NeoX): of the C channels that rotate, c < C/2 pairs with c + C/2 at angle
// position * base^(-2c/C), or with other frequencies.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "attention/position_makers.h"
#include "base/error.h"

namespace lenbench {
namespace {

class Rope final : public PositionEncoding {
 public:
  explicit Rope(PositionSpec spec) : PositionEncoding(std::move(spec)) {}

  at::Tensor rotate(const at::Tensor& x_BHTD, const at::Tensor& positions_BT,
                    std::span<const std::int64_t> lengths) const override {
    const std::int64_t channels = spec_.rotary_dim > 0 ? spec_.rotary_dim : spec_.head_dim, half = channels / 2;
    // Angles in double: at position 65,535 a float angle is off by up to 0.004 rad, and lower precision merges
    // neighbouring positions.
    const at::Tensor angles_B1TC =
        (positions_BT.to(at::kDouble).unsqueeze(-1) * frequencies(channels, positions_BT, lengths)).unsqueeze(1);
    at::Tensor cos_B1TC = at::cos(angles_B1TC), sin_B1TC = at::sin(angles_B1TC);
    if (spec_.rope_attention_factor != 1) {
      cos_B1TC = cos_B1TC * spec_.rope_attention_factor;
      sin_B1TC = sin_B1TC * spec_.rope_attention_factor;
    }
    cos_B1TC = cos_B1TC.to(x_BHTD.scalar_type());
    sin_B1TC = sin_B1TC.to(x_BHTD.scalar_type());
    const at::Tensor first = x_BHTD.narrow(-1, 0, half);
    const at::Tensor second = x_BHTD.narrow(-1, half, half);
    std::vector<at::Tensor> parts = {first * cos_B1TC - second * sin_B1TC, second * cos_B1TC + first * sin_B1TC};
    if (channels < spec_.head_dim) parts.push_back(x_BHTD.narrow(-1, channels, spec_.head_dim - channels));
    return at::cat(parts, -1);
  }

  std::vector<bool> head_has_position() const override {
    return std::vector<bool>(static_cast<std::size_t>(spec_.num_heads), true);
  }

 private:
  // [C] or, where they depend on the text, [B, 1, C].
  at::Tensor frequencies(std::int64_t channels, const at::Tensor& positions_BT,
                         std::span<const std::int64_t> lengths) const {
    const at::TensorOptions options = positions_BT.options().dtype(at::kDouble);
    if (!spec_.rope_frequencies) {
      return at::pow(spec_.rope_base, at::arange(channels / 2, options) * (-2.0 / static_cast<double>(channels)));
    }
    const auto of_length = [&](std::int64_t length) {
      return at::tensor(spec_.rope_frequencies(length), at::TensorOptions(at::kDouble)).to(options.device());
    };
    if (!spec_.rope_by_length) return of_length(0);
    if (lengths.empty()) throw std::invalid_argument("rope: the frequencies depend on the lengths of the texts");
    std::vector<at::Tensor> rows;
    for (const std::int64_t length : lengths) rows.push_back(of_length(length).unsqueeze(0));
    return at::stack(rows);
  }
};

}  // namespace

std::unique_ptr<const PositionEncoding> make_position_rope(PositionSpec spec) {
  if (spec.rotary_dim == 0 && spec.head_dim % 2 != 0) {
    throw Error("position encoding rope: head_dim must be even, got " + std::to_string(spec.head_dim));
  }
  if (spec.rotary_dim < 0 || spec.rotary_dim % 2 != 0 || spec.rotary_dim > spec.head_dim) {
    throw Error("position encoding rope: rotary_dim must be even and at most head_dim, got " +
                std::to_string(spec.rotary_dim));
  }
  if (!std::isfinite(spec.rope_base) || spec.rope_base <= 0) {
    throw Error("position encoding rope: the base must be finite and above 0, got " + std::to_string(spec.rope_base));
  }
  return std::make_unique<Rope>(std::move(spec));
}

}  // namespace lenbench
