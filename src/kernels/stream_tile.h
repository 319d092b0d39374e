// What every streaming path shares: packing a tile of queries, score bias and mask, windows, writing rows out.
#pragma once

#include "kernels/tile.h"
#include "kernels/variant.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

constexpr int kRows = kTileRows<float>;
constexpr int kWidth = kLanes<float>;
constexpr int kTileGroup = 128 / kRows;      // tiles that go through keys and values together
constexpr int kDenseGroup = 64 / kRows;      // the same where all their scores are kept meanwhile
constexpr std::int64_t kAhead = 2;           // chunks between what is worked on and what is asked for
constexpr std::int64_t kKeyBlock = 64;       // keys of a softmax block; blocks start at multiples of it
constexpr std::int64_t kMostSamples = 1024;  // keys of the strided sample that seeds a threshold
constexpr std::int64_t kRecent = 64;         // newest keys that seed it too

// Rows of keys, values or scores asked for before they are needed, a few between one block of a product and the next:
// all at once they would wait for each other, and the CPU's own prefetching does not follow products that walk several
// rows side by side. kWrite: they are about to be written.
template <bool kWrite = false>
struct RowsAhead {
  const float* data;
  std::int64_t stride, width;  // floats between and in rows
  std::int64_t row, end;

  void ask(std::int64_t count) {
    constexpr std::int64_t kLine = 64 / sizeof(float);
    for (; count > 0 && row < end; --count, ++row)
      for (std::int64_t c = 0; c < width; c += kLine) __builtin_prefetch(data + row * stride + c, kWrite ? 1 : 0, 3);
  }
};

struct RowRange {
  std::int64_t begin, end;
};

// What is asked for while the chunk from row `first` on, of rows 0 .. most - 1, is worked on; empty at the end.
inline RowRange chunk_ahead(std::int64_t first, std::int64_t chunk, std::int64_t most) {
  const std::int64_t begin = first + kAhead * chunk;
  return {begin, begin + chunk < most ? begin + chunk : most};
}

// The share of tile `t` of `tiles` in those rows.
inline RowsAhead<> rows_ahead(const float* data, std::int64_t stride, std::int64_t width, RowRange rows, std::int64_t t,
                              std::int64_t tiles) {
  const auto [begin, end] = rows;
  if (begin >= end) return {data, stride, width, 0, 0};
  const std::int64_t share = (end - begin + tiles - 1) / tiles, from = begin + t * share;
  return {data, stride, width, from, from + share < end ? from + share : end};
}

// multiply() of kRows columns, with `ahead` asked for on the way.
inline void multiply_asking(std::int64_t rows, std::int64_t depth, const Left<float>& a, const float* b, float* c,
                            bool accumulate, RowsAhead<> ahead) {
  constexpr std::int64_t kStep = 12;
  static_assert(kStep % kBlock == 0);
  const std::int64_t steps = (rows + kStep - 1) / kStep, each = (ahead.end - ahead.row + steps - 1) / steps;
  for (std::int64_t i = 0; i < rows; i += kStep) {
    ahead.ask(each);
    multiply<float>(rows - i < kStep ? rows - i : kStep, kRows, depth, {a.data + i * a.row, a.row, a.step}, b, kRows,
                    c + i * kRows, kRows, accumulate);
  }
}

// Scratch of one thread, carved from one allocation.
struct StreamScratch {
  float* queries;      // [kTileGroup][head_size][kRows]
  float* outputs;      // [kTileGroup][head_size][kRows]
  double* totals;      // [kTileGroup][head_size][kRows]
  float* scores;       // [max(kMostSamples + kRecent, distinct)][kRows]
  float* counts;       // [distinct][kRows]
  float* list_scores;  // [kTileGroup][kRows][list_stride]
  std::int32_t* list_keys;
  float* dense_scores;       // [kDenseGroup][kRows][list_stride]
  std::int8_t* query_codes;  // [kTileGroup][head_size rounded up to 4][kRows]
  double* exact;             // [list_stride] one row's shifted scores, then weights
  double* gathered;          // [head_size]
  std::int64_t list_stride;

  StreamScratch(void* memory, std::int64_t keys, std::int64_t head_size, std::int64_t distinct) {
    Carver carver(memory);
    const std::int64_t sampled = kMostSamples + kRecent;
    // Not a power of two, so that the lists of a tile do not share cache sets.
    list_stride = (keys + 3 * kWidth) / 16 * 16 + 16 + 48;
    gathered = carver.take<double>(head_size);
    totals = carver.take<double>(kTileGroup * head_size * kRows);
    queries = carver.take<float>(kTileGroup * head_size * kRows);
    outputs = carver.take<float>(kTileGroup * head_size * kRows);
    scores = carver.take<float>((sampled > distinct ? sampled : distinct) * kRows);
    counts = carver.take<float>(distinct * kRows);
    query_codes = carver.take<std::int8_t>(kTileGroup * code_bytes(head_size));
    exact = carver.take<double>(list_stride);
    list_scores = carver.take<float>(kTileGroup * list_stride * kRows);
    list_keys = carver.take<std::int32_t>(kTileGroup * list_stride * kRows);
    dense_scores = carver.take<float>(kDenseGroup * list_stride * kRows);
    bytes = carver.bytes();
  }
  std::size_t bytes;

