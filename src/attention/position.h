// Position encodings: what attention knows about where a token stands, and which heads get the length scale.
// Letters: B rows of a batch, T tokens, H query heads, G key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lenbench {

// What a checkpoint's configuration says about positions. Fields that an encoding does not use are ignored by it.
struct PositionSpec {
  std::string name = "nope";  // a name of position_catalog()
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  double rope_base = 10000.0;
  std::int64_t rotary_dim = 0;  // rope: the first channels of a head, which rotate among themselves; 0: all
  // rope: a frequency for each pair of channels, for a text of that many tokens; unset: base^(-2c/rotary_dim).
  std::function<std::vector<double>(std::int64_t length)> rope_frequencies;
  bool rope_by_length = false;              // rope: the frequencies differ between lengths
  double rope_attention_factor = 1;         // rope: multiplies cosines and sines
  std::int64_t alibi_num_heads = -1;        // nape: how many of the first heads carry a bias; -1: half of the heads
  std::string alibi_slope_type = "linear";  // nape: "linear" 1, 1/2, 1/3, ... or "exp" 1, 1/2, 1/4, ...
};

// One encoding with its sizes fixed. Immutable; every function may be called from several threads.
class PositionEncoding {
 public:
  virtual ~PositionEncoding() = default;
  const std::string& name() const { return spec_.name; }
  const PositionSpec& spec() const { return spec_; }

  // Rotates queries or keys: x is [B, H or G, T, D], positions int64 [B, T] (or [1, T]) with absolute positions.
  // `lengths`: tokens of each text, [B]; read only by an encoding that depends on them, which needs them.
  // Returns x itself where the encoding does not rotate. Angles are computed in double and rounded once to x's type.
  virtual at::Tensor rotate(const at::Tensor& x_BHTD, const at::Tensor& positions_BT,
                            std::span<const std::int64_t> lengths = {}) const;

  // ALiBi slopes [H], each >= 0: key j of row i gets the bias -slope * (i - j) after the 1/sqrt(D) scaling and after
  // any length scale. 0: no bias.
  virtual std::vector<double> slopes() const;

  // The heads that a transform's length scale applies to, ascending. Under nape the heads with slope 0; under every
  // other encoding all heads, as in the reference code (paper.md 1.2: "under NAPE only the NoPE heads").
  virtual std::vector<std::int64_t> scaled_heads() const;

  // [H]; true where the head carries a positional bias or rotation (bench/predictor.h, Probe::head_has_position).
  virtual std::vector<bool> head_has_position() const;

 protected:
  explicit PositionEncoding(PositionSpec spec) : spec_(std::move(spec)) {}
  PositionSpec spec_;
};

struct PositionInfo {
  std::string name;
  std::string summary;  // one line for `list positions`
};
// Every encoding, in catalogue order.
const std::vector<PositionInfo>& position_catalog();

// Throws Error for an unknown name or slope type, sizes below 1, an odd head_dim under rope, a base that is not finite
// and > 0, or alibi_num_heads outside 0..num_heads.
std::unique_ptr<const PositionEncoding> make_position(const PositionSpec& spec);

}  // namespace lenbench
