// Exact alpha-entmax attention of 16 query rows by one warp in one sweep over the keys, kernel A:
// tensor cores bound the scores of 64 keys at a time, keys whose bound is above their row's running threshold are kept,
// kept keys are scored again in fp32, and the threshold rises with them: that of any subset of the keys is a lower
// bound of the row's own (docs/kernels.md), so nothing with weight is ever left out.
#pragma once

#include "kernels/cuda/screened_list.h"

namespace lenbench::kernels {

// What a lane knows of its two rows, lane / 4 and lane / 4 + 8; the four lanes of a row hold the same.
template <class Warp>
struct ScreenState {
  template <typename T>
  using Lanes = typename Warp::template Lanes<T>;
  Lanes<std::int32_t> visible[2];  // 0: the row takes no part (any more)
  Lanes<float> threshold[2];       // a key with a bound at or below it has weight 0
  Lanes<float> reach[2];           // at least |q.k| for every key
  Lanes<std::int32_t> kept[2];     // length of the list
  Lanes<std::int32_t> scored[2];   // entries that have a score
  Lanes<double> shift[2], top[2];  // of RowWeights, for the entries that have a score
};

// Sets `to` in the lanes that hold row 8 * half + g.
template <class Warp, typename T>
LENBENCH_LANE_CODE void set_row(typename Warp::template Lanes<T>& to, int g, T value) {
  Warp::each([&](int lane) {
    if (lane / 4 == g) to[lane] = value;
  });
}

LENBENCH_LANE_CODE float slope_below(float slope) { return slope * (1 - 0x1p-20F); }

// Takes a row out of the sweep.
template <class Warp>
LENBENCH_LANE_CODE void stop_row(ScreenState<Warp>& state, int half, int g) {
  set_row<Warp, std::int32_t>(state.visible[half], g, 0);
  set_row<Warp, float>(state.threshold[half], g, INFINITY);
}

template <class Warp>
LENBENCH_LANE_CODE void leave_to_dense(const ScreenedRows& rows, ScreenState<Warp>& state, int half, int g) {
  stop_row(state, half, g);
  Warp::each([&](int lane) {
    if (lane == 0) rows.dense[half * 8 + g] = 1;
  });
  Warp::count(rows.counters ? &rows.counters->dense_rows : nullptr, 1);
}

template <class Warp>
LENBENCH_LANE_CODE RowProgress progress_of(const ScreenState<Warp>& state, int half, int g) {
  const int lane = 4 * g;
  return {Warp::broadcast(state.visible[half], lane), Warp::broadcast(state.kept[half], lane),
          Warp::broadcast(state.scored[half], lane),  Warp::broadcast(state.threshold[half], lane),
          Warp::broadcast(state.shift[half], lane),   Warp::broadcast(state.top[half], lane)};
}

template <class Warp>
LENBENCH_LANE_CODE void set_progress(ScreenState<Warp>& state, int half, int g, const RowProgress& now) {
  Warp::each([&](int lane) {
    if (lane / 4 != g) return;
    state.visible[half][lane] = now.visible;
    state.kept[half][lane] = now.kept;
    state.scored[half][lane] = now.scored;
    state.threshold[half][lane] = now.threshold;
    state.shift[half][lane] = now.shift;
    state.top[half][lane] = now.top;
  });
}

// Calls body(half, g) for every row whose lanes say so.
template <class Warp, typename Says, typename Body>
LENBENCH_LANE_CODE void for_rows(const Says& says, const Body& body) {
  LENBENCH_UNROLL
  for (int half = 0; half < 2; ++half) {
    typename Warp::template Lanes<bool> chosen;
    Warp::each([&](int lane) { chosen[lane] = lane % 4 == 0 && says(half, lane); });
    for (std::uint32_t mask = Warp::ballot(chosen); mask != 0; mask &= mask - 1) body(half, Warp::lowest_bit(mask) / 4);
  }
}

// The query columns of the 16 rows as operands. A step of the product takes channels in the order in which
// prepare_key's words are loaded: lane t of a row's four holds 8 columns in a row of every 32, and 4 in a row of a
// last 16.
template <class Warp, int kSteps>
LENBENCH_LANE_CODE void load_queries(const ScreenedRows& rows, ScreenState<Warp>& state,
                                     typename Warp::template Lanes<ProductA> (&operands)[kSteps]) {
  typename Warp::template Lanes<QueryMargin> margins[2];
  const float key_norm = float_of(static_cast<std::uint32_t>(rows.summary.norm_bits));
  LENBENCH_UNROLL
  for (int half = 0; half < 2; ++half) {
    for (int g = 0; g < 8; ++g) {
      const int row = half * 8 + g;
      const std::int64_t visible = row < rows.num_rows ? rows.visible[row] : 0;
      set_row<Warp, std::int32_t>(state.visible[half], g, static_cast<std::int32_t>(visible));
      set_row<Warp, float>(state.threshold[half], g, -INFINITY);
      if (row >= rows.num_rows) {
        stop_row(state, half, g);
        continue;
      }
      Warp::each([&](int lane) {
        if (lane == 0) rows.dense[row] = 0;
      });
      const RoundedNorms norms = rounded_norms<Warp>(rows.q + row * rows.q_stride, rows.head_size);
      const double reach = (1 + 0x1p-10) * norms.whole * static_cast<double>(key_norm);
      set_row<Warp, QueryMargin>(margins[half], g, {bfloat16_above(norms.lost), bfloat16_above(norms.rounded)});
      set_row<Warp, float>(state.reach[half], g, float_above(reach));
      const bool fits = reach < kLargestReach && key_norm < kLargestReach && norms.whole < kLargestReach;
      if (visible <= 0) {
        stop_row(state, half, g);
        fill_row<Warp>(output_of(rows, row), rows.head_size, 0, 0);
      } else if (rows.alpha == 1 || !fits || visible > rows.summary.first_bad) {
        leave_to_dense(rows, state, half, g);
      }
    }
  }
  Warp::each([&](int lane) {
    const int g = lane / 4, t = lane % 4;
    LENBENCH_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const bool paired = step / 2 * 2 + 1 < kSteps;
      const int first = paired ? step / 2 * 32 + t * 8 + step % 2 * 4 : step * 16 + t * 4;
      for (int word = 0; word < 4; ++word) {
        const int row = g + 8 * (word % 2), c = first + 2 * (word / 2);
        if (row >= rows.num_rows) {
          operands[step][lane].words[word] = 0;
          continue;
        }
        const float* q = rows.q + row * rows.q_stride;
        const QueryMargin margin = margins[word % 2][lane];
        operands[step][lane].words[word] =
            query_column(q, rows.head_size, margin, c) | query_column(q, rows.head_size, margin, c + 1) << 16;
      }
    }
  });
}