  StreamScratch() = default;
  static std::int64_t code_bytes(std::int64_t head_size) { return (head_size + 3) / 4 * 4 * kRows; }

  // The same scratch with what the group's tile `t` has of its own in front.
  StreamScratch of_tile(int t, std::int64_t head_size) const {
    StreamScratch moved = *this;
    moved.queries += t * head_size * kRows;
    moved.outputs += t * head_size * kRows;
    moved.totals += t * head_size * kRows;
    moved.list_scores += t * list_stride * kRows;
    moved.list_keys += t * list_stride * kRows;
    moved.query_codes += t * code_bytes(head_size);
    return moved;
  }
};

// A tile of query rows, one a lane.
struct QueryTile {
  std::int64_t row[kRows];
  int used;                     // lanes that hold a row
  std::int64_t visible[kRows];  // 0 for lanes without a row, masked rows and bad rows
  bool bad[kRows];              // the row's outputs are NaN
  double norm[kRows];           // of the query as given
  std::int64_t most, least;     // over the lanes that see something; least is 0 when none does
  Vec<float> seen[2];           // visible as float
};

inline QueryTile pack_queries(const StreamHead& head, const std::int64_t* rows, int count, float* queries) {
  QueryTile tile = {};
  tile.used = count;
  for (int i = 0; i < kRows; ++i) {
    const float* q = nullptr;
    if (i < tile.used) {
      tile.row[i] = rows[i];
      q = head.q + rows[i] * head.q_stride;
      tile.visible[i] = head.visible[rows[i]];
      // Four chains of additions, so that one does not wait for the other.
      double squares[4] = {};
      for (std::int64_t c = 0; c < head.head_size; ++c)
        squares[c % 4] += static_cast<double>(q[c]) * static_cast<double>(q[c]);
      tile.norm[i] = __builtin_sqrt((squares[0] + squares[1]) + (squares[2] + squares[3]));
      const double bound = tile.norm[i] * head.key_norm + head.slope * static_cast<double>(tile.visible[i]);
      tile.bad[i] = tile.visible[i] > 0 && (tile.visible[i] > head.first_bad || !(bound < 1e38));
      if (tile.bad[i]) tile.visible[i] = 0;
    }
    const bool live = tile.visible[i] > 0;
    for (std::int64_t c = 0; c < head.head_size; ++c) queries[c * kRows + i] = live ? q[c] : 0.0f;
    if (live && (tile.least == 0 || tile.visible[i] < tile.least)) tile.least = tile.visible[i];
    if (tile.visible[i] > tile.most) tile.most = tile.visible[i];
    tile.seen[i / kWidth][i % kWidth] = static_cast<float>(tile.visible[i]);
  }
  return tile;
}

// The tile of rows first, first + 1, ... below row_end.
inline QueryTile pack_queries(const StreamHead& head, std::int64_t first, std::int64_t row_end, float* queries) {
  std::int64_t rows[kRows];
  const int count = static_cast<int>(row_end - first < kRows ? row_end - first : kRows);
  for (int i = 0; i < count; ++i) rows[i] = first + i;
  return pack_queries(head, rows, count, queries);
}

// -slope * (visible - 1 - j) for the lanes of vector g; the distance is an exact integer in fp32.
inline Vec<float> position_bias(const QueryTile& tile, int g, std::int64_t j, float slope) {
  return (tile.seen[g] - static_cast<float>(j + 1)) * -slope;
}

// Adds the positional bias to scores [keys][kRows] of keys first, first + step, ... and masks keys a lane may not see.
inline void bias_and_mask(const QueryTile& tile, std::int64_t first, std::int64_t step, std::int64_t keys, float slope,
                          float* scores) {
  const bool masked = first + (keys - 1) * step >= tile.least;
  if (slope == 0 && !masked) return;
  for (std::int64_t i = 0; i < keys; ++i) {
    const std::int64_t j = first + i * step;
    for (int g = 0; g < 2; ++g) {
      float* at = scores + i * kRows + g * kWidth;
      Vec<float> score = load<float>(at);
      if (slope != 0) score += position_bias(tile, g, j, slope);
      if (masked)
        score = select(tile.seen[g] > splat<float>(static_cast<float>(j)), score, splat<float>(Simd<float>::kMasked));
      store<float>(at, score);
    }
  }
}

