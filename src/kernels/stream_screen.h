// The byte screen of a tile: integer dot products say which keys may pass a row's threshold; the rest is out of reach.
#pragma once

#include "kernels/key_codes.h"
#include "kernels/stream_tile.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// Keys that a row of vector g may want, in order: fewer than a panel wait there, and a panel may add all of its own.
struct FoundKeys {
  std::int32_t keys[2][2 * kPanelKeys];
  std::int64_t count[2] = {};
};

// With q = u x + r and k = w y + s (x, y integer codes; u, w scales; r, s what rounding left):
//   q . k = u w x . y + r . k + u x . s  <=  u w x . y + |r| |k| + |u x| |s|.
// So x . y <= (threshold - |r| |k| - |u x| |s|) / (u w) proves q . k <= threshold; |r| here also covers the rounding of
// the fp32 score that is compared otherwise.
#if defined(__AVX2__)
constexpr bool kHasScreen = true;

static_assert(kPanelKeys % kBlock == 0);

#if defined(__AVX512VNNI__)
// Four products at a time go straight into a sum of 32 bits.
constexpr bool kHalfSums = false;
constexpr int kMostCode = 127;
constexpr float kLargestDot = 1e9F;  // beyond any sum of fewer than 2^15 channels
#else
// Pairs of products go through 16 bits. |code| <= 63 and key bytes <= 255 keep a pair there; the two half sums of a key
// are taken modulo 2^16, and the scale of the query is such that they fit: their true size is at most
// |x half| |y half|.
constexpr bool kHalfSums = true;
constexpr int kMostCode = 63;
constexpr float kLargestDot = 1e6F;  // two half sums of 16 bits
#endif

struct QueryCodes {
  const std::int8_t* codes;                     // [stride / 4][kRows][4], each in -kMostCode .. kMostCode
  alignas(64) std::int32_t start[kRows];        // takes the codes' offset of 128 back out of the sum, or each half sum
  alignas(64) float inverse[kRows];             // 1 / u
  alignas(64) float error[kRows], norm[kRows];  // |r|, |u x|
};

// Codes of the tile's queries.
inline void encode_queries(const StreamHead& head, const QueryTile& tile, const StreamScratch& scratch,
                           QueryCodes& made) {
  std::int8_t* codes = scratch.query_codes;
  made.codes = codes;
  // Rounding adds at most half a code a channel to a half norm. Without half sums there is no such bound.
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
    const Vec<float> fitting = !kHalfSums ? Vec<float>{} : room > 0 ? half * (1 / room) : splat<float>(1e30F);
    const Vec<float> unit = larger(larger(largest * (1.00001F / kMostCode), fitting), splat<float>(1e-30F));
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
    const Int<float> start = kHalfSums ? (sums[0] * -128 & 0xffff) | sums[1] * -128 << 16 : (sums[0] + sums[1]) * -128;
    __builtin_memcpy(made.start + g * kWidth, &start, sizeof(start));
    for (int i = 0; i < kWidth; ++i) norms[i] = static_cast<float>(tile.norm[g * kWidth + i]);
    store<float>(made.inverse + g * kWidth, inverse);
    store<float>(made.error + g * kWidth,
                 root(error) * unit * 1.0001F + norms * 1.2e-7F * static_cast<float>(head.head_size + 16));
    store<float>(made.norm + g * kWidth, root(norm) * unit * 1.0001F);
  }
}

// Largest integer dot products, by row, that prove a key of the panel out of reach.
inline void screen_bounds(const StreamHead& head, const QueryCodes& query, const float* threshold, std::int64_t panel,
                          Int<float> (&bound)[2]) {
  const float scale = 1 / head.code_scale[panel], key_norm = head.code_norm[panel], key_error = head.code_error[panel];
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    const Vec<float> margin =
        load<float>(query.error + g * kWidth) * key_norm + load<float>(query.norm + g * kWidth) * key_error;
    const Vec<float> known = load<float>(threshold + g * kWidth), most = splat<float>(kLargestDot);
    // Beyond the largest sum there is, all or none pass. Lanes without a row have the threshold infinity.
    Vec<float> dot = larger((known - margin) * load<float>(query.inverse + g * kWidth) * scale, -most);
    dot = select((dot > most) | (known > splat<float>(3e38F)), most, dot);
    // Relative rounding here is below 2^-20.
    bound[g] = __builtin_convertvector(dot - 1.5F - larger(dot, -dot) * 1e-6F, Int<float>);
  }
}

