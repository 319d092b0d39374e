// Position encodings: slopes, rotation, precision at long range, and who gets the length scale.
#include "attention/position.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "attention_testing.h"
#include "base/error.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PositionSpec spec_of(const std::string& name, std::int64_t heads, std::int64_t head_dim = 8) {
  PositionSpec spec;
  spec.name = name;
  spec.num_heads = heads;
  spec.head_dim = head_dim;
  return spec;
}

std::string message_of(const PositionSpec& spec) {
  try {
    make_position(spec);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Alibi, PowerOfTwoHeadsHaveGeometricSlopes) {
  EXPECT_THAT(make_position(spec_of("alibi", 8))->slopes(),
              ElementsAre(0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625));
}

TEST(Alibi, TwelveHeadsTakeEverySecondSlopeOfSixteen) {
  const std::vector<double> slopes = make_position(spec_of("alibi", 12))->slopes();
  ASSERT_EQ(slopes.size(), 12U);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(slopes[static_cast<std::size_t>(h)], std::exp2(-(h + 1)));
  EXPECT_DOUBLE_EQ(slopes[8], std::exp2(-0.5));
  EXPECT_DOUBLE_EQ(slopes[9], std::exp2(-1.5));
  EXPECT_DOUBLE_EQ(slopes[10], std::exp2(-2.5));
  EXPECT_DOUBLE_EQ(slopes[11], std::exp2(-3.5));
}

TEST(Alibi, OneHead) { EXPECT_THAT(make_position(spec_of("alibi", 1))->slopes(), ElementsAre(std::exp2(-8.0))); }

TEST(Nape, SixteenHeadsHaveEightLinearSlopesThenZeros) {
  const std::vector<double> slopes = make_position(spec_of("nape", 16))->slopes();
  ASSERT_EQ(slopes.size(), 16U);
  for (int h = 0; h < 8; ++h) EXPECT_DOUBLE_EQ(slopes[static_cast<std::size_t>(h)], 1.0 / (h + 1));
  for (std::size_t h = 8; h < 16; ++h) EXPECT_EQ(slopes[h], 0.0);
}

TEST(Nape, ExponentialSlopesStartAtOne) {
  PositionSpec spec = spec_of("nape", 5);
  spec.alibi_slope_type = "exp";
  spec.alibi_num_heads = 4;
  EXPECT_THAT(make_position(spec)->slopes(), ElementsAre(1.0, 0.5, 0.25, 0.125, 0.0));
}

TEST(Position, ScaledHeadsAreThePositionlessOnesUnderNapeOnly) {
  EXPECT_THAT(make_position(spec_of("nape", 5))->scaled_heads(), ElementsAre(2, 3, 4));
  for (const char* name : {"nope", "rope", "alibi"}) {
    EXPECT_THAT(make_position(spec_of(name, 3))->scaled_heads(), ElementsAre(0, 1, 2)) << name;
  }
  PositionSpec all_biased = spec_of("nape", 2);
  all_biased.alibi_num_heads = 2;
  EXPECT_TRUE(make_position(all_biased)->scaled_heads().empty());
}

TEST(Position, HeadsSayWhetherTheyCarryPosition) {
  EXPECT_THAT(make_position(spec_of("nape", 4))->head_has_position(), ElementsAre(true, true, false, false));
  EXPECT_THAT(make_position(spec_of("nope", 2))->head_has_position(), ElementsAre(false, false));
  EXPECT_THAT(make_position(spec_of("rope", 2))->head_has_position(), ElementsAre(true, true));
  EXPECT_THAT(make_position(spec_of("alibi", 2))->head_has_position(), ElementsAre(true, true));
}

TEST(Position, OnlyRopeRotates) {
  const at::Tensor x = testing::random_normal({1, 2, 4, 8}, 1);
  for (const PositionInfo& info : position_catalog()) {
    const at::Tensor rotated = make_position(spec_of(info.name, 2))->rotate(x, testing::position_range(4));
    EXPECT_EQ(rotated.is_same(x), info.name != "rope") << info.name;
  }
}

TEST(Rope, PairsChannelsHalfASizeApart) {
  const at::Tensor x = testing::random_normal({1, 1, 1, 6}, 2);
  const at::Tensor rotated = make_position(spec_of("rope", 1, 6))->rotate(x, testing::ints({{5}}).unsqueeze(0));
  for (std::int64_t c = 0; c < 3; ++c) {
    const double angle = 5.0 * std::pow(10000.0, -2.0 * static_cast<double>(c) / 6.0);
    const double first = testing::element(x, {0, 0, 0, c}), second = testing::element(x, {0, 0, 0, c + 3});
    EXPECT_NEAR(testing::element(rotated, {0, 0, 0, c}), first * std::cos(angle) - second * std::sin(angle), 1e-14);
    EXPECT_NEAR(testing::element(rotated, {0, 0, 0, c + 3}), second * std::cos(angle) + first * std::sin(angle), 1e-14);
  }
}

TEST(Rope, ProductsDependOnTheDistanceAlone) {
  const auto rope = make_position(spec_of("rope", 1));
  const at::Tensor q = testing::random_normal({1, 1, 1, 8}, 3), k = testing::random_normal({1, 1, 1, 8}, 4);
  const auto product = [&](std::int64_t i, std::int64_t j) {
    return (rope->rotate(q, testing::ints({i}).unsqueeze(0)) * rope->rotate(k, testing::ints({j}).unsqueeze(0)))
        .sum()
        .item<double>();
  };
  EXPECT_NEAR(product(65535, 65500), product(35, 0), 1e-9);
  EXPECT_GT(std::abs(product(36, 0) - product(35, 0)), 1e-6);
}

// Position indices or angles in a short type merge distant positions (bugs.md E4).
TEST(Rope, FloatAnglesStayDistinctUpTo65535) {
  constexpr std::int64_t kPositions = 65536;
  at::Tensor x = at::zeros({1, 1, 1, 2}, at::TensorOptions(at::kDouble));
  x.fill_(0);
  x.select(-1, 0).fill_(1);
  const auto distinct = [&](at::ScalarType type) {
    const at::Tensor rotated =
        make_position(spec_of("rope", 1, 2))
            ->rotate(x.to(type).expand({1, 1, kPositions, 2}), testing::position_range(kPositions))
            .to(at::kDouble)
            .contiguous();
    std::set<std::pair<double, double>> seen;
    const double* values = rotated.data_ptr<double>();
    for (std::int64_t i = 0; i < kPositions; ++i) seen.emplace(values[2 * i], values[2 * i + 1]);
    EXPECT_NEAR(values[2 * 65535], std::cos(65535.0), 1e-7);
    return seen.size();
  };
  EXPECT_EQ(distinct(at::kDouble), static_cast<std::size_t>(kPositions));
  EXPECT_EQ(distinct(at::kFloat), static_cast<std::size_t>(kPositions));
}

TEST(Rope, ABlockOfPositionsIsTheBlockOfTheWhole) {
  const auto rope = make_position(spec_of("rope", 2));
  const at::Tensor x = testing::random_normal({2, 2, 9, 8}, 5, at::kFloat);
  const at::Tensor whole = rope->rotate(x, testing::position_range(9));
  const at::Tensor part = rope->rotate(x.narrow(2, 4, 3), testing::ints({4, 5, 6}).unsqueeze(0));
  EXPECT_EQ(testing::largest_difference(whole.narrow(2, 4, 3), part), 0.0);
}

TEST(Position, BadSpecsAreNamed) {
  EXPECT_THAT(message_of(spec_of("nap", 2)), HasSubstr("did you mean 'nape'"));
  EXPECT_THAT(message_of(spec_of("rope", 2, 7)), HasSubstr("even"));
  EXPECT_THAT(message_of(spec_of("nope", 0)), HasSubstr("at least 1"));
  PositionSpec base = spec_of("rope", 2);
  base.rope_base = 0;
  EXPECT_THAT(message_of(base), HasSubstr("base"));
  PositionSpec count = spec_of("nape", 2);
  count.alibi_num_heads = 3;
  EXPECT_THAT(message_of(count), HasSubstr("0..2"));
  PositionSpec type = spec_of("nape", 2);
  type.alibi_slope_type = "linaer";
  EXPECT_THAT(message_of(type), HasSubstr("did you mean 'linear'"));
}

}  // namespace
}  // namespace lenbench
