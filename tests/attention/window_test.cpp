// Sliding windows, capped scores and other scales of scores, over every transform and encoding, on both paths.
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attention/attend.h"
#include "attention_testing.h"
#include "base/error.h"

namespace lenbench {
namespace {

using testing::largest_difference;
using testing::make_layer;

struct Variant {
  std::int64_t window;
  double softcap, score_scale;
};
constexpr Variant kVariants[] = {{7, 0, 0}, {1, 0, 0}, {0, 0.8, 0}, {5, 1.5, 0.3}, {40, 0, 0.2}, {1000, 0, 0}};

AttendRequest request_of(const std::string& transform, const std::string& position, const Variant& variant,
                         at::ScalarType type) {
  AttendRequest request =
      make_layer(transform, position, 3, type, {.batch = 2, .tokens = 40, .heads = 4, .kv_heads = 2}).request();
  request.source_keys_BQ = testing::spread_sources(request);
  request.window = variant.window;
  request.softcap = variant.softcap;
  request.score_scale = variant.score_scale;
  return request;
}

at::Tensor run(AttendRequest request, AttentionPath path) {
  request.path = path;
  return attend(request);
}

TEST(Window, EveryPairAgreesWithTheDefinitionOnEveryPathThatCoversIt) {
  int streamed = 0;
  for (const TransformInfo& transform : transform_catalog()) {
    for (const PositionInfo& position : position_catalog()) {
      for (const Variant& variant : kVariants) {
        for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
          AttendRequest request = request_of(transform.name, position.name, variant, type);
          const testing::OracleResult want = testing::oracle_attend(request);
          const double tolerance = type == at::kFloat ? 2e-5 : 1e-11;
          for (const AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
            if (path == AttentionPath::kStreaming && !uncovered_by_streaming(request).empty()) continue;
            streamed += path == AttentionPath::kStreaming;
            std::vector<HeadStats> stats(4);
            request.stats = &stats;
            const std::string where = transform.name + " " + position.name + " window " +
                                      std::to_string(variant.window) + " cap " + std::to_string(variant.softcap);
            EXPECT_LT(largest_difference(run(request, path), want.out_BHQD), tolerance) << where;
            testing::expect_stats_near(stats, want.stats, 10 * tolerance, where);
          }
        }
      }
    }
  }
  EXPECT_GT(streamed, 50);
}

TEST(Window, WhatNoKernelCoversIsRefusedByNameAndLeftToTheReference) {
  const AttendRequest windowed = request_of("softmax", "rope", {7, 0, 0}, at::kFloat);
  EXPECT_THAT(uncovered_by_streaming(windowed), ::testing::HasSubstr("window"));
  EXPECT_THROW(run(windowed, AttentionPath::kStreaming), Error);
  EXPECT_TRUE(run(windowed, AttentionPath::kAuto).equal(run(windowed, AttentionPath::kReference)));
  const AttendRequest capped = request_of("softmax", "rope", {0, 2, 0}, at::kFloat);
  EXPECT_THAT(uncovered_by_streaming(capped), ::testing::HasSubstr("capped"));
  EXPECT_THROW(run(capped, AttentionPath::kStreaming), Error);
}

TEST(Window, OneAsLongAsTheTextIsNone) {
  for (const AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
    const at::Tensor none = run(request_of("entmax", "nape", {0, 0, 0}, at::kFloat), path);
    EXPECT_TRUE(run(request_of("entmax", "nape", {40, 0, 0}, at::kFloat), path).equal(none));
    EXPECT_FALSE(run(request_of("entmax", "nape", {3, 0, 0}, at::kFloat), AttentionPath::kReference).equal(none));
  }
}

TEST(Window, BlocksOfRowsChangeNothing) {
  AttendRequest request = request_of("softmax", "alibi", {7, 3, 0}, at::kDouble);
  const at::Tensor whole = run(request, AttentionPath::kReference);
  for (const std::int64_t block : {1, 3, 7, 8, 39, 40}) {
    request.query_block = block;
    EXPECT_LT(largest_difference(run(request, AttentionPath::kReference), whole), 1e-14) << block;
  }
}

TEST(Window, RowsApartFromEachOtherAndRowsWithoutKeysAreRight) {
  AttendRequest request = request_of("softmax", "nope", {4, 0, 0}, at::kDouble);
  request.source_keys_BQ = at::Tensor();
  const at::Tensor all = run(request, AttentionPath::kReference);
  request.q_BHQD = request.q_BHQD.index_select(2, testing::ints({39, 0, 12, 5}));
  request.positions_BQ = testing::ints({39, -1, 12, 2}).unsqueeze(0);
  const at::Tensor some = run(request, AttentionPath::kReference);
  EXPECT_LT(largest_difference(some.select(2, 0), all.select(2, 39)), 1e-14);
  EXPECT_LT(largest_difference(some.select(2, 2), all.select(2, 12)), 1e-14);
  EXPECT_EQ(some.select(2, 1).abs().max().item<double>(), 0.0);
}

}  // namespace
}  // namespace lenbench
