// What each warp of a backward call does: pointers of one row, one key or one head out of a whole problem. The launches
// (gradient.cu) and the simulation of tests run these items; all rows come before the keys and the heads.
#pragma once

#include "kernels/attention_kernels.h"
#include "kernels/cuda/attention_items.h"
#include "kernels/cuda/gradient_rows.h"

namespace lenbench::kernels {

// One call. All pointers are of the memory that the items run in.
struct GradientCall {
  Problem<float> problem;
  View<const float> dout;
  const double* states = nullptr;                           // [batches, heads, rows, 3], of the forward call
  Gradients<float> to;                                      // views without data and null pointers are not wanted
  double* deltas = nullptr;                                 // [batches, heads, rows] scratch
  double *slope_shares = nullptr, *alpha_shares = nullptr;  // likewise; null where dslopes, dalphas are
};

// Items: as place_of has them, of rows.
template <class Warp>
LENBENCH_LANE_CODE void query_gradient_item(const GradientCall& call, std::int64_t item) {
  const Problem<float>& problem = call.problem;
  const auto [r, b, h, g] = place_of(problem, item, problem.rows);
  const std::int64_t at = (b * problem.heads + h) * problem.rows + r;
  GradientRow row{};
  row.q = head_of(problem.q, b, h) + r * problem.q.token_stride;
  row.k = head_of(problem.k, b, g);
  row.v = head_of(problem.v, b, g);
  row.dout = head_of(call.dout, b, h) + r * call.dout.token_stride;
  row.k_stride = problem.k.token_stride;
  row.v_stride = problem.v.token_stride;
  row.visible = problem.visible[b * problem.visible_batch_stride + r];
  row.head_size = problem.head_size;
  row.alpha = static_cast<double>(problem.alphas[h]);
  row.slope = slope_of(problem, h);
  row.state = call.states + 3 * at;
  const View<float>& dq = call.to.dq;
  if (dq.data) row.dq = dq.data + b * dq.batch_stride + h * dq.head_stride + r * dq.token_stride;
  row.delta = call.deltas + at;
  if (call.slope_shares) row.dslope = call.slope_shares + at;
  if (call.alpha_shares) row.dalpha = call.alpha_shares + at;
  query_gradient<Warp>(row);
}

// Items: batches * kv_heads * keys, the first keys of all heads first: most rows see them.
template <class Warp>
LENBENCH_LANE_CODE void key_gradient_item(const GradientCall& call, std::int64_t item) {
  const Problem<float>& problem = call.problem;
  const std::int64_t groups = problem.batches * problem.kv_heads, j = item / groups;
  const std::int64_t b = item % groups / problem.kv_heads, g = item % problem.kv_heads;
  const std::int64_t heads_per_group = problem.heads / problem.kv_heads, h = g * heads_per_group;
  const std::int64_t at = (b * problem.heads + h) * problem.rows;
  GradientKey key{};
  key.q = head_of(problem.q, b, h);
  key.k = head_of(problem.k, b, g) + j * problem.k.token_stride;
  key.v = head_of(problem.v, b, g) + j * problem.v.token_stride;
  key.dout = head_of(call.dout, b, h);
  key.q_head_stride = problem.q.head_stride;
  key.q_stride = problem.q.token_stride;
  key.dout_head_stride = call.dout.head_stride;
  key.dout_stride = call.dout.token_stride;
  key.rows = problem.rows;
  key.head_size = problem.head_size;
  key.key = j;
  key.heads = static_cast<int>(heads_per_group);
  key.visible = problem.visible + b * problem.visible_batch_stride;
  key.alphas = problem.alphas + h;
  key.slopes = problem.slopes ? problem.slopes + h : nullptr;
  key.state = call.states + 3 * at;
  key.delta = call.deltas + at;
  const View<float>&dk = call.to.dk, &dv = call.to.dv;
  if (dk.data) key.dk = dk.data + b * dk.batch_stride + g * dk.head_stride + j * dk.token_stride;
  if (dv.data) key.dv = dv.data + b * dv.batch_stride + g * dv.head_stride + j * dv.token_stride;
  key_gradient<Warp>(key);
}

// Items: heads.
template <class Warp>
LENBENCH_LANE_CODE void share_item(const GradientCall& call, std::int64_t h) {
  const Problem<float>& problem = call.problem;
  const std::int64_t first = h * problem.rows, stride = problem.heads * problem.rows;
  if (call.slope_shares)
    sum_shares<Warp>(call.slope_shares + first, problem.batches, stride, problem.rows, call.to.dslopes + h);
  if (call.alpha_shares)
    sum_shares<Warp>(call.alpha_shares + first, problem.batches, stride, problem.rows, call.to.dalphas + h);
}

}  // namespace lenbench::kernels
