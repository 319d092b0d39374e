// The double-precision reference against golden values and its own finite differences.
#include "kernels/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heads.h"

namespace lenbench::kernels {
namespace {

void expect_row(const std::vector<double>& scores, double alpha, const std::vector<double>& expected) {
  const ReferenceRow row = reference_row(scores, alpha);
  for (std::size_t j = 0; j < expected.size(); ++j) EXPECT_NEAR(row.p[j], expected[j], 6e-7) << alpha << " " << j;
}

TEST(Reference, GoldenRowsOfThePaper) {
  expect_row({-2, 0, 0.5}, 1.5, {0, 0.326007, 0.673993});
  expect_row({-2, 0, 0.5}, 2, {0, 0.25, 0.75});
  expect_row({-2, 0, 0.5}, 4.0 / 3, {0.000043, 0.345367, 0.654590});
  EXPECT_NEAR(reference_row(std::vector<double>{-2, 0, 0.5}, 1.5).threshold, -0.570971, 6e-7);
  const std::vector<double> seven = {1, .9, .5, 0, -.5, -1, -3};
  expect_row(seven, 1.5, {.435098, .371636, .167788, .025478, 0, 0, 0});
  expect_row(seven, 2, {.533333, .433333, .033333, 0, 0, 0, 0});
  expect_row(seven, 4.0 / 3, {.395628, .344146, .182714, .064374, .012831, .000307, 0});
  EXPECT_NEAR(reference_row(seven, 1.5).threshold, -0.159619, 6e-7);
}

TEST(Reference, OneHighScoreAmongZeros) {
  for (const auto& [n, expected] : {std::pair<std::size_t, double>{64, .360867}, {1024, .277286}, {65536, .253387}}) {
    std::vector<double> scores(n, 0.0);
    scores[0] = 1;
    EXPECT_NEAR(reference_row(scores, 1.5).p[0], expected, 6e-7);
    scores[0] = 2;
    EXPECT_EQ(reference_row(scores, 1.5).p[0], 1);
    EXPECT_EQ(reference_row(scores, 1.5).support, 1);
  }
}

TEST(Reference, MaskedAndBrokenRows) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ReferenceRow masked = reference_row(std::vector<double>{-infinity, -infinity}, 1.5);
  EXPECT_EQ(masked.p, (std::vector<double>{0, 0}));
  EXPECT_EQ(masked.entropy, 0);
  EXPECT_EQ(reference_row(std::vector<double>{}, 1).support, 0);
  EXPECT_TRUE(std::isnan(reference_row(std::vector<double>{0, NAN}, 1.5).p[0]));
  EXPECT_TRUE(std::isnan(reference_row(std::vector<double>{0, infinity}, 1).entropy));
  const ReferenceRow half = reference_row(std::vector<double>{-infinity, 3, 3}, 1);
  EXPECT_EQ(half.p[0], 0);
  EXPECT_NEAR(half.p[1], 0.5, 1e-15);
  EXPECT_EQ(half.support, 2);
}

TEST(Reference, RowGradientsMatchFiniteDifferences) {
  const std::vector<double> scores = normals(9, 5, 0.7), dp = normals(9, 6);
  const auto loss = [&](const std::vector<double>& s, double alpha) {
    const ReferenceRow row = reference_row(s, alpha);
    double sum = 0;
    for (std::size_t j = 0; j < s.size(); ++j) sum += dp[j] * row.p[j];
    return sum;
  };
  for (const double alpha : {1.0, 1.02, 1.3, 1.5, 1.9}) {
    const ReferenceRowGradient gradient = reference_row_gradient(scores, alpha, dp);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      std::vector<double> up = scores, down = scores;
      up[j] += 1e-6, down[j] -= 1e-6;
      EXPECT_NEAR(gradient.ds[j], (loss(up, alpha) - loss(down, alpha)) / 2e-6, 2e-8) << alpha;
    }
    if (alpha > 1)
      EXPECT_NEAR(gradient.dalpha, (loss(scores, alpha + 1e-5) - loss(scores, alpha - 1e-5)) / 2e-5, 1e-7) << alpha;
    else  // the limit, from above
      EXPECT_NEAR(gradient.dalpha, (loss(scores, 1.001) - loss(scores, 1.0)) / 1e-3, 1e-3);
  }
}

}  // namespace
}  // namespace lenbench::kernels