// The first key any lane of the tile has to look at. A key at distance D scores at most R - slope * D, R = |q| *
// largest |k|; it is out of reach once that is below own - reach, own being the score of the row's newest key (bias 0).
//   entmax: reach = 1/(alpha - 1), since tau >= (alpha-1) * own - 1: the weight is exactly 0.
//   top-k: reach = 0, own being a bound of the least score of the K newest keys, which fill the row: the score itself
//   for few of them, -R - slope (K - 1) for many.
//   softmax: reach = 104. M >= own, and fp32's exp of anything below -104 is exactly 0 (half the smallest denormal is
//   exp(-103.97)); blocks are visited from the newest key on, so the running maximum is at least `own` before any such
//   key is met and the key adds exactly 0 to every sum.
// Bounds are inflated by 1e-4 for rounding: the scores' own error is below head_size * 2^-24 * R.
inline std::int64_t window_begin(const StreamHead& head, const QueryTile& tile, double reach,
                                 std::int64_t newest_keys = 1) {
  constexpr std::int64_t kMostExact = 64;
  if (!head.options.windows || !(head.slope > 0)) return 0;
  std::int64_t begin = tile.most;
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) continue;
    const std::int64_t newest = tile.visible[i] - 1;
    if (newest_keys > newest) return 0;
    const float* q = head.q + tile.row[i] * head.q_stride;
    const double bound = tile.norm[i] * head.key_norm;
    double own = -bound - static_cast<double>(head.slope) * static_cast<double>(newest_keys - 1);
    for (std::int64_t t = 0; t < newest_keys && newest_keys <= kMostExact; ++t) {
      const float* k = head.k + (newest - t) * head.k_stride;
      double score = -static_cast<double>(head.slope) * static_cast<double>(t);
      for (std::int64_t c = 0; c < head.head_size; ++c) score += static_cast<double>(q[c]) * static_cast<double>(k[c]);
      own = t == 0 || score < own ? score : own;
    }
    const double distance = (bound - own + 2e-4 * bound + reach + 0.01) / static_cast<double>(head.slope) * 1.0001 + 1;
    const std::int64_t first =
        distance < static_cast<double>(newest) ? newest - static_cast<std::int64_t>(distance) : 0;
    if (first < begin) begin = first;
  }
  return begin;
}

// Moves what a few blocks have summed into the double totals: a thousand equal addends would drift in fp32.
inline void flush_outputs(std::int64_t head_size, const StreamScratch& scratch) {
  for (std::int64_t i = 0; i < head_size * kRows; ++i) {
    scratch.totals[i] += static_cast<double>(scratch.outputs[i]);
    scratch.outputs[i] = 0;
  }
}

struct RowResult {
  double entropy = 0, sink = 0, top = 0, top_score = 0;
  std::int64_t support = 0;
};

inline void write_stats(const StreamHead& head, std::int64_t row, const RowResult& result) {
  if (head.stats.entropy) head.stats.entropy[row] = static_cast<float>(result.entropy);
  if (head.stats.support) head.stats.support[row] = static_cast<std::int32_t>(result.support);
  if (head.stats.sink) head.stats.sink[row] = static_cast<float>(result.sink);
  if (head.stats.top) head.stats.top[row] = static_cast<float>(result.top);
  if (head.stats.top_score) head.stats.top_score[row] = static_cast<float>(result.top_score);
}

// Rows that see nothing become 0, bad rows NaN.
inline void write_empty_row(const StreamHead& head, const QueryTile& tile, int lane) {
  const double value = tile.bad[lane] ? static_cast<double>(__builtin_nanf("")) : 0.0;
  float* out = head.out + tile.row[lane] * head.out_stride;
  for (std::int64_t c = 0; c < head.head_size; ++c) out[c] = static_cast<float>(value);
  write_stats(head, tile.row[lane], {value, value, value, value, tile.bad[lane] ? -1 : 0});
  if (head.stats.source) head.stats.source[tile.row[lane]] = static_cast<float>(value);
}

// out = outputs[:, lane] / sum.
inline void write_lane(const StreamHead& head, const QueryTile& tile, int lane, const float* outputs, double sum) {
  float* out = head.out + tile.row[lane] * head.out_stride;
  const float inverse = static_cast<float>(1 / sum);
  for (std::int64_t c = 0; c < head.head_size; ++c) out[c] = outputs[c * kRows + lane] * inverse;
}

inline double entropy_of(double sum, double log_sum) {
  const double entropy = __builtin_log(sum) - log_sum / sum;
  return entropy > 0 ? entropy : 0;
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
