// Diffuse entmax rows: where much of a row survives, weighing a tile as a matrix beats collecting keys one by one.
#pragma once

#include "kernels/stream_sample.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// The sums of Newton's first step, at a guess of the threshold: (alpha - 1) * (score - top) = value.
struct FirstStep {
  Vec<float> top[2], value[2];
  LaneSum<float> weights, slopes;
};

// Scores keys first .. first + kKeys - 1 for the tile into `scores` [keys][kRows], raises the maxima and adds to the
// first step's sums.
template <int kKeys, bool kMask, Shape kShape>
inline void score_block(const StreamHead& head, const QueryTile& tile, std::int64_t first,
                        const Normalizer<float>& norm, const StreamScratch& scratch, Vec<float> (&top)[2],
                        FirstStep& step) {
  Vec<float> sums[kKeys][2] = {};
  multiply_block<float, kKeys, 2>(head.head_size, {head.k + first * head.k_stride, head.k_stride, 1}, scratch.queries,
                                  kRows, sums);
  // Copies: the sums in memory would be written and read again for every key. Each is one chain in the order of keys,
  // so that it does not depend on the block.
  Vec<float> best[2] = {top[0], top[1]}, weights[2] = {step.weights.part[0], step.weights.part[1]},
             slopes[2] = {step.slopes.part[0], step.slopes.part[1]};
  const Vec<float> guess[2] = {step.value[0], step.value[1]}, guess_top[2] = {step.top[0], step.top[1]};
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m) {
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
      if constexpr (kMask)
        sums[m][g] = select(tile.seen[g] > splat<float>(static_cast<float>(first + m)), sums[m][g],
                            splat<float>(Simd<float>::kMasked));
      store<float>(scratch.list_scores + (first + m) * kRows + g * kWidth, sums[m][g]);
      best[g] = larger(sums[m][g], best[g]);
      Vec<float> weight, slope;
      entmax_terms<float, kShape>(larger((sums[m][g] - guess_top[g]) * norm.scale - guess[g], Vec<float>{}), norm.beta,
                                  weight, slope);
      weights[g] += weight;
      slopes[g] += slope;
    }
  }
  for (int g = 0; g < 2; ++g) {
    top[g] = best[g];
    step.weights.part[g] = weights[g];
    step.slopes.part[g] = slopes[g];
  }
}

template <Shape kShape>
inline void score_all(const StreamHead& head, const QueryTile& tile, const Normalizer<float>& norm,
                      const StreamScratch& scratch, Vec<float> (&top)[2], FirstStep& step) {
  constexpr std::int64_t kFlush = 60;  // keys: a multiple of every register block
  static_assert(kFlush % kBlock == 0);
  for (Vec<float>& best : top) best = splat<float>(Simd<float>::kMasked);
  const auto flush_before = [&](std::int64_t key) {
    if (key % kFlush == 0) step.weights.flush(), step.slopes.flush();
  };
  std::int64_t j = 0;
  for (; j + kBlock <= tile.least; j += kBlock) {
    flush_before(j);
    score_block<kBlock, false, kShape>(head, tile, j, norm, scratch, top, step);
  }
  for (; j + kBlock <= tile.most; j += kBlock) {
    flush_before(j);
    score_block<kBlock, true, kShape>(head, tile, j, norm, scratch, top, step);
  }
  for (; j < tile.most; ++j) {
    flush_before(j);
    score_block<1, true, kShape>(head, tile, j, norm, scratch, top, step);
  }
  step.weights.flush();
  step.slopes.flush();
}

template <Shape kShape>
inline Vec<float> newton_step(const LaneSum<float>& weights, const LaneSum<float>& slopes, int g, float beta) {
  return norm_excess<float, kShape>(weights, g, beta) / larger(slopes.vector(g), splat<float>(Simd<float>::kTiny));
}