// Bit 4 n + i of a lane: its key 8 n + 2 t + i % 2 of the tile may have weight in its row of half i / 2.
template <class Warp, int kSteps>
LENBENCH_LANE_CODE void screen_tile(const ScreenedRows& rows, const ScreenState<Warp>& state, std::int32_t base,
                                    bool edge, const typename Warp::template Lanes<ProductA> (&operands)[kSteps],
                                    typename Warp::template Lanes<std::uint32_t>& live) {
  Warp::each([&](int lane) { live[lane] = 0; });
  LENBENCH_UNROLL
  for (int n = 0; n < kScreenKeys / 8; ++n) {
    typename Warp::template Lanes<ProductC> bounds;
    typename Warp::template Lanes<ProductB> columns[kSteps];
    Warp::each([&](int lane) {
      const std::int64_t wanted = base + 8 * n + lane / 4;
      const std::int64_t key = wanted < rows.keys ? wanted : rows.keys - 1;
      const std::uint32_t* words = rows.columns + key * (kSteps * 8);
      LENBENCH_UNROLL
      for (int step = 0; step + 1 < kSteps; step += 2) {
        const FourWords four = Warp::load_four(words + step * 8 + lane % 4 * 4);
        columns[step][lane] = {{four.words[0], four.words[1]}};
        columns[step + 1][lane] = {{four.words[2], four.words[3]}};
      }
      if (kSteps % 2 == 1) {
        const std::uint32_t* last = words + (kSteps - 1) * 8 + lane % 4 * 2;
        columns[kSteps - 1][lane] = {{last[0], last[1]}};
      }
    });
    LENBENCH_UNROLL
    for (int step = 0; step < kSteps; ++step) Warp::multiply(bounds, operands[step], columns[step]);
    Warp::each([&](int lane) {
      LENBENCH_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int half = i / 2;
        const std::int32_t distance = state.visible[half][lane] - 1 - (base + 8 * n + 2 * (lane % 4) + i % 2);
        float bound = bounds[lane].values[i];
        if (rows.slope > 0) bound -= slope_below(rows.slope) * static_cast<float>(distance);
        if (bound > state.threshold[half][lane] && (!edge || distance >= 0)) live[lane] |= 1U << (4 * n + i);
      }
    });
  }
}

