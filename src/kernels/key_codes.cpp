// Rounds the keys of a head to bytes, panel by panel.
#include "kernels/key_codes.h"

#include <algorithm>
#include <cmath>

namespace lenbench::kernels {
namespace {

constexpr double kUp = 1 + 1.0 / 65536;  // covers the rounding of these sums

}  // namespace

KeyCodes make_key_codes(const float* k, std::int64_t k_stride, std::int64_t keys, std::int64_t head_size) {
  KeyCodes made;
  const std::int64_t panels = keys / kPanelKeys;
  made.stride = (head_size + 3) / 4 * 4;
  made.codes.assign(static_cast<std::size_t>(panels * kPanelKeys * made.stride), 128);
  double half_square = 0;
  for (std::int64_t p = 0; p < panels; ++p) {
    const float* panel = k + p * kPanelKeys * k_stride;
    float largest = 0;
    for (std::int64_t j = 0; j < kPanelKeys; ++j)
      for (std::int64_t c = 0; c < head_size; ++c) largest = std::max(largest, std::abs(panel[j * k_stride + c]));
    const float scale = std::max(largest / 127, 1e-30F), inverse = 1 / scale;
    double norm_square = 0, error_square = 0;
    for (std::int64_t j = 0; j < kPanelKeys; ++j) {
      const float* key = panel + j * k_stride;
      std::uint8_t* codes = made.codes.data() + (p * kPanelKeys + j) * made.stride;
      double norm = 0, error = 0, halves[2] = {};
      for (std::int64_t c = 0; c < head_size; ++c) {
        const float code = std::clamp(std::nearbyint(key[c] * inverse), -127.0F, 127.0F);
        codes[c] = static_cast<std::uint8_t>(static_cast<int>(code) + 128);
        const double value = static_cast<double>(key[c]);
        const double rest = value - static_cast<double>(scale) * static_cast<double>(code);
        norm += value * value;
        error += rest * rest;
        halves[c / 2 % 2] += static_cast<double>(code) * static_cast<double>(code);
      }
      norm_square = std::max(norm_square, norm);
      error_square = std::max(error_square, error);
      half_square = std::max({half_square, halves[0], halves[1]});
    }
    made.scale.push_back(scale);
    made.norm.push_back(static_cast<float>(std::sqrt(norm_square) * kUp));
    made.error.push_back(static_cast<float>(std::sqrt(error_square) * kUp));
  }
  made.half_norm = static_cast<float>(std::sqrt(half_square) * kUp);
  return made;
}

}  // namespace lenbench::kernels
