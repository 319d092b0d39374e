// Laws of the attention loop for every transform and position encoding, on both paths.
#include "attention/attend.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "attention_testing.h"
#include "base/error.h"

namespace lenbench {
namespace {

using ::testing::Combine;
using testing::has_kernel;
using testing::largest_difference;
using testing::Layer;
using testing::make_layer;
using testing::paths_of;
using testing::run;
using ::testing::ValuesIn;
using testing::weights_request;

// Float path: scores carry about 1e-6 relative error, weights divide it by the window of entmax.
constexpr double kFloatTolerance = 2e-5;
constexpr double kDoubleTolerance = 1e-11;

std::vector<std::string> transforms() {
  std::vector<std::string> names;
  for (const TransformInfo& info : transform_catalog()) names.push_back(info.name);
  return names;
}
std::vector<std::string> positions() {
  std::vector<std::string> names;
  for (const PositionInfo& info : position_catalog()) names.push_back(info.name);
  return names;
}

double tolerance_of(const AttendRequest& request) {
  return request.q_BHQD.scalar_type() == at::kFloat ? kFloatTolerance : kDoubleTolerance;
}

// Most tensors here are too small for threads to help.
class OneThread : public ::testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};
const auto* const kOneThread = ::testing::AddGlobalTestEnvironment(new OneThread);

class EveryPair : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  std::string transform() const { return std::get<0>(GetParam()); }
  std::string position() const { return std::get<1>(GetParam()); }
};

TEST_P(EveryPair, AgreesWithTheDefinitionWithStatistics) {
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttendRequest request =
        make_layer(transform(), position(), 3, type, {.batch = 2, .tokens = 40, .heads = 4, .kv_heads = 2}).request();
    request.source_keys_BQ = testing::spread_sources(request);
    const testing::OracleResult want = testing::oracle_attend(request);
    for (AttentionPath path : paths_of(request)) {
      std::vector<HeadStats> stats(4);
      request.stats = &stats;
      EXPECT_LT(largest_difference(run(request, path), want.out_BHQD), tolerance_of(request));
      testing::expect_stats_near(stats, want.stats, 10 * tolerance_of(request), at::toString(type));
    }
  }
}

TEST_P(EveryPair, RowsSumToOneAndMaskedKeysGetNothing) {
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    const AttendRequest request = weights_request(transform(), position(), type);
    for (AttentionPath path : paths_of(request)) {
      const at::Tensor p = run(request, path);
      EXPECT_LT(largest_difference(p.sum(-1), at::ones_like(p.select(-1, 0))), type == at::kFloat ? 1e-6 : 1e-14);
      EXPECT_GE(p.min().item().toDouble(), 0.0);
      for (std::int64_t i = 0; i < 11; ++i) {
        EXPECT_EQ(p.select(2, i).narrow(-1, i + 1, 11 - i).abs().max().item().toDouble(), 0.0);
      }
    }
  }
}

TEST_P(EveryPair, AConstantAddedToAllScoresChangesNothing) {
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttendRequest request = weights_request(transform(), position(), type);
    // One channel of q is 1 and the same channel of k a constant: every score moves by -1000.
    request.q_BHQD = request.q_BHQD.clone();
    request.k_BGKD = request.k_BGKD.clone();
    request.q_BHQD.select(-1, 11).fill_(1.0);
    request.k_BGKD.select(-1, 11).fill_(0.0);
    AttendRequest moved = request;
    moved.k_BGKD = request.k_BGKD.clone();
    moved.k_BGKD.select(-1, 11).fill_(-1000.0 * std::sqrt(12.0));
    for (AttentionPath path : paths_of(request)) {
      const at::Tensor p = run(moved, path);
      EXPECT_TRUE(p.isfinite().all().item<bool>());
      // A float score of 1000 is known to 6e-5.
      EXPECT_LT(largest_difference(p, run(request, path)), type == at::kFloat ? 1e-3 : 1e-10);
    }
  }
}

