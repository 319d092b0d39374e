// Diffuse entmax rows: where much of a row survives, weighing a tile as a matrix beats collecting keys one by one.
#pragma once

#include "kernels/stream_sample.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// The sums of Newton's first step, at a guess of the threshold: (alpha - 1) * (score - top) = value.
struct FirstStep {
  Vec<float> top[2], value[2];
  LaneSum<float> weights, slopes, count;  // count: keys above the guess, for alpha = 1.5 only
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
             slopes[2] = {step.slopes.part[0], step.slopes.part[1]},
             counts[2] = {step.count.part[0], step.count.part[1]};
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
      if constexpr (kShape == Shape::kSquare)
        counts[g] += select(weight > Vec<float>{}, splat<float>(1), Vec<float>{});
    }
  }
  for (int g = 0; g < 2; ++g) {
    top[g] = best[g];
    step.weights.part[g] = weights[g];
    step.slopes.part[g] = slopes[g];
    step.count.part[g] = counts[g];
  }
}

// Keys summed in one run of fp32; a multiple of every register block.
constexpr std::int64_t kScoreRun = 60;
static_assert(kScoreRun % kBlock == 0);

// Scores keys begin .. end - 1 for the tile; begin is a multiple of kScoreRun, and so is an end before tile.most.
template <Shape kShape>
inline void score_keys(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                       const Normalizer<float>& norm, const StreamScratch& scratch, Vec<float> (&top)[2],
                       FirstStep& step) {
  const std::int64_t open = tile.least < end ? tile.least : end;
  for (std::int64_t run = begin; run < end; run += kScoreRun) {
    const std::int64_t run_end = run + kScoreRun < end ? run + kScoreRun : end;
    std::int64_t j = run;
    for (; j + kBlock <= run_end && j + kBlock <= open; j += kBlock)
      score_block<kBlock, false, kShape>(head, tile, j, norm, scratch, top, step);
    for (; j + kBlock <= run_end; j += kBlock)
      score_block<kBlock, true, kShape>(head, tile, j, norm, scratch, top, step);
    for (; j < run_end; ++j) score_block<1, true, kShape>(head, tile, j, norm, scratch, top, step);
    step.weights.flush();
    step.slopes.flush();
    if constexpr (kShape == Shape::kSquare) step.count.flush();
  }
}

template <Shape kShape>
inline Vec<float> newton_step(const LaneSum<float>& weights, const LaneSum<float>& slopes, int g, float beta) {
  return norm_excess<float, kShape>(weights, g, beta) / larger(slopes.vector(g), splat<float>(Simd<float>::kTiny));
}

// The distance of a row's sum F from 1 that ends Newton's way. At most kNear, one more step leaves less than the
// tolerance, as the error is squared each time. kAgain is what the weights' own sum may differ by: more than rounding.
constexpr float kTolerance = 1e-6F;
constexpr float kNear = 2e-4F;
constexpr float kAgain = 1e-5F;

// One tile of a group that is weighed together.
struct DenseTile {
  QueryTile tile;
  StreamScratch scratch;  // the tile's own
  FirstStep guess = {};
  Vec<float> top[2], high[2], low[2];  // high + low is the threshold of (alpha - 1) * (score - top)
  Int<float> open[2];                  // lanes whose threshold is not yet near enough
  LaneSum<float> sums, logs;
  Int<float> alive[2];
  float sink[kRows];
};

// The step from the guess. For alpha = 1.5, F is a parabola as long as the support stays, so its root is taken; what
// crosses the threshold on the way, spread evenly, adds N^2 step^3 / (6 sum x) to the error.
template <Shape kShape>
inline void start_from_guess(const Normalizer<float>& norm, DenseTile& at) {
  const FirstStep& guess = at.guess;
  const Vec<float> one = splat<float>(1), tiny = splat<float>(Simd<float>::kTiny);
  for (int g = 0; g < 2; ++g) {
    const Vec<float> f = guess.weights.vector(g);
    const Vec<float> distance = (at.top[g] - guess.top[g]) * norm.scale, start = guess.value[g] - distance;
    Vec<float> step = newton_step<kShape>(guess.weights, guess.slopes, g, norm.beta);
    Int<float> near = (Int<float>)(f < splat<float>(1 + kNear)) & (Int<float>)(f > splat<float>(1 - kNear));
    if constexpr (kShape == Shape::kSquare) {
      const Vec<float> slopes = guess.slopes.vector(g), count = guess.count.vector(g), excess = f - one;
      const Vec<float> inside = slopes * slopes - count * excess;
      const Vec<float> exact = excess / larger(slopes + root(larger(inside, Vec<float>{})), tiny);
      const Vec<float> crossed = count * count * exact * exact * exact / larger(6.0F * slopes, tiny);
      const auto solvable = inside > Vec<float>{};
      step = select(solvable, exact, step);
      near |= (Int<float>)solvable & (Int<float>)(larger(crossed, -crossed) < splat<float>(2 * kTolerance));
    }
    const Vec<float> moved = start + step;
    // Where the guess kept little or nothing, or its top was too far below for these digits, start from the left end.
    const Int<float> usable = (Int<float>)(f > splat<float>(0.25F)) & (Int<float>)(distance < one) &
                              (Int<float>)(moved > -one) & (Int<float>)(moved < Vec<float>{});
    at.high[g] = select((decltype(one > one))usable, moved, -one);
    at.low[g] = Vec<float>{};
    at.open[g] = ~(usable & near);
  }
}

