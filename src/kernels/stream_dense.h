// Diffuse entmax rows: where much of a row survives, weighing a tile as a matrix beats collecting keys one by one.
#pragma once

#include "kernels/stream_sample.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// Sums over a row's keys at a threshold: of x^beta, of x^(beta - 1), and for alpha = 1.5 how many x are positive.
struct ThresholdSums {
  LaneSum<float> weights, slopes, count;

  // Vector g of a new run of fp32: what terms(j, weight, slope) gives for keys begin .. end - 1. flush() ends the run.
  template <Shape kShape, typename Terms>
  void begin_run(std::int64_t begin, std::int64_t end, int g, const Terms& terms) {
    // Copies: sums in memory would be written and read again for every key.
    Vec<float> sum = {}, slope_sum = {}, positive = {};
#pragma GCC unroll 2
    for (std::int64_t j = begin; j < end; ++j) {
      Vec<float> weight, slope;
      terms(j, weight, slope);
      sum += weight;
      slope_sum += slope;
      if constexpr (kShape == Shape::kSquare) positive += select(slope > Vec<float>{}, splat<float>(1), Vec<float>{});
    }
    weights.part[g] = sum;
    slopes.part[g] = slope_sum;
    count.part[g] = positive;
  }
  template <Shape kShape>
  void flush() {
    weights.flush();
    slopes.flush();
    if constexpr (kShape == Shape::kSquare) count.flush();
  }
};

// Where a row's threshold is looked for first: (alpha - 1) * (score - top) = value.
struct FirstGuess {
  Vec<float> top[2], value[2];
};

// Scores of keys first .. first + kKeys - 1 into `scores` [keys][kRows].
template <int kKeys, bool kMask>
inline void score_block(const StreamHead& head, const QueryTile& tile, std::int64_t first,
                        const StreamScratch& scratch) {
  Vec<float> sums[kKeys][2] = {};
  multiply_block<float, kKeys, 2>(head.head_size, {head.k + first * head.k_stride, head.k_stride, 1}, scratch.queries,
                                  kRows, sums);
#pragma GCC unroll 16
  for (int m = 0; m < kKeys; ++m) {
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
      if constexpr (kMask)
        sums[m][g] = select(tile.seen[g] > splat<float>(static_cast<float>(first + m)), sums[m][g],
                            splat<float>(Simd<float>::kMasked));
      store<float>(scratch.list_scores + (first + m) * kRows + g * kWidth, sums[m][g]);
    }
  }
}

// Keys summed in one run of fp32; a multiple of every register block.
constexpr std::int64_t kScoreRun = 60;
static_assert(kScoreRun % kBlock == 0);

// Scores keys begin .. end - 1 for the tile, raises the maxima and adds to the sums at the guess. `begin` is a multiple
// of kScoreRun, and so is an end before tile.most. `keys` and `places` are asked for on the way.
template <Shape kShape>
inline void score_keys(const StreamHead& head, const QueryTile& tile, std::int64_t begin, std::int64_t end,
                       const Normalizer<float>& norm, const StreamScratch& scratch, const FirstGuess& guess,
                       RowsAhead<> keys, RowsAhead<true> places, Vec<float> (&top)[2], ThresholdSums& sums) {
  const std::int64_t blocks = (end - begin + kBlock - 1) / kBlock, each = (keys.end - keys.row + blocks - 1) / blocks;
  const std::int64_t open = tile.least < end ? tile.least : end;
  for (std::int64_t run = begin; run < end; run += kScoreRun) {
    const std::int64_t run_end = run + kScoreRun < end ? run + kScoreRun : end;
    std::int64_t j = run;
    for (; j + kBlock <= run_end && j + kBlock <= open; j += kBlock) {
      keys.ask(each);
      places.ask(kBlock);
      score_block<kBlock, false>(head, tile, j, scratch);
    }
    for (; j + kBlock <= run_end; j += kBlock) score_block<kBlock, true>(head, tile, j, scratch);
    for (; j < run_end; ++j) score_block<1, true>(head, tile, j, scratch);
    // A second look at scores that are still near, as sums of their own would push the block's out of the registers.
    for (int g = 0; g < 2; ++g) {
      Vec<float> best = top[g];
      const Vec<float> guess_top = guess.top[g], guess_value = guess.value[g];
      sums.begin_run<kShape>(run, run_end, g, [&](std::int64_t key, Vec<float>& weight, Vec<float>& slope) {
        const Vec<float> score = load<float>(scratch.list_scores + key * kRows + g * kWidth);
        best = larger(score, best);
        entmax_terms<float, kShape>(larger((score - guess_top) * norm.scale - guess_value, Vec<float>{}), norm.beta,
                                    weight, slope);
      });
      top[g] = best;
    }
    sums.flush<kShape>();
  }
}

