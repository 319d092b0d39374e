// What each warp of an attention call does: pointers of one key, one row or 16 rows out of a whole problem. The
// launches (attention.cu) and the simulation of tests run these items in any order.
#pragma once

#include "kernels/attention_kernels.h"
#include "kernels/cuda/dense_row.h"
#include "kernels/cuda/screened_rows.h"

namespace lenbench::kernels {

// One call. All pointers are of the memory that the items run in.
struct AttentionCall {
  Problem<float> problem;
  View<float> out;
  RowStats stats;
  double* states = nullptr;            // [batches, heads, rows, 3], see RowOutput; may be null
  KeySummary* summaries = nullptr;     // [batches, kv_heads], first {0, keys}
  std::uint32_t* columns = nullptr;    // [batches, kv_heads, keys, 8 * steps]
  int steps = 0;                       // screen_steps(head_size); 0: nothing is screened
  std::uint8_t* dense_rows = nullptr;  // [batches, heads, rows]: rows for the dense kernel
  ScreenCounters* counters = nullptr;  // may be null
  int capacity = 0;                    // of a screened row's list
  bool forwards = false;               // see ScreenedRows
};

LENBENCH_LANE_CODE const float* head_of(const View<const float>& view, std::int64_t batch, std::int64_t head) {
  return view.data + batch * view.batch_stride + head * view.head_stride;
}

LENBENCH_LANE_CODE RowOutput row_output(const AttentionCall& call, std::int64_t b, std::int64_t h, std::int64_t r) {
  const std::int64_t at = (b * call.problem.heads + h) * call.problem.rows + r;
  RowOutput to{};
  to.out = call.out.data + b * call.out.batch_stride + h * call.out.head_stride + r * call.out.token_stride;
  if (call.stats.entropy) to.entropy = call.stats.entropy + at;
  if (call.stats.sink) to.sink = call.stats.sink + at;
  if (call.stats.top) to.top = call.stats.top + at;
  if (call.stats.top_score) to.top_score = call.stats.top_score + at;
  if (call.stats.support) to.support = call.stats.support + at;
  if (call.states) to.state = call.states + 3 * at;
  return to;
}

// Items: batches * kv_heads * keys.
template <class Warp>
LENBENCH_LANE_CODE void key_item(const AttentionCall& call, std::int64_t item) {
  const Problem<float>& problem = call.problem;
  const std::int64_t group = item / problem.keys, j = item % problem.keys;
  const std::int64_t b = group / problem.kv_heads, g = group % problem.kv_heads;
  prepare_key<Warp>(head_of(problem.k, b, g) + j * problem.k.token_stride,
                    head_of(problem.v, b, g) + j * problem.v.token_stride, problem.head_size, call.steps,
                    static_cast<std::int32_t>(j), call.columns + item * call.steps * 8, &call.summaries[group]);
}

struct ItemPlace {
  std::int64_t at, b, h, g;  // the row or tile; batch, head, and the head's key/value head
};

// Of an item among batches * heads * `count` rows or tiles, the last ones of all heads first: they are the longest of a
// causal call.
LENBENCH_LANE_CODE ItemPlace place_of(const Problem<float>& problem, std::int64_t item, std::int64_t count) {
  const std::int64_t heads = problem.batches * problem.heads, h = item % problem.heads;
  return {count - 1 - item / heads, item % heads / problem.heads, h, h / (problem.heads / problem.kv_heads)};
}

LENBENCH_LANE_CODE float slope_of(const Problem<float>& problem, std::int64_t h) {
  return problem.slopes ? problem.slopes[h] : 0;
}

// Items: as place_of has them, of rows. `scores`:
// [keys] scratch.
template <class Warp>
LENBENCH_LANE_CODE void dense_item(const AttentionCall& call, std::int64_t item, float* scores) {
  const Problem<float>& problem = call.problem;
  const auto [r, b, h, g] = place_of(problem, item, problem.rows);
  if (call.steps > 0 && call.dense_rows[(b * problem.heads + h) * problem.rows + r] == 0) return;
  const KeySummary& summary = call.summaries[b * problem.kv_heads + g];
  DenseRow row;
  row.q = head_of(problem.q, b, h) + r * problem.q.token_stride;
  row.k = head_of(problem.k, b, g);
  row.v = head_of(problem.v, b, g);
  row.k_stride = problem.k.token_stride;
  row.v_stride = problem.v.token_stride;
  row.visible = problem.visible[b * problem.visible_batch_stride + r];
  row.head_size = problem.head_size;
  row.alpha = static_cast<double>(problem.alphas[h]);
  row.slope = slope_of(problem, h);
  row.key_norm = float_of(static_cast<std::uint32_t>(summary.norm_bits));
  row.first_bad = summary.first_bad;
  row.scores = scores;
  row.to = row_output(call, b, h, r);
  dense_row<Warp>(row);
}

LENBENCH_BIT_CODE std::int64_t screen_tiles_of(std::int64_t rows) { return (rows + kScreenRows - 1) / kScreenRows; }

// Items: as place_of has them, of screen_tiles_of(rows) tiles. Scratch: [17 * capacity] each.
template <class Warp, int kSteps>
LENBENCH_LANE_CODE void screened_item(const AttentionCall& call, std::int64_t item, std::int32_t* list_keys,
                                      float* list_scores) {
  const Problem<float>& problem = call.problem;
  const auto [tile, b, h, g] = place_of(problem, item, screen_tiles_of(problem.rows));
  const std::int64_t first = tile * kScreenRows, group = b * problem.kv_heads + g;
  ScreenedRows rows;
  rows.q = head_of(problem.q, b, h) + first * problem.q.token_stride;
  rows.k = head_of(problem.k, b, g);
  rows.v = head_of(problem.v, b, g);
  rows.q_stride = problem.q.token_stride;
  rows.k_stride = problem.k.token_stride;
  rows.v_stride = problem.v.token_stride;
  rows.head_size = problem.head_size;
  rows.keys = problem.keys;
  rows.num_rows = static_cast<int>(problem.rows - first < kScreenRows ? problem.rows - first : kScreenRows);
  rows.visible = problem.visible + b * problem.visible_batch_stride + first;
  rows.alpha = static_cast<double>(problem.alphas[h]);
  rows.slope = slope_of(problem, h);
  rows.columns = call.columns + group * problem.keys * (kSteps * 8);
  rows.summary = call.summaries[group];
  rows.list_keys = list_keys;
  rows.list_scores = list_scores;
  rows.capacity = call.capacity;
  rows.to = row_output(call, b, h, first);
  rows.out_stride = call.out.token_stride;
  rows.dense = call.dense_rows + (b * problem.heads + h) * problem.rows + first;
  rows.counters = call.counters;
  rows.forwards = call.forwards;
  screened_rows<Warp, kSteps>(rows);
}

}  // namespace lenbench::kernels