// Four channels of a key for every row, sum += key . codes, and the rows whose sum exceeds the bound.
#if defined(__AVX512VNNI__)
using Codes = __m512i;
inline Codes broadcast_codes(std::int32_t four) { return _mm512_set1_epi32(four); }
// As text, since g++ 12 copies the sum before and after its own _mm512_dpbusd_epi32.
inline Codes add_products(Codes sum, Codes key, Codes codes) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(key), "v"(codes));
  return sum;
}
inline LaneSet sums_above(Codes sum, Int<float> bound) { return _mm512_cmpgt_epi32_mask(sum, (__m512i)bound); }
#else
using Codes = __m256i;
inline Codes broadcast_codes(std::int32_t four) { return _mm256_set1_epi32(four); }
inline Codes add_products(Codes sum, Codes key, Codes codes) {
  return _mm256_add_epi16(sum, _mm256_maddubs_epi16(key, codes));
}
inline LaneSet sums_above(Codes sum, Int<float> bound) {
  return (LaneSet)_mm256_cmpgt_epi32(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)), (__m256i)bound);
}
#endif

inline Codes load_codes(const void* from) {
  Codes codes;
  __builtin_memcpy(&codes, from, sizeof(codes));
  return codes;
}

// Appends those of the keys first .. first + kBlock - 1 that a row may want to the lists of its vector.
inline void screen_block(const StreamHead& head, const QueryCodes& query, std::int64_t first,
                         const Int<float> (&bound)[2], FoundKeys& found) {
  const std::uint8_t* keys = head.codes + first * head.code_stride;
  const std::int64_t stride = head.code_stride;
  Codes sums[kBlock][2];
#pragma GCC unroll 16
  for (int m = 0; m < kBlock; ++m)
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) sums[m][g] = load_codes(query.start + g * kWidth);
  const std::int8_t* codes = query.codes;
  for (std::int64_t c = 0; c < stride; c += 4, codes += 4 * kRows) {
    const Codes low = load_codes(codes), high = load_codes(codes + 4 * kWidth);
#pragma GCC unroll 16
    for (int m = 0; m < kBlock; ++m) {
      std::int32_t four;
      __builtin_memcpy(&four, keys + m * stride + c, 4);
      const Codes key = broadcast_codes(four);
      sums[m][0] = add_products(sums[m][0], key, low);
      sums[m][1] = add_products(sums[m][1], key, high);
    }
  }
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    LaneSet wanted[kBlock], any = {};
#pragma GCC unroll 16
    for (int m = 0; m < kBlock; ++m) {
      wanted[m] = sums_above(sums[m][g], bound[g]);
      any = join(any, wanted[m]);
    }
    if (is_empty(any)) continue;
    std::int64_t count = found.count[g];
#pragma GCC unroll 16
    for (int m = 0; m < kBlock; ++m) {
      found.keys[g][count] = static_cast<std::int32_t>(first + m);
      count += is_empty(wanted[m]) ? 0 : 1;
    }
    found.count[g] = count;
  }
}

inline void screen_panel(const StreamHead& head, const QueryCodes& query, const float* threshold, std::int64_t panel,
                         FoundKeys& found) {
  Int<float> bound[2];
  screen_bounds(head, query, threshold, panel, bound);
  for (std::int64_t j = panel * kPanelKeys; j < (panel + 1) * kPanelKeys; j += kBlock)
    screen_block(head, query, j, bound, found);
}
#else
constexpr bool kHasScreen = false;
struct QueryCodes {};
inline void encode_queries(const StreamHead&, const QueryTile&, const StreamScratch&, QueryCodes&) {}
inline void screen_panel(const StreamHead&, const QueryCodes&, const float*, std::int64_t, FoundKeys&) {}
#endif

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
