// The byte screen of a tile: integer dot products say which keys may pass a row's threshold; the rest is out of reach.
#pragma once

#include "kernels/key_codes.h"
#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// With q = u x + r and k = w y + s (x, y integer codes; u, w scales; r, s what rounding left):
//   q . k = u w x . y + r . k + u x . s  <=  u w x . y + |r| |k| + |u x| |s|.
// So x . y <= (threshold - |r| |k| - |u x| |s|) / (u w) proves q . k <= threshold; |r| here also covers the rounding of
// the fp32 score that is compared otherwise.
#if defined(__AVX2__) && !defined(__AVX512F__)
constexpr bool kHasScreen = true;

static_assert(kPanelKeys % kBlock == 0);

struct QueryCodes {
  const std::int8_t* codes;                     // [stride / 4][kRows][4], each in -63 .. 63
  alignas(64) std::int16_t start[2 * kRows];    // [kRows][2]: takes the codes' offset of 128 back out of each half sum
  alignas(64) float inverse[kRows];             // 1 / u
  alignas(64) float error[kRows], norm[kRows];  // |r|, |u x|
};

// Codes of the tile's queries. |code| <= 63 and key bytes <= 255 keep every pair of products in 16 bits; half sums are
// taken modulo 2^16, and the scale is such that they fit: their true size is at most |x half| |y half|.
inline void encode_queries(const StreamHead& head, const QueryTile& tile, const StreamScratch& scratch,
                           QueryCodes& made) {
  std::int8_t* codes = scratch.query_codes;
  made.codes = codes;
  // Rounding adds at most half a code a channel to a half norm.
  const float room = 32700.0F / (head.code_half_norm > 1 ? head.code_half_norm : 1.0F) -
                     0.5F * static_cast<float>(__builtin_sqrt(static_cast<double>(head.code_stride) / 2));
  for (int g = 0; g < 2; ++g) {
    const float* queries = scratch.queries + g * kWidth;
    Vec<float> largest = {}, halves[2] = {}, norms;
    for (std::int64_t c = 0; c < head.head_size; ++c) {
      const Vec<float> q = load<float>(queries + c * kRows);
      largest = larger(larger(q, -q), largest);
      halves[c / 2 % 2] += q * q;
    }
    const Vec<float> half = root(larger(halves[0], halves[1])) * 1.0001F;
    const Vec<float> fitting = room > 0 ? half * (1 / room) : splat<float>(1e30F);
    const Vec<float> unit = larger(larger(largest * (1.00001F / 63), fitting), splat<float>(1e-30F));
    const Vec<float> inverse = 1.0F / unit;
    Vec<float> error = {}, norm = {};
    Int<float> sums[2] = {};
    for (std::int64_t first = 0; first < head.code_stride; first += 4) {
      Int<float> four = {};
      for (std::int64_t i = 0; i < 4 && first + i < head.head_size; ++i) {
        const Vec<float> q = load<float>(queries + (first + i) * kRows);
        const Vec<float> rounded = q * inverse + Simd<float>::kRound;
        const Vec<float> whole = rounded - Simd<float>::kRound;
        const Vec<float> part = q * inverse - whole;  // in units, since a tiny rest has no square
        const Int<float> code = (Int<float>)rounded - Simd<float>::kRoundBits;
        error += part * part;
        norm += whole * whole;
        sums[i / 2] += code;
        four |= (code & 255) << static_cast<int>(8 * i);
      }
      __builtin_memcpy(codes + first * kRows + g * 4 * kWidth, &four, sizeof(four));
    }
    const Int<float> start = (sums[0] * -128 & 0xffff) | sums[1] * -128 << 16;
    __builtin_memcpy(made.start + 2 * g * kWidth, &start, sizeof(start));
    for (int i = 0; i < kWidth; ++i) norms[i] = static_cast<float>(tile.norm[g * kWidth + i]);
    store<float>(made.inverse + g * kWidth, inverse);
    store<float>(made.error + g * kWidth,
                 root(error) * unit * 1.0001F + norms * 1.2e-7F * static_cast<float>(head.head_size + 16));
    store<float>(made.norm + g * kWidth, root(norm) * unit * 1.0001F);
  }
}

