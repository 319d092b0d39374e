// Checks a request and sends it down its path.
#include "attention/attend.h"

#include <ATen/ops/clamp_max.h>
#include <ATen/ops/le.h>

#include <cmath>
#include <stdexcept>

#include "attention/cuda.h"
#include "attention/reference.h"
#include "attention/row_stats.h"
#include "attention/streaming.h"
#include "base/error.h"

namespace lenbench {
namespace {

void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(std::string("attend: ") + what);
}

void check(const AttendRequest& request) {
  const at::Tensor& q = request.q_BHQD;
  const at::Tensor& k = request.k_BGKD;
  const at::Tensor& v = request.v_BGKD;
  const at::Tensor& positions = request.positions_BQ;
  require(q.defined() && q.dim() == 4 && k.defined() && k.dim() == 4 && v.defined(), "q, k, v need four dimensions");
  require(v.sizes() == k.sizes(), "k and v must have the same shape");
  require(k.size(0) == q.size(0) && k.size(3) == q.size(3) && q.size(3) >= 1, "q and k differ in batch or head size");
  require(k.size(1) >= 1 && q.size(1) % k.size(1) == 0, "query heads must be a multiple of key/value heads");
  require(q.scalar_type() == k.scalar_type() && q.scalar_type() == v.scalar_type(), "q, k, v differ in type");
  require(q.scalar_type() == at::kFloat || q.scalar_type() == at::kDouble, "q must be float or double");
  require(positions.defined() && positions.dim() == 2 && positions.scalar_type() == at::kLong &&
              (positions.size(0) == q.size(0) || positions.size(0) == 1) && positions.size(1) == q.size(2),
          "positions must be int64 [B or 1, Q]");
  require(positions.numel() == 0 ||
              (positions.min().item<std::int64_t>() >= -1 && positions.max().item<std::int64_t>() < k.size(2)),
          "positions must be in -1 .. keys - 1");
  const auto heads = static_cast<std::size_t>(q.size(1));
  require(request.slopes.empty() || request.slopes.size() == heads, "slopes must have one entry per head");
  require(!request.stats || request.stats->size() == heads, "stats must have one entry per head");
  require(!request.rows || request.stats, "rows are reported with stats only");
  const at::Tensor& sources = request.source_keys_BQ;
  require(!sources.defined() || (sources.dim() == 2 && sources.scalar_type() == at::kLong &&
                                 sources.size(0) == q.size(0) && sources.size(1) == q.size(2)),
          "source keys must be int64 [B, Q]");
  require(!sources.defined() || sources.numel() == 0 || at::le(sources, positions).all().item<bool>(),
          "a source key must be visible to its row");
  require(std::isfinite(request.score_scale) && request.score_scale >= 0 && std::isfinite(request.softcap) &&
              request.softcap >= 0 && request.window >= 0,
          "score scale, softcap and window must be at least 0");
  require(request.normalizer.kind != Normalizer::Kind::kTopK || request.normalizer.topk >= 1, "top-k needs a k of 1");
  const at::Tensor& alpha = request.normalizer.alpha_minus_one_H;
  require(!alpha.defined() || (alpha.dim() == 1 && alpha.size(0) == q.size(1)), "alpha must have one entry per head");
}

}  // namespace

at::Tensor visible_positions(const at::Tensor& positions_BQ, std::int64_t window) {
  return window > 0 ? at::clamp_max(positions_BQ, window - 1) : positions_BQ;
}

double score_scale(const AttendRequest& request) {
  return request.score_scale > 0 ? request.score_scale : 1.0 / std::sqrt(static_cast<double>(request.q_BHQD.size(3)));
}

std::string uncovered_by_streaming(const AttendRequest& request) {
  const bool on_cuda = request.q_BHQD.is_cuda();
  if (!on_cuda && !request.q_BHQD.is_cpu()) return "the tensors are neither on the CPU nor on a CUDA device";
  if (request.softcap > 0) return "capped scores have no kernel";
  if (request.window > 0 && request.window < request.k_BGKD.size(2)) return "sliding windows have no kernel";
  if (on_cuda) return uncovered_by_cuda(request);
  if (!wants_gradient(request)) {
    return request.q_BHQD.scalar_type() == at::kFloat ? "" : "inference in another type than float32";
  }
  if (request.normalizer.kind == Normalizer::Kind::kTopK) return "top-k with gradients has no kernel";
  if (request.normalizer.adaptive) return "adaptive temperature with gradients has no kernel";
  if (request.stats && request.q_BHQD.scalar_type() != at::kFloat) return "statistics in another type than float32";
  if (request.q_BHQD.size(2) > kMaxTrainingRows || request.k_BGKD.size(2) > kMaxTrainingRows) {
    return "gradients over more than " + std::to_string(kMaxTrainingRows) + " tokens";
  }
  return "";
}

void report_rows(const AttendRequest& request, const RowStatistics& rows) {
  if (request.stats) {
    add_statistics(rows, visible_positions(request.positions_BQ, request.window), request.probe_rows_BQ,
                   request.source_keys_BQ, *request.stats);
  }
  if (request.rows) *request.rows = rows;
}

at::Tensor attend(const AttendRequest& request) {
  if (request.q_BHQD.scalar_type() == at::kBFloat16) {
    AttendRequest wide = request;
    for (at::Tensor* tensor : {&wide.q_BHQD, &wide.k_BGKD, &wide.v_BGKD}) *tensor = tensor->to(at::kFloat);
    return attend(wide).to(at::kBFloat16);
  }
  check(request);
  if (request.path != AttentionPath::kReference) {
    const std::string reason = uncovered_by_streaming(request);
    if (reason.empty()) return attend_streaming(request);
    if (request.path == AttentionPath::kStreaming) {
      throw Error("the streaming attention path cannot be used: " + reason + "; use the reference path");
    }
  }
  const ReferenceResult result = attend_reference(request, request.stats != nullptr);
  report_rows(request, result.rows);
  return result.out_BHQD;
}

}  // namespace lenbench
