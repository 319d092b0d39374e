// An independent, scalar, double-precision attention for the tests, and helpers around tensors.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention/attend.h"
#include "attention/position.h"
#include "attention/transform.h"

namespace lenbench::testing {

// Weights of one row of visible scores, by definition: sums and bisection in double, nothing shared with the library.
std::vector<double> oracle_weights(const Normalizer& normalizer, double alpha, const std::vector<double>& scores);

struct OracleResult {
  at::Tensor out_BHQD;           // double
  std::vector<HeadStats> stats;  // [H], all rows
};
OracleResult oracle_attend(const AttendRequest& request);

// Source keys for a request: its own key, an earlier one, or none, by turns. [B, Q].
at::Tensor spread_sources(const AttendRequest& request);

at::Tensor random_normal(const std::vector<std::int64_t>& shape, std::uint64_t seed, at::ScalarType type = at::kDouble);
at::Tensor position_range(std::int64_t count);  // int64 [1, count]: 0, 1, ...
at::Tensor ints(const std::vector<std::int64_t>& values);
at::Tensor doubles(const std::vector<double>& values);
double largest_difference(const at::Tensor& a, const at::Tensor& b);
double element(const at::Tensor& x, const std::vector<std::int64_t>& index);
void expect_stats_near(const std::vector<HeadStats>& got, const std::vector<HeadStats>& want, double tolerance,
                       const std::string& where);

// One attention layer from its named parts: rotation, scale, attend, as a model calls them.
struct Layer {
  std::unique_ptr<const PositionEncoding> position;
  std::unique_ptr<AttentionTransform> transform;
  TransformWeights weights;
  at::Tensor hidden_BTE, q_BHTD, k_BGKD, v_BGKD;
  AttendRequest request() const;  // q rotated and scaled; positions 0..T-1
  std::vector<std::pair<std::string, at::Tensor*>> leaves();
};
struct LayerSizes {
  std::int64_t batch = 2, tokens = 7, heads = 4, kv_heads = 2, head_size = 4, hidden = 6;
};
// Random inputs; parameters are their initial values plus noise, so that none sits at a special point.
Layer make_layer(const std::string& transform, const std::string& position, std::uint64_t seed,
                 at::ScalarType type = at::kDouble, const LayerSizes& sizes = {});

bool has_kernel(const AttendRequest& request);
// The paths that cover the request.
std::vector<AttentionPath> paths_of(const AttendRequest& request);
at::Tensor run(AttendRequest request, AttentionPath path);

// Weights instead of mixed values: the values are the unit vectors, which needs as many channels as keys. 2 samples of
// 12 tokens, 4 heads over 2 of keys.
AttendRequest weights_request(const std::string& transform, const std::string& position, at::ScalarType type);

}  // namespace lenbench::testing
