// Keys rounded to one byte a channel, with what the rounding can cost: the screen that proves most keys out of reach
// (docs/kernels.md).
#pragma once

#include <cstdint>
#include <vector>

namespace lenbench::kernels {

constexpr std::int64_t kPanelKeys = 48;  // keys that share a scale: a multiple of every register block

// Key j, channel c is about scale[j / kPanelKeys] * (code - 128); channels are padded with code 128 to a multiple of 4.
struct KeyCodes {
  std::vector<std::uint8_t> codes;  // [panels * kPanelKeys][stride]
  std::int64_t stride = 0;          // bytes
  std::vector<float> scale;         // [panels]
  std::vector<float> norm, error;   // [panels] at least |k| and |k - rounded k| of each key
  float half_norm = 0;  // at least the norm of the codes (minus 128) of channels 4i, 4i + 1, or of the other half
};

// Codes of the whole panels among `keys` keys; all are finite.
KeyCodes make_key_codes(const float* k, std::int64_t k_stride, std::int64_t keys, std::int64_t head_size);

}  // namespace lenbench::kernels
