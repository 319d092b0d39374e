// The gated activation against double precision, at every length of the remainder.
#include "kernels/gated_gelu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heads.h"

namespace lenbench::kernels {
namespace {

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  const double step = 1e-5;
  return (gelu(x + step) - gelu(x - step)) / (2 * step);
}

std::vector<float> floats(std::size_t count, std::uint64_t seed, double scale) {
  const std::vector<double> values = normals(count, seed, scale);
  return {values.begin(), values.end()};
}

TEST(GatedGelu, MatchesDoublePrecision) {
  for (std::size_t count = 0; count < 40; ++count) {
    const std::vector<float> gate = floats(count, 1 + count, 3), up = floats(count, 100 + count, 1),
                             given = floats(count, 200 + count, 1);
    std::vector<float> out(count + 1, -7), d_gate(count + 1, -7), d_up(count + 1, -7);
    const auto size = static_cast<std::int64_t>(count);
    gated_gelu(gate.data(), up.data(), out.data(), size);
    gated_gelu_backward(gate.data(), up.data(), given.data(), d_gate.data(), d_up.data(), size);
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(gate[i]), u = static_cast<double>(up[i]), g = static_cast<double>(given[i]);
      EXPECT_NEAR(out[i], gelu(x) * u, 1e-6 * std::abs(gelu(x) * u) + 1e-7);
      EXPECT_NEAR(d_up[i], g * gelu(x), 1e-6 * std::abs(g * gelu(x)) + 1e-7);
      EXPECT_NEAR(d_gate[i], g * u * gelu_slope(x), 2e-6 * std::abs(g * u) + 1e-7);
    }
    EXPECT_EQ(out[count], -7);
    EXPECT_EQ(d_gate[count], -7);
    EXPECT_EQ(d_up[count], -7);
  }
}

TEST(GatedGelu, LargeAndBrokenInputs) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> gate = {1e4F, -1e4F, 0, -30, 30, std::nanf(""), infinity, 12}, up(8, 2), given(8, 1);
  std::vector<float> out(8), d_gate(8), d_up(8);
  gated_gelu(gate.data(), up.data(), out.data(), 8);
  gated_gelu_backward(gate.data(), up.data(), given.data(), d_gate.data(), d_up.data(), 8);
  EXPECT_EQ(out[0], 2e4F);
  EXPECT_NEAR(out[1], 0, 1e-30);
  EXPECT_EQ(out[2], 0);
  EXPECT_NEAR(out[3], 0, 1e-30);
  EXPECT_EQ(out[4], 60);
  EXPECT_TRUE(std::isnan(out[5]));
  EXPECT_NEAR(d_gate[0], 2, 1e-6);
  EXPECT_NEAR(d_gate[1], 0, 1e-25);
  EXPECT_EQ(d_gate[2], 1);
  EXPECT_NEAR(d_gate[4], 2, 1e-6);
  EXPECT_TRUE(std::isnan(d_gate[5]));
}

// Which vector an element sits in changes nothing.
TEST(GatedGelu, AnElementDependsOnItselfAlone) {
  const std::vector<float> gate = floats(67, 3, 2), up = floats(67, 4, 1);
  std::vector<float> whole(67), one(1);
  gated_gelu(gate.data(), up.data(), whole.data(), 67);
  for (std::size_t i = 0; i < 67; ++i) {
    gated_gelu(&gate[i], &up[i], one.data(), 1);
    EXPECT_EQ(one[0], whole[i]) << i;
  }
}

}  // namespace
}  // namespace lenbench::kernels