TEST_P(EveryPair, ARowThatSeesNothingGivesZeroAndIsNotCounted) {
  Layer layer = make_layer(transform(), position(), 4, at::kFloat, {.tokens = 6});
  AttendRequest request = layer.request();
  request.positions_BQ = testing::ints({-1, 0, 1, -1, 4, 5}).unsqueeze(0);
  for (AttentionPath path : paths_of(request)) {
    std::vector<HeadStats> stats(4);
    request.stats = &stats;
    const at::Tensor out = run(request, path);
    EXPECT_EQ(out.select(2, 0).abs().max().item<float>(), 0.0F);
    EXPECT_EQ(out.select(2, 3).abs().max().item<float>(), 0.0F);
    EXPECT_TRUE(out.isfinite().all().item<bool>());
    for (const HeadStats& head : stats) {
      EXPECT_EQ(head.rows, 2 * 4);
      EXPECT_EQ(head.normalized_rows, 2 * 3);
      EXPECT_TRUE(std::isfinite(head.normalized_entropy));
    }
  }
}

TEST_P(EveryPair, BlockSizeChangesNothing) {
  const AttendRequest request = make_layer(transform(), position(), 5, at::kDouble, {.tokens = 33}).request();
  const at::Tensor whole = run(request, AttentionPath::kReference);
  for (std::int64_t block : {1, 7, 33, 1000}) {
    AttendRequest blocked = request;
    blocked.query_block = block;
    EXPECT_LT(largest_difference(run(blocked, AttentionPath::kReference), whole), 1e-13) << block;
  }
}

TEST_P(EveryPair, GroupedHeadsEqualRepeatedHeads) {
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    const AttendRequest grouped = make_layer(transform(), position(), 6, type).request();
    AttendRequest repeated = grouped;
    repeated.k_BGKD = grouped.k_BGKD.repeat_interleave(2, 1);
    repeated.v_BGKD = grouped.v_BGKD.repeat_interleave(2, 1);
    for (AttentionPath path : paths_of(grouped)) {
      EXPECT_LT(largest_difference(run(grouped, path), run(repeated, path)), type == at::kFloat ? 1e-6 : 1e-14);
    }
  }
}

// Decoding and gathered answer rows: a row is its prefix, however many rows are asked for (bugs.md E8).
TEST_P(EveryPair, SomeRowsEqualTheSameRowsOfTheWhole) {
  const AttendRequest whole =
      make_layer(transform(), position(), 7, at::kFloat, {.tokens = 130, .heads = 2, .kv_heads = 1}).request();
  for (const std::vector<std::int64_t>& rows :
       {std::vector<std::int64_t>{129}, {0}, {64}, {59, 60, 61, 62, 63}, {3, 127, 128}}) {
    AttendRequest part = whole;
    part.positions_BQ = testing::ints(rows).unsqueeze(0);
    part.q_BHQD = whole.q_BHQD.index_select(2, testing::ints(rows));
    for (AttentionPath path : paths_of(whole)) {
      const at::Tensor want = run(whole, path).index_select(2, testing::ints(rows));
      EXPECT_LT(largest_difference(run(part, path), want), 5e-6);
      part.k_BGKD = whole.k_BGKD.narrow(2, 0, rows.back() + 1);
      part.v_BGKD = whole.v_BGKD.narrow(2, 0, rows.back() + 1);
      EXPECT_LT(largest_difference(run(part, path), want), 5e-6);
      part.k_BGKD = whole.k_BGKD;
      part.v_BGKD = whole.v_BGKD;
    }
  }
}

TEST_P(EveryPair, StreamingAgreesWithReferenceOnLongRows) {
  AttendRequest request =
      make_layer(transform(), position(), 8, at::kFloat, {.batch = 1, .tokens = 3000, .heads = 4, .head_size = 8})
          .request();
  if (!has_kernel(request)) GTEST_SKIP() << uncovered_by_streaming(request);
  const at::Tensor rows = testing::ints({0, 1, 2, 63, 64, 500, 1999, 2000, 2998, 2999});
  request.q_BHQD = request.q_BHQD.index_select(2, rows);
  request.positions_BQ = rows.unsqueeze(0);
  request.source_keys_BQ = testing::spread_sources(request);
  std::vector<HeadStats> reference(4), streaming(4);
  request.stats = &reference;
  const at::Tensor want = run(request, AttentionPath::kReference);
  request.stats = &streaming;
  EXPECT_LT(largest_difference(run(request, AttentionPath::kStreaming), want), 5e-5);
  for (std::size_t h = 0; h < 4; ++h) reference[h].support = streaming[h].support;
  testing::expect_stats_near(streaming, reference, 2e-4, "long rows");
}