// The relation of a row's sum F to 1 that ends Newton's way. At most kNear above it, one more step leaves less than
// the tolerance, as the error is squared each time.
constexpr float kTolerance = 1e-6F;
constexpr float kNear = 2e-4F;

// Newton on the beta-norm from the guess: from the right one step lands left of the root, and from there it rises
// (docs/kernels.md). high + low is the threshold of (alpha - 1) * (score - top). Lanes that are done stand still, so
// that their bits do not depend on their neighbours.
template <Shape kShape>
inline void solve_dense(const float* scores, std::int64_t keys, const Normalizer<float>& norm, const FirstStep& guess,
                        const Vec<float> (&top)[2], Vec<float> (&high)[2], Vec<float> (&low)[2]) {
  const Vec<float> one = splat<float>(1), low_enough = splat<float>(1 + kTolerance);
  Int<float> open[2];
  for (int g = 0; g < 2; ++g) {
    const Vec<float> f = guess.weights.vector(g);
    const Vec<float> distance = (top[g] - guess.top[g]) * norm.scale, start = guess.value[g] - distance;
    const Vec<float> moved = start + newton_step<kShape>(guess.weights, guess.slopes, g, norm.beta);
    // Where the guess kept little or nothing, or its top was too far below for these digits, start from the left end.
    const Int<float> usable = (Int<float>)(f > splat<float>(0.25F)) & (Int<float>)(distance < one) &
                              (Int<float>)(moved > -one) & (Int<float>)(moved < Vec<float>{});
    high[g] = select((decltype(one > one))usable, moved, -one);
    low[g] = Vec<float>{};
    open[g] = ~(usable & (Int<float>)(f < splat<float>(1 + kNear)) & (Int<float>)(f > splat<float>(1 - kNear)));
  }
  for (int round = 0; round < 50 && any_lane(open[0] | open[1]); ++round) {
    LaneSum<float> weights, slopes;
    for_keys<float>(
        keys,
        [&](std::int64_t j, int g) {
          Vec<float> weight, slope;
          shifted_terms<float, kShape>((load<float>(scores + j * kRows + g * kWidth) - top[g]) * norm.scale, high[g],
                                       low[g], norm.beta, weight, slope);
          weights.part[g] += weight;
          slopes.part[g] += slope;
        },
        weights, slopes);
    for (int g = 0; g < 2; ++g) {
      const Vec<float> f = weights.vector(g);
      const Int<float> rises = open[g] & (Int<float>)(f > low_enough);
      const Vec<float> step =
          select((decltype(one > one))rises, newton_step<kShape>(weights, slopes, g, norm.beta), Vec<float>{});
      const Vec<float> rest = low[g] + step, next = high[g] + rest;
      low[g] = (high[g] - next) + rest;
      high[g] = next;
      open[g] = rises & (Int<float>)(f > splat<float>(1 + kNear));
    }
  }
}

