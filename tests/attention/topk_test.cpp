// Top-k on both paths, and what the reference path keeps of its rows.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "attention/attend.h"
#include "attention_testing.h"

namespace lenbench {
namespace {

using testing::make_layer;
using testing::paths_of;
using testing::run;
using testing::weights_request;

TEST(TopK, FewerKeysThanKTakesAll) {
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttendRequest request = weights_request("topk", "nope", type);
    request.normalizer.topk = 4;
    for (AttentionPath path : paths_of(request)) {
      const at::Tensor p = run(request, path);
      for (std::int64_t i = 0; i < 12; ++i) {
        EXPECT_EQ(p.select(2, i).gt(0).sum(-1).max().item<std::int64_t>(), std::min<std::int64_t>(4, i + 1));
        EXPECT_EQ(p.select(2, i).gt(0).sum(-1).min().item<std::int64_t>(), std::min<std::int64_t>(4, i + 1));
      }
    }
  }
}

TEST(TopK, TiesGoToTheLowerKey) {
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttendRequest request = weights_request("topk", "nope", type);
    request.normalizer.topk = 3;
    request.q_BHQD = at::zeros({2, 4, 12, 12}, request.q_BHQD.options());
    for (AttentionPath path : paths_of(request)) {
      const at::Tensor p = run(request, path).select(2, 11);
      EXPECT_NEAR(testing::element(p, {0, 0, 2}), 1.0 / 3, type == at::kFloat ? 1e-7 : 1e-15);
      EXPECT_EQ(p.narrow(-1, 3, 9).abs().max().item().toDouble(), 0.0);
    }
  }
}

// A source among the K gets its weight, one outside exactly 0, whichever path looks.
TEST(TopK, SourcesOutsideTheKWeighNothing) {
  AttendRequest request =
      make_layer("topk", "nope", 17, at::kFloat, {.batch = 2, .tokens = 90, .heads = 4, .kv_heads = 2}).request();
  request.normalizer.topk = 5;
  request.source_keys_BQ = testing::spread_sources(request);
  std::vector<HeadStats> reference(4), streaming(4);
  RowStatistics rows;
  request.stats = &reference;
  run(request, AttentionPath::kReference);
  request.stats = &streaming;
  request.rows = &rows;
  run(request, AttentionPath::kStreaming);
  testing::expect_stats_near(streaming, reference, 1e-5, "sources");
  EXPECT_GT(rows.source.eq(0).sum().item<std::int64_t>(), 100);
  EXPECT_GT(rows.source.gt(0).sum().item<std::int64_t>(), 20);
}

// Blocks of weights are not kept alive by what is reported of their rows.
TEST(Reference, StatisticsHoldNoWeights) {
  AttendRequest request = make_layer("softmax", "nope", 18, at::kFloat, {.batch = 1, .tokens = 30}).request();
  std::vector<HeadStats> stats(4);
  RowStatistics rows;
  request.stats = &stats;
  request.rows = &rows;
  request.query_block = 30;  // one block, which nothing joins with others
  request.source_keys_BQ = testing::spread_sources(request);
  run(request, AttentionPath::kReference);
  for (const auto field : kRowStatistics) {
    const at::Tensor& values = rows.*field;
    EXPECT_EQ(values.storage().nbytes(), static_cast<std::size_t>(values.numel()) * values.element_size());
  }
}

}  // namespace
}  // namespace lenbench