// The distance of a row's sum F from 1 that ends the search: less than kTolerance, or near enough that the step just
// made leaves less than that. kAgain is what the weights' own sum may differ by: more than rounding.
constexpr float kTolerance = 1e-6F;
constexpr float kNear = 2e-4F;
constexpr float kAgain = 1e-5F;

// The threshold looked at before, by vector, and its sums of x^(beta - 1) and of positive x.
struct LastLook {
  Vec<float> at[2], slopes[2], count[2];

  // For the lanes of `moving` only: what another lane of the tile needs must not show in this one.
  void set(int g, Int<float> moving, Vec<float> threshold, const ThresholdSums& sums) {
    const auto lanes = (decltype(threshold > threshold))moving;
    at[g] = select(lanes, threshold, at[g]);
    slopes[g] = select(lanes, sums.slopes.vector(g), slopes[g]);
    count[g] = select(lanes, sums.count.vector(g), count[g]);
  }
};

// A step towards the root of F = 1 from the threshold `at`, in units of (alpha - 1) * (score - top), with these sums;
// the lanes of `near` are there with it. Newton's on the beta-norm (docs/kernels.md) squares the error each time.
// For alpha = 1.5, F is a parabola as long as the support stays: the step to its root leaves what crosses the
// threshold on the way, N^2 step^3 / (6 sum x) if spread evenly. Longer steps take F as a power of the distance to
// where it ends, by its first two derivatives. One of N weights is at least 1 / N, so the root is at most -N^(-1/2).
// After a step h much longer than this one, how N went on the way, N(u) = N - r u + q u^2 with the integral
// that sum x tells, says what crosses: r step^3 / 3 - q step^4 / 6, but for a tenth and for the chance of r step keys.
// `surely`: only Newton's steps, which always arrive.
template <Shape kShape>
inline Vec<float> threshold_step(const ThresholdSums& sums, int g, Vec<float> at, const LastLook& last, float beta,
                                 bool surely, Int<float>& near) {
  using Mask = decltype(at > at);
  const Vec<float> one = splat<float>(1), tiny = splat<float>(Simd<float>::kTiny);
  const Vec<float> f = sums.weights.vector(g), slopes = larger(sums.slopes.vector(g), tiny), excess = f - one;
  const Vec<float> distance = larger(excess, -excess);
  Vec<float> step = norm_excess<float, kShape>(sums.weights, g, beta) / slopes;
  near = (Int<float>)(distance < splat<float>(kNear));
  if (kShape == Shape::kSquare && !surely) {
    const Vec<float> count = larger(sums.count.vector(g), one), inside = slopes * slopes - count * excess;
    const Vec<float> bend = root(larger(inside, Vec<float>{}));
    const Vec<float> parabola = excess / (slopes + bend);
    const Vec<float> h = at - last.at[g], length = larger(h, -h);
    const Vec<float> ends = (last.count[g] - count) / h, whole = ((last.slopes[g] - slopes) / h - count) * 2.0F / h;
    const Vec<float> q = 3.0F * (ends - whole) / h, r = 3.0F * whole - 2.0F * ends;
    const Vec<float> seen = parabola * parabola * parabola * (r - 0.5F * q * parabola) * (1.0F / 3);
    const Mask known = (Mask)((Int<float>)(larger(parabola, -parabola) * 4.0F < length) & (Int<float>)(length < one) &
                              (Int<float>)(bend > 0.5F * slopes));
    const Vec<float> short_step = select(known, parabola - seen / (2.0F * bend), parabola);
    const Vec<float> many = larger(r * short_step, -r * short_step), few = 0.04F * many + root(many) + 1.0F;
    const Vec<float> crossed =
        short_step * short_step * select(known, few, count * count * short_step / (6.0F * slopes));
    near |=
        (Int<float>)(f < splat<float>(1.5F)) & (Int<float>)(larger(crossed, -crossed) < splat<float>(2 * kTolerance));
    // F = (distance to where it ends)^power here, by its first two derivatives.
    const Vec<float> ratio = larger(2.0F * slopes * slopes / (count * larger(f, tiny)), splat<float>(1.001F));
    const Vec<float> power = larger(ratio / (ratio - one), splat<float>(2)), end = power * f / (2.0F * slopes);
    const Vec<float> guessed = end * (one - exp<float>(log<float>(larger(f, tiny)) / -power));
    const Vec<float> most = -one / root(count) - at;
    step = select((Mask)(near | (Int<float>)known), short_step, select(guessed < most, guessed, most));
  }
  return select(distance > splat<float>(kTolerance), step, Vec<float>{});
}

