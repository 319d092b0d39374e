// Numbers written as a fixed count of symbols: the keys and values of needles on ids.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tasks/rng.h"

namespace lenbench {

// Writes numbers of [0, count()) with `symbols` symbols of 2^symbol_bits ids from `first_id` on, the highest first. A
// number fills the first symbols, of at most 56 bits together; symbols beyond those follow from the number.
class Numeral {
 public:
  Numeral(std::int32_t first_id, int symbol_bits, std::int64_t symbols)
      : first_id_(first_id),
        bits_(symbol_bits),
        symbols_(symbols),
        own_(std::min<std::int64_t>(symbols, 56 / symbol_bits)) {}
  std::int64_t symbols() const { return symbols_; }
  std::int64_t count() const { return std::int64_t{1} << (own_ * bits_); }
  // Probability that all symbols are guessed.
  double chance() const { return std::ldexp(1.0, -static_cast<int>(symbols_) * bits_); }
  void put(std::vector<std::int32_t>& tokens, std::int64_t number) const {
    Rng rest(static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(first_id_));
    const std::int64_t base = std::int64_t{1} << bits_;
    for (std::int64_t i = 0; i < symbols_; ++i) {
      const std::int64_t symbol = i < own_ ? (number >> ((own_ - 1 - i) * bits_)) % base
                                           : static_cast<std::int64_t>(rest.below(static_cast<std::uint64_t>(base)));
      tokens.push_back(first_id_ + static_cast<std::int32_t>(symbol));
    }
  }

 private:
  std::int32_t first_id_;
  int bits_;
  std::int64_t symbols_;
  std::int64_t own_;  // symbols that the number fills
};

}  // namespace lenbench