// Largest integer dot products, by row, that prove a key of the panel out of reach.
inline void screen_bounds(const StreamHead& head, const QueryCodes& query, const float* threshold, std::int64_t panel,
                          __m256i (&bound)[2]) {
  const float scale = 1 / head.code_scale[panel], key_norm = head.code_norm[panel], key_error = head.code_error[panel];
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    const Vec<float> margin =
        load<float>(query.error + g * kWidth) * key_norm + load<float>(query.norm + g * kWidth) * key_error;
    const Vec<float> lowest = load<float>(threshold + g * kWidth) - margin;
    // Relative rounding here is below 2^-20 of at most 2^17; beyond, all or none pass in any case.
    Vec<float> exact = lowest * load<float>(query.inverse + g * kWidth) * scale - 1.5F;
    exact = larger(exact, splat<float>(-1e6F));
    exact = select(exact > splat<float>(1e6F), splat<float>(1e6F), exact);
    bound[g] = _mm256_cvttps_epi32(exact);
  }
}

// Appends the keys first .. first + kBlock - 1 that a row may want to `found`; returns the end.
inline std::int32_t* screen_block(const StreamHead& head, const QueryCodes& query, std::int64_t first,
                                  const __m256i (&bound)[2], std::int32_t* found) {
  const std::uint8_t* keys = head.codes + first * head.code_stride;
  const std::int64_t stride = head.code_stride;
  __m256i sums[kBlock][2];
#pragma GCC unroll 6
  for (int m = 0; m < kBlock; ++m)
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) sums[m][g] = _mm256_load_si256(reinterpret_cast<const __m256i*>(query.start) + g);
  const std::int8_t* codes = query.codes;
  for (std::int64_t c = 0; c < stride; c += 4, codes += 4 * kRows) {
    const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes)),
                  high = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + 32));
#pragma GCC unroll 6
    for (int m = 0; m < kBlock; ++m) {
      std::int32_t four;
      __builtin_memcpy(&four, keys + m * stride + c, 4);
      const __m256i key = _mm256_set1_epi32(four);
      sums[m][0] = _mm256_add_epi16(sums[m][0], _mm256_maddubs_epi16(key, low));
      sums[m][1] = _mm256_add_epi16(sums[m][1], _mm256_maddubs_epi16(key, high));
    }
  }
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i wanted[kBlock], any = _mm256_setzero_si256();
#pragma GCC unroll 6
  for (int m = 0; m < kBlock; ++m) {
    wanted[m] = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_madd_epi16(sums[m][0], ones), bound[0]),
                                _mm256_cmpgt_epi32(_mm256_madd_epi16(sums[m][1], ones), bound[1]));
    any = _mm256_or_si256(any, wanted[m]);
  }
  if (_mm256_testz_si256(any, any)) return found;
#pragma GCC unroll 6
  for (int m = 0; m < kBlock; ++m) {
    *found = static_cast<std::int32_t>(first + m);
    found += _mm256_testz_si256(wanted[m], wanted[m]) ? 0 : 1;
  }
  return found;
}

inline std::int32_t* screen_panel(const StreamHead& head, const QueryCodes& query, const float* threshold,
                                  std::int64_t panel, std::int32_t* found) {
  __m256i bound[2];
  screen_bounds(head, query, threshold, panel, bound);
  for (std::int64_t j = panel * kPanelKeys; j < (panel + 1) * kPanelKeys; j += kBlock)
    found = screen_block(head, query, j, bound, found);
  return found;
}
#else
constexpr bool kHasScreen = false;
struct QueryCodes {};
inline void encode_queries(const StreamHead&, const QueryTile&, const StreamScratch&, QueryCodes&) {}
inline std::int32_t* screen_panel(const StreamHead&, const QueryCodes&, const float*, std::int64_t,
                                  std::int32_t* found) {
  return found;
}
#endif

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