// One tile of a group that is weighed together.
struct DenseTile {
  QueryTile tile;
  StreamScratch scratch;  // the tile's own
  FirstGuess guess;
  ThresholdSums guessed;
  Vec<float> top[2], high[2], low[2];  // high + low is the threshold of (alpha - 1) * (score - top)
  Int<float> open[2];                  // lanes whose threshold is not yet near enough
  LastLook last;
  LaneSum<float> sums, logs;
  Int<float> alive[2];
  float sink[kRows];
};

inline Int<float> live_lanes(const DenseTile& at, int g) { return (Int<float>)(at.tile.seen[g] > Vec<float>{}); }

template <Shape kShape>
inline void start_from_guess(const Normalizer<float>& norm, DenseTile& at) {
  const Vec<float> one = splat<float>(1);
  for (int g = 0; g < 2; ++g) {
    Int<float> near;
    const Vec<float> distance = (at.top[g] - at.guess.top[g]) * norm.scale, start = at.guess.value[g] - distance;
    at.last.set(g, ~Int<float>{}, start, at.guessed);
    const Vec<float> moved = start + threshold_step<kShape>(at.guessed, g, start, at.last, norm.beta, false, near);
    // Where the guess kept nothing, or its top was too far below for these digits, start from the left end.
    const Int<float> usable = (Int<float>)(at.guessed.weights.vector(g) > splat<float>(0.01F)) &
                              (Int<float>)(distance < one) & (Int<float>)(moved > -one) &
                              (Int<float>)(moved < Vec<float>{});
    at.high[g] = select((decltype(one > one))usable, moved, -one);
    at.low[g] = Vec<float>{};
    at.open[g] = ~(usable & near) & live_lanes(at, g);
  }
}

// Goes on for the lanes that are open. Lanes that are done stand still, so that their bits do not depend on their
// neighbours.
template <Shape kShape>
inline void solve_dense(const Normalizer<float>& norm, DenseTile& at) {
  constexpr int kQuickRounds = 8;
  const float* scores = at.scratch.list_scores;
  for (int round = 0; round < 50 && any_lane(at.open[0] | at.open[1]); ++round) {
    ThresholdSums sums;
    for (std::int64_t begin = 0; begin < at.tile.most; begin += kSumChunk) {
      const std::int64_t end = begin + kSumChunk < at.tile.most ? begin + kSumChunk : at.tile.most;
      for (int g = 0; g < 2; ++g) {
        const Vec<float> top = at.top[g], high = at.high[g], low = at.low[g];
        sums.begin_run<kShape>(begin, end, g, [&](std::int64_t j, Vec<float>& weight, Vec<float>& slope) {
          shifted_terms<float, kShape>((load<float>(scores + j * kRows + g * kWidth) - top) * norm.scale, high, low,
                                       norm.beta, weight, slope);
        });
      }
      sums.flush<kShape>();
    }
    for (int g = 0; g < 2; ++g) {
      Int<float> near;
      const Vec<float> here = at.high[g] + at.low[g],
                       step = threshold_step<kShape>(sums, g, here, at.last, norm.beta, round >= kQuickRounds, near);
      at.last.set(g, at.open[g], here, sums);
      const Vec<float> rest = at.low[g] + select((decltype(step > step))at.open[g], step, Vec<float>{}),
                       next = at.high[g] + rest;
      at.low[g] = (at.high[g] - next) + rest;
      at.high[g] = next;
      at.open[g] &= ~near;
    }
  }
}

