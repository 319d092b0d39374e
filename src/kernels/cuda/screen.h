// The screen: an upper bound of every score, cheap enough for tensor cores, so that a key whose bound is at or below a
// row's running threshold is proven to have weight 0 (docs/kernels.md).
//
// q' and k' are q and k rounded to bfloat16. By Cauchy-Schwarz
//   q.k = q'.k' + (q - q').k + q'.(k - k') <= q'.k' + |q - q'| |k| + |q'| |k - k'|,
// and the right side is one product of vectors three columns longer, so the product unit adds the margin up by itself:
//   q columns   q'_1 .. q'_D, |q - q'|, |q'|,     1
//   k columns   k'_1 .. k'_D, |k|,      |k - k'| + s |k'|, 2^-100
// where the norms are rounded up to bfloat16 and s pays for arithmetic, W being the padded number of columns:
//   - The product unit adds 16 terms to a running sum at a time. It is taken to end within 17 * 2^-23 of the sum of
//     their magnitudes at each of the W / 16 steps (each operand cut at 2^-23 of the largest one, as published
//     measurements of bfloat16 units find); in all at most 1.07 W 2^-23 (1 + 2^-6) |q'| |k'|. tests/kernels puts every
//     product at both ends of that range on the host, and measures a device's own.
//   - The fp32 score that a survivor gets ends within (D + 2) 2^-24 |q| |k| of q.k, before the bias.
//   Together below W 2^-22 |q'| |k'|; s = (W + 16) 2^-22 also covers the additions that follow the product.
//   - Products of subnormal columns may vanish: 2^-100 is more than W of the smallest normal number.
// A bias -slope * distance is taken with a slope 2^-20 too small: its product and the additions round to within 2^-21
// of it, in the score as well as here. q and k need norms whose product stays far from the largest float
// (kLargestReach); rows that fail are left to the dense kernel.
#pragma once

#include "kernels/cuda/weighted_row.h"

namespace lenbench::kernels {

inline constexpr int kMarginColumns = 3;
inline constexpr int kProductColumns = 16;
inline constexpr float kLargestReach = 0x1p+120F;

// What all rows need to know of the keys of one (batch, KV head).
struct KeySummary {
  std::int32_t norm_bits = 0;  // of a float at least as large as every finite key's norm
  std::int32_t first_bad = 0;  // first key whose k or v is not finite; the number of keys where there is none
};

// The kernels are compiled for these numbers of 16 columns: head sizes up to 29, 45, 77 and 141.
inline constexpr int kScreenSteps[] = {2, 3, 5, 9};
// The smallest of them that holds a head size and its margins; 0: there is none, and no screen.
inline constexpr int screen_steps(std::int64_t head_size) {
  for (const int steps : kScreenSteps) {
    if (head_size + kMarginColumns <= steps * kProductColumns) return steps;
  }
  return 0;
}

LENBENCH_LANE_CODE std::uint32_t nearest_bfloat16(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

// At least `value`, which must be positive or 0.
LENBENCH_LANE_CODE float float_above(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? float_of(bits_of(nearest) + 1) : nearest;
}
LENBENCH_LANE_CODE std::uint32_t bfloat16_above(double value) { return (bits_of(float_above(value)) + 0xffff) >> 16; }

// Norms of a vector as given, as rounded, and of the difference.
struct RoundedNorms {
  double whole, rounded, lost;
};

template <class Warp>
LENBENCH_LANE_CODE RoundedNorms rounded_norms(const float* values, std::int64_t size) {
  typename Warp::template Lanes<double> whole, rounded, lost;
  Warp::each([&](int lane) {
    for (std::int64_t c = lane; c < size; c += kWarpLanes) {
      const auto value = static_cast<double>(values[c]);
      const auto near = static_cast<double>(float_of_bfloat16(nearest_bfloat16(values[c])));
      whole[lane] += value * value;
      rounded[lane] += near * near;
      lost[lane] += (value - near) * (value - near);
    }
  });
  // The sums are within 2^-44 of exact.
  constexpr double kUp = 1 + 0x1p-40;
  return {kUp * sqrt(Warp::sum(whole)), kUp * sqrt(Warp::sum(rounded)), kUp * sqrt(Warp::sum(lost))};
}

// The columns of a query row behind its channels.
struct QueryMargin {
  std::uint32_t lost, rounded;  // bfloat16
};

// Column c of a query row, bfloat16.
LENBENCH_LANE_CODE std::uint32_t query_column(const float* q, std::int64_t head_size, const QueryMargin& margin,
                                              std::int64_t c) {
  if (c < head_size) return nearest_bfloat16(q[c]);
  const std::int64_t extra = c - head_size;
  return extra == 0 ? margin.lost : extra == 1 ? margin.rounded : extra == 2 ? nearest_bfloat16(1) : 0;
}

// Writes key j's 16 * steps columns, two to a word (the lower column in the lower half; steps 0: none), and adds it to
// the summary. A key that is not finite gets columns of 0.
template <class Warp>
LENBENCH_LANE_CODE void prepare_key(const float* k, const float* v, std::int64_t head_size, int steps, std::int32_t j,
                                    std::uint32_t* words, KeySummary* summary) {
  const RoundedNorms norms = rounded_norms<Warp>(k, head_size);
  typename Warp::template Lanes<float> nothing;
  Warp::each([&](int lane) {
    for (std::int64_t c = lane; c < head_size; c += kWarpLanes) nothing[lane] += v[c] * 0 + k[c] * 0;
  });
  const bool finite = Warp::sum(nothing) == 0;
  const int width = steps * kProductColumns;
  const double slack = static_cast<double>(width + 16) * 0x1p-22;
  const std::uint32_t whole = bfloat16_above(norms.whole), lost = bfloat16_above(norms.lost + slack * norms.rounded);
  const auto column = [&](std::int64_t c) -> std::uint32_t {
    if (!finite) return 0;
    if (c < head_size) return nearest_bfloat16(k[c]);
    const std::int64_t extra = c - head_size;
    return extra == 0 ? whole : extra == 1 ? lost : extra == 2 ? nearest_bfloat16(0x1p-100F) : 0;
  };
  Warp::each([&](int lane) {
    for (int w = lane; w < width / 2; w += kWarpLanes) words[w] = column(2 * w) | column(2 * w + 1) << 16;
    if (lane != 0) return;
    if (finite) {
      Warp::raise(&summary->norm_bits, static_cast<std::int32_t>(bits_of(float_above(norms.whole))));
    } else {
      Warp::lower(&summary->first_bad, j);
    }
  });
}

}  // namespace lenbench::kernels