// Newton on the beta-norm for the lanes that are open: from the right one step lands left of the root, and from there
// it rises (docs/kernels.md). Lanes that are done stand still, so that their bits do not depend on their neighbours.
template <Shape kShape>
inline void solve_dense(const Normalizer<float>& norm, DenseTile& at) {
  const Vec<float> one = splat<float>(1);
  const float* scores = at.scratch.list_scores;
  for (int round = 0; round < 50 && any_lane(at.open[0] | at.open[1]); ++round) {
    LaneSum<float> weights, slopes;
    for_keys<float>(
        at.tile.most,
        [&](std::int64_t j, int g) {
          Vec<float> weight, slope;
          shifted_terms<float, kShape>((load<float>(scores + j * kRows + g * kWidth) - at.top[g]) * norm.scale,
                                       at.high[g], at.low[g], norm.beta, weight, slope);
          weights.part[g] += weight;
          slopes.part[g] += slope;
        },
        weights, slopes);
    for (int g = 0; g < 2; ++g) {
      const Vec<float> excess = weights.vector(g) - one, distance = larger(excess, -excess);
      const Int<float> moves = at.open[g] & (Int<float>)(distance > splat<float>(kTolerance));
      const Vec<float> step =
          select((decltype(one > one))moves, newton_step<kShape>(weights, slopes, g, norm.beta), Vec<float>{});
      const Vec<float> rest = at.low[g] + step, next = at.high[g] + rest;
      at.low[g] = (at.high[g] - next) + rest;
      at.high[g] = next;
      at.open[g] = moves & (Int<float>)(distance > splat<float>(kNear));
    }
  }
}

// Weighs keys first .. first + count - 1 and adds their values.
template <Shape kShape>
inline void weigh_keys(const StreamHead& head, std::int64_t first, std::int64_t count, const Normalizer<float>& norm,
                       DenseTile& at) {
  const bool want_log = head.stats.entropy != nullptr;
  const float* scores = at.scratch.list_scores + first * kRows;
  float* weights = at.scratch.scores;
  for_keys<float>(
      count,
      [&](std::int64_t j, int g) {
        Vec<float> weight, slope;
        const std::int64_t place = j * kRows + g * kWidth;
        shifted_terms<float, kShape>((load<float>(scores + place) - at.top[g]) * norm.scale, at.high[g], at.low[g],
                                     norm.beta, weight, slope);
        store<float>(weights + place, weight);
        at.sums.part[g] += weight;
        at.alive[g] -= (Int<float>)(weight > Vec<float>{});
        if (want_log) at.logs.part[g] += weight * log_near(larger(weight, splat<float>(Simd<float>::kTiny)));
      },
      at.sums, at.logs);
  if (first == 0)
    for (int i = 0; i < kRows; ++i) at.sink[i] = weights[i];
  multiply<float>(head.head_size, kRows, count, {head.v + first * head.v_stride, 1, head.v_stride}, weights, kRows,
                  at.scratch.outputs, kRows, true);
}

// Weighs all keys of tiles begin .. end - 1, chunk by chunk, so that a chunk of values is fetched once for all.
template <Shape kShape>
inline void weigh_tiles(const StreamHead& head, const Normalizer<float>& norm, DenseTile* begin, DenseTile* end) {
  // Keys whose products are summed in one run of fp32: equal weights round the same way every time, so runs are short.
  constexpr std::int64_t kChunk = 128, kFlushChunks = 8;
  std::int64_t most = 0;
  for (DenseTile* at = begin; at != end; ++at) {
    at->sums = at->logs = {};
    for (Int<float>& alive : at->alive) alive = Int<float>{};
    for (std::int64_t i = 0; i < head.head_size * kRows; ++i) at->scratch.totals[i] = at->scratch.outputs[i] = 0;
    if (at->tile.most > most) most = at->tile.most;
  }
  for (std::int64_t first = 0; first < most; first += kChunk) {
    for (DenseTile* at = begin; at != end; ++at) {
      const std::int64_t left = at->tile.most - first;
      if (left <= 0) continue;
      weigh_keys<kShape>(head, first, left < kChunk ? left : kChunk, norm, *at);
      if (first / kChunk % kFlushChunks == kFlushChunks - 1 || left <= kChunk)
        flush_outputs(head.head_size, at->scratch);
    }
  }
}

