// The parts of the CUDA path that are plain ATen, on the CPU: the division of softmax heads and the source mass.
#include "attention/cuda.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "attention/streaming.h"
#include "attention_testing.h"
#include "base/error.h"

namespace lenbench {
namespace {

using testing::largest_difference;

AttendRequest request_of(std::int64_t heads, std::int64_t groups, std::vector<double> slopes, double alpha = 1) {
  AttendRequest request;
  request.q_BHQD = testing::random_normal({2, heads, 9, 4}, 1, at::kFloat) * 2.0;
  request.k_BGKD = testing::random_normal({2, groups, 9, 4}, 2, at::kFloat);
  request.v_BGKD = testing::random_normal({2, groups, 9, 4}, 3, at::kFloat);
  request.positions_BQ = testing::position_range(9);
  request.slopes = std::move(slopes);
  if (alpha > 1) request.normalizer.kind = Normalizer::Kind::kEntmax;
  request.normalizer.alpha = alpha;
  return request;
}

// Stands in for the kernels: the same heads down the CPU's path.
at::Tensor on_cpu(const KernelInputs& part) {
  AttendRequest request;
  request.q_BHQD = part.q_BHQD;
  request.k_BGKD = part.k_BGKD;
  request.v_BGKD = part.v_BGKD;
  request.positions_BQ = part.visible_BQ - 1;
  request.score_scale = 1;
  for (std::int64_t h = 0; h < part.slopes_H.size(0); ++h) {
    request.slopes.push_back(static_cast<double>(testing::element(part.slopes_H, {h})));
  }
  return attend(request);
}

TEST(CudaPath, SoftmaxHeadsAreDividedByBias) {
  const struct {
    std::int64_t heads, groups;
    std::vector<double> slopes;
    std::int64_t rest;  // heads that are left to the kernels
  } cases[] = {{4, 4, {}, 0},           {4, 2, {}, 0},           {4, 4, {0.5, 0, 0.25, 0}, 2},
               {4, 4, {1, 1, 1, 1}, 4}, {4, 2, {0, 0, 1, 0}, 4}, {4, 2, {0, 0, 0, 0}, 0}};
  for (const auto& [heads, groups, slopes, left] : cases) {
    const AttendRequest request = request_of(heads, groups, slopes);
    std::int64_t rest = 0;
    const at::Tensor out = softmax_by_parts(kernel_inputs(request), slopes, [&](const KernelInputs& part) {
      rest = part.q_BHQD.size(1);
      return on_cpu(part);
    });
    EXPECT_EQ(rest, left);
    EXPECT_LT(largest_difference(out, testing::oracle_attend(request).out_BHQD), 2e-6) << heads << " " << groups;
  }
}

TEST(CudaPath, RowsThatAreNotCausalPrefixesAreLeftToTheKernels) {
  AttendRequest request = request_of(4, 4, {});
  request.positions_BQ = testing::ints({0, 1, 2, 3, 4, 5, 6, 7, -1}).unsqueeze(0);
  std::int64_t rest = 0;
  softmax_by_parts(kernel_inputs(request), {}, [&](const KernelInputs& part) {
    rest = part.q_BHQD.size(1);
    return on_cpu(part);
  });
  EXPECT_EQ(rest, 4);
}

TEST(CudaPath, SourceMassIsThatOfTheCpu) {
  for (const double alpha : {1.0, 1.3, 1.5, 2.0}) {
    AttendRequest request = request_of(4, 2, {0.5, 0, 0.1, 0}, alpha);
    request.source_keys_BQ = testing::spread_sources(request);
    std::vector<HeadStats> stats(4);
    RowStatistics rows;
    request.stats = &stats;
    request.rows = &rows;
    request.path = AttentionPath::kStreaming;
    attend(request);
    const KernelInputs inputs = kernel_inputs(request);
    // The largest score of each row, by hand.
    const at::Tensor top_score = at::empty(rows.top.sizes(), at::TensorOptions().dtype(at::kFloat));
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t h = 0; h < 4; ++h) {
        for (std::int64_t r = 0; r < 9; ++r) {
          double best = -1e30;
          for (std::int64_t j = 0; j <= r; ++j) {
            double score = -request.slopes[static_cast<std::size_t>(h)] * static_cast<double>(r - j);
            for (std::int64_t c = 0; c < 4; ++c) {
              score +=
                  testing::element(inputs.q_BHQD, {b, h, r, c}) * testing::element(inputs.k_BGKD, {b, h / 2, j, c});
            }
            best = std::max(best, score);
          }
          top_score[b][h][r] = best;
        }
      }
    }
    const at::Tensor mass = source_mass(inputs, rows.top, top_score, request.source_keys_BQ);
    EXPECT_GT(mass.max().item<double>(), 0.1);
    EXPECT_LT(largest_difference(mass, rows.source), 1e-6) << alpha;
  }
}

TEST(CudaPath, Bfloat16ComputesInFloat32) {
  AttendRequest request = request_of(4, 2, {0.5, 0, 0.1, 0}, 1.5);
  AttendRequest rounded = request;
  for (at::Tensor* tensor : {&rounded.q_BHQD, &rounded.k_BGKD, &rounded.v_BGKD}) *tensor = tensor->to(at::kBFloat16);
  for (at::Tensor* tensor : {&request.q_BHQD, &request.k_BGKD, &request.v_BGKD}) {
    *tensor = tensor->to(at::kBFloat16).to(at::kFloat);
  }
  const at::Tensor out = attend(rounded);
  EXPECT_EQ(out.scalar_type(), at::kBFloat16);
  EXPECT_EQ(largest_difference(out, attend(request).to(at::kBFloat16)), 0);
}

}  // namespace
}  // namespace lenbench