// Weighs the scores chunk by chunk and multiplies each chunk with its values.
template <Shape kShape>
inline void weigh_dense(const StreamHead& head, const QueryTile& tile, const Normalizer<float>& norm,
                        const StreamScratch& scratch, const Vec<float> (&top)[2], const Vec<float> (&high)[2],
                        const Vec<float> (&low)[2], TileResult<float>& result, double (&support)[kRows],
                        float (&largest)[kRows], float (&sink)[kRows]) {
  // Keys whose products are summed in one run of fp32: equal weights round the same way every time, so runs are short.
  constexpr std::int64_t kChunk = 128, kFlushChunks = 8;
  const std::int64_t keys = tile.most;
  const bool want_log = head.stats.entropy != nullptr;
  float* weights = scratch.scores;
  LaneSum<float> sums, logs;
  Int<float> alive[2] = {};
  for (std::int64_t i = 0; i < head.head_size * kRows; ++i) scratch.totals[i] = scratch.outputs[i] = 0;
  for (std::int64_t first = 0; first < keys; first += kChunk) {
    const std::int64_t count = keys - first < kChunk ? keys - first : kChunk;
    const float* scores = scratch.list_scores + first * kRows;
    for_keys<float>(
        count,
        [&](std::int64_t j, int g) {
          Vec<float> weight, slope;
          const std::int64_t at = j * kRows + g * kWidth;
          shifted_terms<float, kShape>((load<float>(scores + at) - top[g]) * norm.scale, high[g], low[g], norm.beta,
                                       weight, slope);
          store<float>(weights + at, weight);
          sums.part[g] += weight;
          alive[g] -= (Int<float>)(weight > Vec<float>{});
          if (want_log) logs.part[g] += weight * log_near(larger(weight, splat<float>(Simd<float>::kTiny)));
        },
        sums, logs);
    if (first == 0)
      for (int i = 0; i < kRows; ++i) sink[i] = weights[i];
    multiply<float>(head.head_size, kRows, count, {head.v + first * head.v_stride, 1, head.v_stride}, weights, kRows,
                    scratch.outputs, kRows, true);
    if (first / kChunk % kFlushChunks == kFlushChunks - 1 || first + kChunk >= keys)
      flush_outputs(head.head_size, scratch);
  }
  for (int g = 0; g < 2; ++g) {
    Vec<float> weight, slope;
    shifted_terms<float, kShape>(Vec<float>{}, high[g], low[g], norm.beta, weight, slope);
    store<float>(largest + g * kWidth, weight);
  }
  for (int i = 0; i < kRows; ++i) {
    result.sum[i] = sums.total[i];
    result.log_sum[i] = logs.total[i];
    result.top_score[i] = top[i / kWidth][i % kWidth];
    support[i] = alive[i / kWidth][i % kWidth];
  }
}

// Writes the tile's rows: all scores, thresholds by Newton over them, one product with the values. `samples` are the
// rows' own.
inline void dense_tile(const StreamHead& head, const QueryTile& tile, const RowSample* samples,
                       const Normalizer<float>& norm, const StreamScratch& scratch, StreamingCounters& counters) {
  Vec<float> top[2], high[2], low[2];
  FirstStep guess = {};
  for (int i = 0; i < kRows; ++i) {
    // Without a sample nothing is above the guess.
    const bool sampled = i < tile.used && samples[i].top > Simd<float>::kMasked;
    guess.top[i / kWidth][i % kWidth] = sampled ? samples[i].top : -Simd<float>::kMasked;
    guess.value[i / kWidth][i % kWidth] = sampled ? samples[i].value : 0.0F;
  }
  counters.scored_pairs += tile.most * tile.used;
  TileResult<float> result;
  double support[kRows];
  float largest[kRows], sink[kRows];
  const auto run = [&]<Shape kShape>() {
    score_all<kShape>(head, tile, norm, scratch, top, guess);
    solve_dense<kShape>(scratch.list_scores, tile.most, norm, guess, top, high, low);
    weigh_dense<kShape>(head, tile, norm, scratch, top, high, low, result, support, largest, sink);
  };
  if (norm.shape == Shape::kSquare)
    run.template operator()<Shape::kSquare>();
  else if (norm.shape == Shape::kLinear)
    run.template operator()<Shape::kLinear>();
  else
    run.template operator()<Shape::kPower>();
  for (std::int64_t i = 0; i < head.head_size * kRows; ++i) scratch.outputs[i] = static_cast<float>(scratch.totals[i]);
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) {
      write_empty_row(head, tile, i);
      continue;
    }
    const double sum = result.sum[i];
    write_lane(head, tile, i, scratch.outputs, sum);
    write_stats(
        head, tile.row[i],
        {entropy_of(sum, result.log_sum[i]), static_cast<double>(sink[i]) / sum, static_cast<double>(largest[i]) / sum,
         static_cast<double>(result.top_score[i]), static_cast<std::int64_t>(support[i])});
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