// Weighs keys first .. first + count - 1 and adds their values.
template <Shape kShape>
inline void weigh_keys(const StreamHead& head, std::int64_t first, std::int64_t count, const Normalizer<float>& norm,
                       RowsAhead<> values, DenseTile& at) {
  const float* scores = at.scratch.list_scores + first * kRows;
  float* weights = at.scratch.scores;
  const auto weigh = [&]<bool kLog>() {
    for (std::int64_t begin = 0; begin < count; begin += kSumChunk) {
      const std::int64_t end = begin + kSumChunk < count ? begin + kSumChunk : count;
      for (int g = 0; g < 2; ++g) {
        // Copies: sums in memory would be written and read again for every key.
        const Vec<float> top = at.top[g], high = at.high[g], low = at.low[g];
        Vec<float> sum = {}, log = {};
        Int<float> alive = {};
#pragma GCC unroll 2
        for (std::int64_t j = begin; j < end; ++j) {
          Vec<float> weight, slope;
          const std::int64_t place = j * kRows + g * kWidth;
          shifted_terms<float, kShape>((load<float>(scores + place) - top) * norm.scale, high, low, norm.beta, weight,
                                       slope);
          store<float>(weights + place, weight);
          sum += weight;
          alive -= (Int<float>)(weight > Vec<float>{});
          if constexpr (kLog) log += weight * log_near(weight);
        }
        at.sums.part[g] = sum;
        at.logs.part[g] = log;
        at.alive[g] += alive;
      }
      at.sums.flush();
      if constexpr (kLog) at.logs.flush();
    }
  };
  if (head.stats.entropy)
    weigh.template operator()<true>();
  else
    weigh.template operator()<false>();
  if (first == 0)
    for (int i = 0; i < kRows; ++i) at.sink[i] = weights[i];
  multiply_asking(head.head_size, count, {head.v + first * head.v_stride, 1, head.v_stride}, weights,
                  at.scratch.outputs, true, values);
}

// Weighs all keys of tiles begin .. end - 1, chunk by chunk, so that a chunk of values is fetched once for all.
template <Shape kShape>
inline void weigh_tiles(const StreamHead& head, const Normalizer<float>& norm, DenseTile* begin, DenseTile* end) {
  // A chunk of values stays in the first cache while the group goes through it. kFlushChunks of them are summed in one
  // run of fp32: equal weights round the same way every time, so runs are short.
  constexpr std::int64_t kChunk = 64, kFlushChunks = 16;
  std::int64_t most = 0;
  for (DenseTile* at = begin; at != end; ++at) {
    at->sums = at->logs = {};
    for (Int<float>& alive : at->alive) alive = Int<float>{};
    for (std::int64_t i = 0; i < head.head_size * kRows; ++i) at->scratch.totals[i] = at->scratch.outputs[i] = 0;
    if (at->tile.most > most) most = at->tile.most;
  }
  for (std::int64_t first = 0; first < most; first += kChunk) {
    const RowRange next = chunk_ahead(first, kChunk, most);
    for (DenseTile* at = begin; at != end; ++at) {
      const std::int64_t left = at->tile.most - first;
      if (left <= 0) continue;
      const RowsAhead<> values = rows_ahead(head.v, head.v_stride, head.head_size, next, at - begin, end - begin);
      weigh_keys<kShape>(head, first, left < kChunk ? left : kChunk, norm, values, *at);
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
  constexpr std::int64_t kChunk = kScoreRun;
  std::int64_t most = 0;
  for (DenseTile* at = begin; at != end; ++at) {
    if (at->tile.most > most) most = at->tile.most;
    for (Vec<float>& best : at->top) best = splat<float>(Simd<float>::kMasked);
  }
  for (std::int64_t first = 0; first < most; first += kChunk) {
    const RowRange next = chunk_ahead(first, kChunk, most);
    for (DenseTile* at = begin; at != end; ++at) {
      const std::int64_t last = first + kChunk < at->tile.most ? first + kChunk : at->tile.most;
      if (last <= first) continue;
      const RowsAhead<> keys = rows_ahead(head.k, head.k_stride, head.head_size, next, at - begin, end - begin);
      const RowsAhead<true> places = {at->scratch.list_scores, kRows, kRows, next.begin, next.end};
      score_keys<kShape>(head, at->tile, first, last, norm, at->scratch, at->guess, keys, places, at->top, at->guessed);
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
      at->open[g] = (Int<float>)(larger(excess, -excess) > splat<float>(kAgain)) & live_lanes(*at, g);
    }
    if (any_lane(at->open[0] | at->open[1])) {
      solve_dense<kShape>(norm, *at);
      weigh_tiles<kShape>(head, norm, at, at + 1);
    }
    finish_dense<kShape>(head, norm, *at);
  }
}

// Writes rows[0 .. count - 1], at most kDenseGroup tiles: all scores, thresholds by Newton over them, one product with
// the values; keys and values are fetched once for the group. `samples` are the rows' own.
inline void dense_rows(const StreamHead& head, const std::int64_t* rows, const RowSample* samples, int count,
                       const Normalizer<float>& norm, const StreamScratch& scratch, StreamingCounters& counters) {
  DenseTile tiles[kDenseGroup];
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
