// The one attention loop: scores, bias, normalizer, weighted values, statistics, on the path that the caller names.
// Letters: B rows of a batch, H query heads, G key/value heads (H % G == 0), Q queries, K keys, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attention/row_stats.h"
#include "attention/transform.h"
#include "bench/predictor.h"

namespace lenbench {

enum class AttentionPath {
  kAuto,       // streaming where it covers the request, else reference
  kReference,  // readable ATen in query blocks: any device, fp32 and fp64, differentiable
  kStreaming,  // kernels room: fp32 on the CPU and on CUDA; refused where not covered (uncovered_by_streaming)
};

struct AttendRequest {
  at::Tensor q_BHQD;           // rotated and length-scaled; attend applies score_scale. bfloat16 computes in float32
  at::Tensor k_BGKD, v_BGKD;   // rotated keys, values; keys stand at positions 0..K-1
  at::Tensor positions_BQ;     // int64 [B, Q] or [1, Q]: row sees keys 0..position; -1: sees none; must be < K
  std::vector<double> slopes;  // [H] (PositionEncoding::slopes()); empty: no bias
  double score_scale = 0;      // of q . k; 0: 1/sqrt(D)
  double softcap = 0;          // > 0: a score s becomes softcap tanh(s / softcap), before bias and mask
  std::int64_t window = 0;     // > 0: a row sees its last `window` visible keys only, its own included
  Normalizer normalizer;
  AttentionPath path = AttentionPath::kAuto;
  std::int64_t query_block = 0;             // reference path: rows at a time; 0: chosen so that memory stays O(K)
  at::Tensor probe_rows_BQ;                 // bool [B, Q]: rows counted in `stats`; undefined: all
  at::Tensor source_keys_BQ;                // int64 [B, Q]: the key whose weight is the row's source mass; -1: none
  std::vector<HeadStats>* stats = nullptr;  // [H], added to; rows without a visible key are never counted
  RowStatistics* rows = nullptr;            // receives the statistics of every row; needs `stats`
};

// Returns [B, H, Q, D]. Weights of a row sum to 1, masked keys get exactly 0, a row without visible keys gives 0.
// Differentiable in q, k, v and alpha_minus_one_H when one of them requires a gradient and grad mode is on.
// Throws Error when kStreaming is asked for but does not cover the request; std::invalid_argument for shapes.
at::Tensor attend(const AttendRequest& request);

// Positions such that position + 1 is the number of visible keys, with a window taken into account.
at::Tensor visible_positions(const at::Tensor& positions_BQ, std::int64_t window);

// request.score_scale, resolved.
double score_scale(const AttendRequest& request);

// Empty if the streaming path covers the request, else the reason.
std::string uncovered_by_streaming(const AttendRequest& request);

}  // namespace lenbench