template <class Warp>
LENBENCH_LANE_CODE void keep_live(const ScreenedRows& rows, ScreenState<Warp>& state, std::int32_t base,
                                  const typename Warp::template Lanes<std::uint32_t>& live) {
  for (std::uint32_t slots = Warp::any_bits(live); slots != 0; slots &= slots - 1) {
    const int slot = Warp::lowest_bit(slots), n = slot / 4, column = slot % 2;
    typename Warp::template Lanes<bool> alive;
    Warp::each([&](int lane) { alive[lane] = (live[lane] >> slot & 1U) != 0; });
    const std::uint32_t mask = Warp::ballot(alive);
    const auto append = [&](int half) {
      Warp::each([&](int lane) {
        const int t = lane % 4;
        const std::uint32_t mine = mask >> (lane / 4 * 4) & 15U;
        if (alive[lane]) {
          const std::int64_t list = static_cast<std::int64_t>(half * 8 + lane / 4) * rows.capacity;
          const std::int32_t at = state.kept[half][lane] + Warp::count_bits(mine & ((1U << t) - 1));
          rows.list_keys[list + at] = base + 8 * n + 2 * t + column;
        }
        state.kept[half][lane] += Warp::count_bits(mine);
      });
    };
    if (slot % 4 / 2 == 0)
      append(0);
    else
      append(1);
    Warp::count(rows.counters ? &rows.counters->kept_keys : nullptr,
                static_cast<unsigned long long>(Warp::count_bits(mask)));
  }
}

// Requires kSteps to hold head_size (screen_steps).
template <class Warp, int kSteps>
LENBENCH_LANE_CODE void screened_rows(const ScreenedRows& rows) {
  ScreenState<Warp> state;
  typename Warp::template Lanes<ProductA> operands[kSteps];
  load_queries<Warp, kSteps>(rows, state, operands);
  typename Warp::template Lanes<std::int32_t> lengths, shortest;
  Warp::each([&](int lane) {
    const std::int32_t a = state.visible[0][lane], b = state.visible[1][lane];
    lengths[lane] = a > b ? a : b;
    // Rows that take no part have an infinite threshold, which no bound exceeds.
    const std::int32_t none = INT32_MAX, shorter_a = a > 0 ? a : none, shorter_b = b > 0 ? b : none;
    shortest[lane] = -(shorter_a < shorter_b ? shorter_a : shorter_b);
  });
  const std::int32_t longest = Warp::max(lengths), all_see = -Warp::max(shortest);
  const std::int32_t tiles = (longest + kScreenKeys - 1) / kScreenKeys;
  for (std::int32_t visit = 0; visit < tiles; ++visit) {
    // The newest keys first, then the first ones (where sinks are), then backwards: both tend to raise the threshold.
    const std::int32_t backwards = rows.slope > 0 || visit == 0 ? tiles - 1 - visit : visit == 1 ? 0 : tiles - visit;
    const std::int32_t base = (rows.forwards ? visit : backwards) * kScreenKeys;
    typename Warp::template Lanes<std::uint32_t> live;
    screen_tile<Warp, kSteps>(rows, state, base, base + kScreenKeys > all_see, operands, live);
    Warp::count(rows.counters ? &rows.counters->bounded_pairs : nullptr, kScreenRows * kScreenKeys);
    keep_live(rows, state, base, live);
    for_rows<Warp>(
        [&](int half, int lane) {
          const std::int32_t fresh = state.kept[half][lane] - state.scored[half][lane];
          return fresh > 0 && (state.scored[half][lane] == 0 || fresh >= kWarpLanes + state.scored[half][lane] / 2 ||
                               state.kept[half][lane] > rows.capacity - kScreenKeys);
        },
        [&](int half, int g) {
          set_progress(state, half, g, settle_row<Warp>(rows, half * 8 + g, progress_of(state, half, g)));
        });
    for_rows<Warp>([&](int half, int lane) { return state.kept[half][lane] > rows.capacity - kScreenKeys; },
                   [&](int half, int g) {
                     leave_to_dense(rows, state, half, g);
                     set_row<Warp, std::int32_t>(state.kept[half], g, 0);
                     set_row<Warp, std::int32_t>(state.scored[half], g, 0);
                   });
    if (rows.slope > 0 && !rows.forwards) {
      // Every earlier key is at least this far away: when none can reach its row's threshold, the window ends here.
      typename Warp::template Lanes<bool> reaches;
      Warp::each([&](int lane) {
        reaches[lane] = false;
        for (int half = 0; half < 2; ++half) {
          const std::int32_t distance = state.visible[half][lane] - base;
          const float bound = state.reach[half][lane] - slope_below(rows.slope) * static_cast<float>(distance);
          if (bound > state.threshold[half][lane]) reaches[lane] = true;
        }
      });
      if (Warp::ballot(reaches) == 0) break;
    }
  }
  for_rows<Warp>([&](int half, int lane) { return state.visible[half][lane] > 0; },
                 [&](int half, int g) { finish_screened_row<Warp>(rows, half * 8 + g, progress_of(state, half, g)); });
}

}  // namespace lenbench::kernels
