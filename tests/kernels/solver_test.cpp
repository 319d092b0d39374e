// The one-row solver against bisection, and the properties of thresholds.
#include "kernels/solver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "heads.h"

namespace lenbench::kernels {
namespace {

const std::vector<double> kAlphas = {1.02, 1.25, 1.3, 1.5, 1.9, 2};

double shifted_reference(const std::vector<double>& scores, double alpha) {
  const double top = *std::max_element(scores.begin(), scores.end());
  return reference_row(scores, alpha).threshold - (alpha - 1) * top;
}

// Rows that are hard in one way or another.
std::vector<std::vector<double>> hard_rows() {
  std::vector<std::vector<double>> rows = {{3.5}, std::vector<double>(4096, 0.25), {1, 1, 1, -9, -9}, {0, -2}};
  std::vector<double> ladder, spike(2048, 0.0), narrow = normals(3000, 3, 0.005), two_levels(512, 0.5);
  for (int j = 0; j < 60; ++j) ladder.push_back(-std::pow(1.3, j) * 1e-3);
  spike[700] = 5;
  for (std::size_t j = 0; j < 256; ++j) two_levels[j] = 0.501;
  rows.insert(rows.end(), {ladder, spike, narrow, two_levels, normals(1000, 4), normals(1000, 5, 4)});
  return rows;
}

TEST(Solver, MatchesBisection) {
  for (const std::vector<double>& row : hard_rows()) {
    const std::vector<float> narrow(row.begin(), row.end());
    const std::vector<double> wide(narrow.begin(), narrow.end());
    for (const double alpha : kAlphas) {
      const double expected = shifted_reference(wide, alpha);
      const auto n = static_cast<std::int64_t>(row.size());
      EXPECT_NEAR((entmax_threshold<double, double>(wide.data(), n, alpha)).shifted, expected, 1e-13) << alpha;
      EXPECT_NEAR((entmax_threshold<float, double>(narrow.data(), n, alpha)).shifted, expected, 1e-13) << alpha;
      EXPECT_NEAR((entmax_threshold<float, float>(narrow.data(), n, alpha)).shifted, expected, 1e-6) << alpha;
    }
  }
}

TEST(Solver, TiesTakeOneStep) {
  const std::vector<double> equal(65536, -7.0);
  for (const double alpha : {1.5, 2.0}) {
    const Threshold found = entmax_threshold<double, double>(equal.data(), 65536, alpha);
    EXPECT_LE(found.rounds, 2);
    EXPECT_NEAR(found.shifted, -std::pow(65536.0, 1 - alpha), 1e-13);
  }
}

TEST(Solver, LargeOffsetsChangeNothing) {
  const std::vector<double> row = normals(300, 8);
  for (const double offset : {-1e4, 1e4, -1000.0}) {
    std::vector<float> moved;
    for (const double s : row) moved.push_back(static_cast<float>(s + offset));
    std::vector<double> back(moved.begin(), moved.end());
    for (const double alpha : kAlphas) {
      const Threshold found = entmax_threshold<float, float>(moved.data(), 300, alpha);
      EXPECT_NEAR(found.shifted, shifted_reference(back, alpha), 1e-6);
    }
  }
}

TEST(Solver, ThresholdOfASubsetIsALowerBound) {
  std::mt19937_64 bits(11);
  for (int trial = 0; trial < 500; ++trial) {
    const std::vector<double> row = normals(80, 100 + static_cast<std::uint64_t>(trial), 0.2 + trial % 5);
    std::vector<double> subset;
    for (const double s : row)
      if (bits() % 3 == 0) subset.push_back(s);
    if (subset.empty()) continue;
    const double alpha = kAlphas[static_cast<std::size_t>(trial) % kAlphas.size()];
    EXPECT_LE(reference_row(subset, alpha).threshold, reference_row(row, alpha).threshold + 1e-12);
  }
}

TEST(Solver, SparsemaxIsTheProjectionOntoTheSimplex) {
  const std::vector<double> row = normals(40, 21);
  std::vector<double> sorted = row;
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0, threshold = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double candidate = (sum - 1) / static_cast<double>(k + 1);
    if (sorted[k] > candidate) threshold = candidate;
  }
  const Threshold found = entmax_threshold<double, double>(row.data(), 40, 2);
  EXPECT_NEAR(found.shifted + found.top, threshold, 1e-13);
}

}  // namespace
}  // namespace lenbench::kernels
