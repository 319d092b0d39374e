// Fixed-point logarithm and exponential, and a Fenwick tree.
#include "tasks/power_law.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstdlib>

namespace lenbench {
namespace {

using Wide = unsigned __int128;

constexpr int kFraction = 40;    // binary digits behind the point of a logarithm
constexpr int kWeightBits = 36;  // the largest weight is 2^36
constexpr std::int64_t kPercent = 100;

std::uint64_t square_root(Wide value) {
  Wide root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const Wide trial = root | (Wide{1} << bit);
    if (trial * trial <= value) root = trial;
  }
  return static_cast<std::uint64_t>(root);
}

// 2^-(2^-k) for k = 1 .. kFraction, times 2^63.
std::array<std::uint64_t, kFraction> fractional_powers() {
  std::array<std::uint64_t, kFraction> powers{};
  std::uint64_t power = std::uint64_t{1} << 62;  // a half
  for (std::uint64_t& entry : powers) {
    power = square_root(Wide{power} << 63);
    entry = power;
  }
  return powers;
}

// log2(value) times 2^kFraction, rounded down, digit by digit: squaring the mantissa doubles its logarithm.
std::uint64_t log2_fixed(std::uint64_t value) {
  const int whole = static_cast<int>(std::bit_width(value)) - 1;
  std::uint64_t mantissa = value << (63 - whole);
  auto result = static_cast<std::uint64_t>(whole);
  for (int i = 0; i < kFraction; ++i) {
    const Wide square = (Wide{mantissa} * mantissa) >> 63;
    const bool digit = (square >> 64) != 0;
    mantissa = static_cast<std::uint64_t>(digit ? square >> 1 : square);
    result = (result << 1) | (digit ? 1U : 0U);
  }
  return result;
}

// 2^(kWeightBits - y / 2^kFraction), rounded to nearest.
std::uint64_t exp2_fixed(std::uint64_t y) {
  static const std::array<std::uint64_t, kFraction> powers = fractional_powers();
  std::uint64_t product = std::uint64_t{1} << 63;
  for (std::size_t k = 0; k < powers.size(); ++k) {
    if (((y >> (kFraction - 1 - static_cast<int>(k))) & 1U) != 0) {
      product = static_cast<std::uint64_t>((Wide{product} * powers[k]) >> 63);
    }
  }
  const std::uint64_t shift = 63 - kWeightBits + (y >> kFraction);
  if (shift > 63) return 0;
  return (product + (std::uint64_t{1} << (shift - 1))) >> shift;
}

}  // namespace

std::vector<std::uint64_t> power_weights(std::int64_t count, std::int64_t exponent_percent) {
  assert(1 <= count && count <= (std::int64_t{1} << 26) && std::abs(exponent_percent) <= kPercent);
  const auto slope = static_cast<std::uint64_t>(std::abs(exponent_percent));
  const auto scaled_log = [&](std::int64_t rank) {
    return static_cast<std::uint64_t>(Wide{log2_fixed(static_cast<std::uint64_t>(rank) + 1)} * slope /
                                      static_cast<std::uint64_t>(kPercent));
  };
  const std::uint64_t last = scaled_log(count - 1);
  std::vector<std::uint64_t> weights(static_cast<std::size_t>(count));
  for (std::int64_t rank = 0; rank < count; ++rank) {
    const std::uint64_t y = scaled_log(rank);
    weights[static_cast<std::size_t>(rank)] = exp2_fixed(exponent_percent < 0 ? y : last - y);
  }
  return weights;
}

WeightedDraws::WeightedDraws(const std::vector<std::uint64_t>& weights) : weights_(weights), tree_(weights.size() + 1) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    tree_[i + 1] += weights[i];
    total_ += weights[i];
    const std::size_t parent = (i + 1) + ((i + 1) & (~i));
    if (parent < tree_.size()) tree_[parent] += tree_[i + 1];
  }
  while (2 * top_ < tree_.size()) top_ *= 2;
}

std::int64_t WeightedDraws::next(Rng& rng) {
  assert(total_ > 0);
  std::uint64_t left = rng.below(total_);
  std::size_t at = 0;
  for (std::size_t step = top_; step > 0; step /= 2) {
    if (at + step < tree_.size() && tree_[at + step] <= left) {
      at += step;
      left -= tree_[at];
    }
  }
  const std::uint64_t weight = weights_[at];
  total_ -= weight;
  weights_[at] = 0;
  for (std::size_t i = at + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] -= weight;
  return static_cast<std::int64_t>(at);
}

}  // namespace lenbench