template <Shape kShape>
inline void finish_dense(const StreamHead& head, const Normalizer<float>& norm, DenseTile& at) {
  const QueryTile& tile = at.tile;
  const StreamScratch& scratch = at.scratch;
  alignas(64) float largest[kRows];
  for (int g = 0; g < 2; ++g) {
    Vec<float> weight, slope;
    shifted_terms<float, kShape>(Vec<float>{}, at.high[g], at.low[g], norm.beta, weight, slope);
    store<float>(largest + g * kWidth, weight);
  }
  for (std::int64_t i = 0; i < head.head_size * kRows; ++i) scratch.outputs[i] = static_cast<float>(scratch.totals[i]);
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) {
      write_empty_row(head, tile, i);
      continue;
    }
    const int g = i / kWidth, lane = i % kWidth;
    const double sum = at.sums.total[i];
    write_lane(head, tile, i, scratch.outputs, sum);
    write_stats(head, tile.row[i],
                {entropy_of(sum, at.logs.total[i]), static_cast<double>(at.sink[i]) / sum,
                 static_cast<double>(largest[i]) / sum, static_cast<double>(at.top[g][lane]),
                 static_cast<std::int64_t>(at.alive[g][lane])});
  }
}

template <Shape kShape>
inline void dense_shape(const StreamHead& head, const Normalizer<float>& norm, DenseTile* begin, DenseTile* end) {
  constexpr std::int64_t kChunk = 2 * kScoreRun;
  std::int64_t most = 0;
  for (DenseTile* at = begin; at != end; ++at) {
    if (at->tile.most > most) most = at->tile.most;
    for (Vec<float>& best : at->top) best = splat<float>(Simd<float>::kMasked);
  }
  for (std::int64_t first = 0; first < most; first += kChunk) {
    for (DenseTile* at = begin; at != end; ++at) {
      const std::int64_t last = first + kChunk < at->tile.most ? first + kChunk : at->tile.most;
      score_keys<kShape>(head, at->tile, first, last, norm, at->scratch, at->top, at->guess);
    }
  }
  for (DenseTile* at = begin; at != end; ++at) {
    start_from_guess<kShape>(norm, *at);
    solve_dense<kShape>(norm, *at);
  }
  weigh_tiles<kShape>(head, norm, begin, end);
  for (DenseTile* at = begin; at != end; ++at) {
    // More crossed the threshold than was reckoned with: on from there.
    for (int g = 0; g < 2; ++g) {
      const Vec<float> excess = at->sums.vector(g) - splat<float>(1);
      at->open[g] = (Int<float>)(larger(excess, -excess) > splat<float>(kAgain));
    }
    if (any_lane(at->open[0] | at->open[1])) {
      solve_dense<kShape>(norm, *at);
      weigh_tiles<kShape>(head, norm, at, at + 1);
    }
    finish_dense<kShape>(head, norm, *at);
  }
}

// Writes rows[0 .. count - 1], at most kTileGroup tiles: all scores, thresholds by Newton over them, one product with
// the values; keys and values are fetched once for the group. `samples` are the rows' own.
inline void dense_rows(const StreamHead& head, const std::int64_t* rows, const RowSample* samples, int count,
                       const Normalizer<float>& norm, const StreamScratch& scratch, StreamingCounters& counters) {
  DenseTile tiles[kTileGroup];
  int used = 0;
  for (int first = 0; first < count; first += kRows, ++used) {
    DenseTile& at = tiles[used];
    at.scratch = scratch.of_tile(used, head.head_size);
    at.scratch.list_scores = scratch.dense_scores + used * scratch.list_stride * kRows;
    at.tile = pack_queries(head, rows + first, count - first < kRows ? count - first : kRows, at.scratch.queries);
    for (int i = 0; i < kRows; ++i) {
      // Without a sample nothing is above the guess.
      const bool sampled = i < at.tile.used && samples[first + i].top > Simd<float>::kMasked;
      at.guess.top[i / kWidth][i % kWidth] = sampled ? samples[first + i].top : -Simd<float>::kMasked;
      at.guess.value[i / kWidth][i % kWidth] = sampled ? samples[first + i].value : 0.0F;
    }
    counters.scored_pairs += at.tile.most * at.tile.used;
  }
  if (norm.shape == Shape::kSquare)
    dense_shape<Shape::kSquare>(head, norm, tiles, tiles + used);
  else if (norm.shape == Shape::kLinear)
    dense_shape<Shape::kLinear>(head, norm, tiles, tiles + used);
  else
    dense_shape<Shape::kPower>(head, norm, tiles, tiles + used);
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