TEST_P(EveryPair, AutomaticPathTakesTheKernelWhereItCan) {
  const AttendRequest request = make_layer(transform(), position(), 9, at::kFloat).request();
  const AttentionPath path = has_kernel(request) ? AttentionPath::kStreaming : AttentionPath::kReference;
  EXPECT_EQ(largest_difference(run(request, AttentionPath::kAuto), run(request, path)), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Laws, EveryPair, Combine(ValuesIn(transforms()), ValuesIn(positions())), [](const auto& test) {
  std::string name = std::get<0>(test.param) + "_" + std::get<1>(test.param);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

// Scores z on one row: q is a unit vector, k carries z sqrt(D), v are unit vectors.
at::Tensor weights_of_scores(const std::vector<double>& z, double alpha, at::ScalarType type, AttentionPath path) {
  const auto n = static_cast<std::int64_t>(z.size());
  AttendRequest request;
  request.q_BHQD = at::zeros({1, 1, 1, n}, at::TensorOptions(type));
  request.q_BHQD.select(-1, 0).fill_(1.0);
  request.k_BGKD = at::zeros({1, 1, n, n}, at::TensorOptions(type));
  request.k_BGKD.select(-1, 0).copy_(testing::doubles(z) * std::sqrt(static_cast<double>(n)));
  request.v_BGKD = at::eye(n, at::TensorOptions(type)).expand({1, 1, n, n});
  request.positions_BQ = testing::ints({n - 1}).unsqueeze(0);
  request.normalizer.kind = Normalizer::Kind::kEntmax;
  request.normalizer.alpha = alpha;
  request.path = path;
  return attend(request).reshape({n});
}

TEST(Entmax, GoldenValues) {
  const std::vector<double> three = {-2, 0, 0.5}, seven = {1, .9, .5, 0, -.5, -1, -3};
  const struct {
    std::vector<double> z;
    double alpha;
    std::vector<double> p;
  } cases[] = {
      {three, 1.5, {0, 0.326007, 0.673993}},
      {three, 2.0, {0, 0.25, 0.75}},
      {three, 4.0 / 3.0, {0.000043, 0.345367, 0.654590}},
      {seven, 1.5, {.435098, .371636, .167788, .025478, 0, 0, 0}},
      {seven, 2.0, {.533333, .433333, .033333, 0, 0, 0, 0}},
      {seven, 4.0 / 3.0, {.395628, .344146, .182714, .064374, .012831, .000307, 0}},
  };
  for (const auto& golden : cases) {
    const at::Tensor want = testing::doubles(golden.p);
    EXPECT_LT(
        largest_difference(weights_of_scores(golden.z, golden.alpha, at::kDouble, AttentionPath::kReference), want),
        6e-7);
    for (AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
      EXPECT_LT(largest_difference(weights_of_scores(golden.z, golden.alpha, at::kFloat, path), want), 1e-6);
    }
  }
}

TEST(Entmax, OneScoreAgainstZeros) {
  for (AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
    for (const auto& [n, p] : {std::pair{64, 0.360867}, std::pair{1024, 0.277286}}) {
      std::vector<double> z(static_cast<std::size_t>(n), 0.0);
      z[3] = 1;
      EXPECT_NEAR(testing::element(weights_of_scores(z, 1.5, at::kFloat, path), {3}), p, 1e-6);
      z[3] = 2;
      EXPECT_NEAR(testing::element(weights_of_scores(z, 1.5, at::kFloat, path), {3}), 1.0, 1e-6);
    }
  }
}

// An ALiBi head of slope m gives exactly nothing beyond (score range + 1/(alpha-1)) / m (paper, proposition 6).
TEST(Entmax, BiasedHeadsAreHardWindows) {
  AttendRequest request = weights_request("entmax", "nape", at::kFloat);
  request.q_BHQD = request.q_BHQD * 0.1;
  for (AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
    const at::Tensor p = run(request, path).select(1, 0);
    for (std::int64_t i = 6; i < 12; ++i) {
      EXPECT_EQ(p.select(1, i).narrow(-1, 0, i - 5).abs().max().item<float>(), 0.0F) << i;
    }
  }
}

TEST(AdaptiveTemperature, RowsWithoutSharpeningKeepTheirBits) {
  AttendRequest request = make_layer("softmax", "nape", 12, at::kFloat, {.tokens = 50}).request();
  request.q_BHQD = request.q_BHQD * 4.0;
  const at::Tensor plain = run(request, AttentionPath::kStreaming);
  request.normalizer.adaptive = true;
  const at::Tensor adapted = run(request, AttentionPath::kStreaming);
  const at::Tensor same = adapted.eq(plain).all(-1);
  // Row 0 has one key and no entropy; some row is always sharpened.
  EXPECT_TRUE(same.select(2, 0).all().item<bool>());
  EXPECT_GT(same.sum().item<std::int64_t>(), 20);
  EXPECT_FALSE(same.all().item<bool>());
}

TEST(Attend, RowMaskSelectsTheCountedRows) {
  AttendRequest request = make_layer("entmax", "nope", 13, at::kFloat, {.batch = 1, .tokens = 6}).request();
  AttendRequest only = request;
  only.q_BHQD = request.q_BHQD.narrow(2, 4, 1);
  only.positions_BQ = request.positions_BQ.narrow(1, 4, 1);
  for (AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
    std::vector<HeadStats> masked(4), alone(4);
    request.probe_rows_BQ = testing::ints({0, 0, 0, 0, 1, 0}).unsqueeze(0).to(at::kBool);
    request.stats = &masked;
    only.stats = &alone;
    run(request, path);
    run(only, path);
    testing::expect_stats_near(masked, alone, 1e-12, "one row");
    EXPECT_EQ(masked[0].rows, 1);
    run(request, path);
    EXPECT_EQ(masked[0].rows, 2) << "statistics add up over calls";
  }
}

TEST(Attend, NotANumberIsNotSilent) {
  for (const char* name : {"softmax", "entmax", "topk"}) {
    AttendRequest request = make_layer(name, "nope", 14, at::kFloat, {.batch = 1, .tokens = 6}).request();
    request.q_BHQD = request.q_BHQD.clone();
    request.q_BHQD.select(2, 3).fill_(std::nanf(""));
    for (AttentionPath path : paths_of(request)) {
      const at::Tensor out = run(request, path);
      EXPECT_TRUE(out.select(2, 3).isnan().all().item<bool>()) << name;
      EXPECT_TRUE(out.narrow(2, 0, 3).isfinite().all().item<bool>()) << name;
      EXPECT_TRUE(out.narrow(2, 4, 2).isfinite().all().item<bool>()) << name;
    }
  }
}

TEST(Attend, ThreadsChangeNothing) {
  const int threads = at::get_num_threads();
  for (const char* name : {"softmax", "asentmax", "topk", "adaptive-temperature"}) {
    const AttendRequest request = make_layer(name, "nape", 5, at::kFloat, {.tokens = 300}).request();
    for (AttentionPath path : paths_of(request)) {
      at::set_num_threads(1);
      const at::Tensor one = run(request, path);
      at::set_num_threads(2);
      const at::Tensor two = run(request, path);
      // The kernels promise the same bits; ATen's products do not.
      EXPECT_LE(largest_difference(one, two), path == AttentionPath::kReference ? 1e-6 : 0.0) << name;
    }
  }
  at::set_num_threads(threads);
}

TEST(Attend, AnyStrideIsReadRight) {
  AttendRequest request = make_layer("entmax", "nape", 15, at::kFloat, {.tokens = 9}).request();
  for (AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
    const at::Tensor want = run(request, path);
    AttendRequest strided = request;
    strided.q_BHQD = request.q_BHQD.transpose(1, 2).contiguous().transpose(1, 2);
    strided.k_BGKD = request.k_BGKD.transpose(2, 3).contiguous().transpose(2, 3);
    strided.v_BGKD = request.v_BGKD.transpose(0, 2).contiguous().transpose(0, 2);
    EXPECT_LT(largest_difference(run(strided, path), want), 1e-6);
  }
}

TEST(Attend, RefusesWhatTheKernelsDoNotCover) {
  AttendRequest topk = make_layer("topk", "nope", 16, at::kFloat).request();
  topk.q_BHQD = topk.q_BHQD.detach().requires_grad_();
  EXPECT_THROW(run(topk, AttentionPath::kStreaming), Error);
  const AttendRequest wide = make_layer("softmax", "nope", 16, at::kDouble).request();
  EXPECT_THROW(run(wide, AttentionPath::kStreaming), Error);
  AttendRequest beyond = make_layer("softmax", "nope", 16, at::kFloat).request();
  beyond.positions_BQ = beyond.positions_BQ + 1;
  EXPECT_THROW(run(beyond, AttentionPath::kAuto), std::invalid_argument);
}

}  // namespace
}  // namespace lenbench
