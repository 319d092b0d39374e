// Laws of the streaming forward: every shortcut and thread count gives the same result; entropies of random rows.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string_view>

#include "expect_same.h"
#include "heads.h"

namespace lenbench::kernels {
namespace {

class StreamingLaws : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(All, StreamingLaws, testing::Values(1.0, 1.3, 1.5, 2.0));

TEST_P(StreamingLaws, ThreadsChangeNoBit) {
  TestProblem<float> one(500, 16, GetParam(), 2, 2, 4, 2, 2);
  one.slopes = {1, 0, 0.1f, 0};
  TestProblem<float> two = one, five = one;
  two.threads = 2, five.threads = 5;
  one.stream(), two.stream(), five.stream();
  expect_same_results(one, two);
  expect_same_results(one, five);
}

TEST_P(StreamingLaws, WindowsChangeNoBit) {
  for (const float slope : {1.0f, 0.25f, 0.06f}) {
    TestProblem<float> all(1500, 16, GetParam(), 3, 2);
    all.slopes = {slope};
    TestProblem<float> windowed = all;
    StreamingOptions options;
    options.windows = false;
    const StreamingCounters full = all.stream(options), fewer = windowed.stream();
    expect_same_results(all, windowed);
    EXPECT_LE(fewer.scored_pairs, full.scored_pairs);
    if (slope == 1) {
      EXPECT_LT(fewer.scored_pairs, full.scored_pairs / 4);
    }
  }
}

TEST_P(StreamingLaws, VisitOrderChangesNoBit) {
  TestProblem<float> ordered(1800, 16, GetParam(), 4, 2, 2);
  ordered.slopes = {0, 0.02f};
  TestProblem<float> shuffled = ordered;
  ordered.stream();
  for (const std::uint32_t seed : {1u, 12345u, 987654321u}) {
    StreamingOptions options;
    options.visit_seed = seed;
    shuffled.stream(options);
    expect_same_results(ordered, shuffled);
  }
}

TEST_P(StreamingLaws, RowsDependOnTheirPrefixAlone) {
  TestProblem<float> whole(1100, 16, GetParam(), 5, 2);
  whole.stream();
  for (const std::int64_t length : {1, 77, 512, 1001}) {
    TestProblem<float> prefix = whole;
    prefix.rows = prefix.keys = length;
    prefix.stream();
    for (std::int64_t r = 0; r < length; ++r) {
      EXPECT_EQ(std::memcmp(prefix.out_row(0, 0, r), whole.out_row(0, 0, r), 16 * sizeof(float)), 0) << r;
      EXPECT_EQ(prefix.entropy[static_cast<std::size_t>(r)], whole.entropy[static_cast<std::size_t>(r)]);
      EXPECT_EQ(prefix.support[static_cast<std::size_t>(r)], whole.support[static_cast<std::size_t>(r)]);
    }
  }
}

// Between peaked and flat, with rows of both kinds in one tile: the choice of path belongs to the row.
TEST_P(StreamingLaws, DiffuseRowsMatchTheSparsePathAndChooseByThemselves) {
  TestProblem<float> dense(1300, 16, GetParam(), 12, 1);
  for (std::size_t r = 0; r < 1300; ++r) {
    const float scale = r % 5 == 0 ? 6.0F : r % 3 == 0 ? 0.0F : 0.1F;
    for (std::size_t c = 0; c < 16; ++c) dense.q[r * 16 + c] *= scale;
  }
  TestProblem<float> sparse = dense, alone = dense;
  const StreamingCounters counters = dense.stream();
  StreamingOptions options;
  options.dense = false;
  const StreamingCounters all_pushed = sparse.stream(options);
  if (GetParam() > 1) {
    EXPECT_LT(counters.pushed_scores, all_pushed.pushed_scores / 2);
  }
  const float largest = static_cast<float>(largest_magnitude({dense.v.begin(), dense.v.end()}));
  for (std::int64_t r = 0; r < 1300; ++r) {
    const auto at = static_cast<std::size_t>(r);
    for (int c = 0; c < 16; ++c) {
      EXPECT_NEAR(dense.out_row(0, 0, r)[c], sparse.out_row(0, 0, r)[c], 4e-6F * largest) << r;
    }
    EXPECT_NEAR(dense.entropy[at], sparse.entropy[at], 1e-5F * std::max(1.0F, sparse.entropy[at])) << r;
    EXPECT_NEAR(dense.top[at], sparse.top[at], 2e-6F) << r;
    EXPECT_NEAR(dense.sink[at], sparse.sink[at], 2e-6F) << r;
    EXPECT_NEAR(dense.support[at], sparse.support[at], 2) << r;
  }
  // The same rows in tiles of other neighbours: two of every three are left out.
  alone.rows = 0;
  alone.q.clear();
  alone.visible.clear();
  for (std::size_t r = 2; r < 1300; r += 3, ++alone.rows) {
    alone.q.insert(alone.q.end(), dense.q.begin() + static_cast<std::ptrdiff_t>(r * 16),
                   dense.q.begin() + static_cast<std::ptrdiff_t>(r * 16 + 16));
    alone.visible.push_back(static_cast<std::int64_t>(r) + 1);
  }
  alone.stream();
  for (std::int64_t i = 0; i < alone.rows; ++i) {
    EXPECT_EQ(std::memcmp(alone.out_row(0, 0, i), dense.out_row(0, 0, 3 * i + 2), 16 * sizeof(float)), 0) << i;
  }
}

TEST_P(StreamingLaws, DuplicateKeysMatchThePlainPath) {
  TestProblem<float> plain(800, 16, GetParam(), 6, 3, 2, 1);
  plain.slopes = {0, 0.5f};
  std::mt19937_64 bits(8);
  for (std::int64_t j = 0; j < 800; ++j) {
    const auto from = static_cast<std::ptrdiff_t>(bits() % 37 * 16), to = static_cast<std::ptrdiff_t>(j * 16);
    if (j < 40) continue;
    std::copy_n(plain.k.begin() + from, 16, plain.k.begin() + to);
    std::copy_n(plain.v.begin() + from, 16, plain.v.begin() + to);
  }
  TestProblem<float> distinct = plain;
  StreamingOptions options;
  options.duplicates = false;
  const StreamingCounters full = plain.stream(options), fewer = distinct.stream();
  EXPECT_EQ(full.duplicate_heads, 0);
  EXPECT_EQ(fewer.duplicate_heads, 1);  // the head with a slope tells positions apart
  EXPECT_EQ(fewer.distinct_keys, 40);
  EXPECT_LT(fewer.scored_pairs, full.scored_pairs);
  for (std::size_t i = 0; i < plain.out.size(); ++i) ASSERT_NEAR(plain.out[i], distinct.out[i], 3e-5);
  for (std::size_t i = 0; i < plain.entropy.size(); ++i) {
    ASSERT_NEAR(plain.entropy[i], distinct.entropy[i], 5e-5);
    ASSERT_NEAR(plain.sink[i], distinct.sink[i], 1e-5);
    ASSERT_NEAR(plain.top[i], distinct.top[i], 1e-5);
    ASSERT_EQ(plain.support[i], distinct.support[i]);
  }
}

TEST_P(StreamingLaws, KeysOutOfReachChangeNoBit) {
  if (GetParam() == 1) return;  // softmax gives weight to every key
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TestProblem<float> test(1, 4, GetParam(), seed, 2);
    const std::vector<double> keys = normals(200 * 4, 31 + seed);
    test.k.assign(keys.begin(), keys.end());
    test.v.assign(keys.rbegin(), keys.rend());
    test.keys = 200;
    test.visible = {200};
    TestProblem<float> more = test;
    // Keys that point away from the query score below every threshold.
    for (int j = 0; j < 100; ++j)
      for (std::size_t c = 0; c < 4; ++c) {
        more.k.push_back(-40 * test.q[c] - 0.1f * static_cast<float>(j) * test.q[c]);
        more.v.push_back(1e6f);
      }
    more.keys = 300;
    more.visible = {300};
    StreamingOptions collected;
    collected.dense = false;
    test.stream(collected);
    more.stream(collected);
    expect_same_results(test, more);
    // Where each chooses its path, the two may be weighed in other ways.
    test.stream();
    more.stream();
    for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(test.out[c], more.out[c], 1e-5) << seed;
    EXPECT_NEAR(test.entropy[0], more.entropy[0], 1e-5) << seed;
    EXPECT_EQ(test.support[0], more.support[0]) << seed;
  }
}

TEST_P(StreamingLaws, ScreeningChangesNoBit) {
  if (GetParam() == 1) return;  // softmax gives weight to every key
  for (const std::int64_t size : {3, 16, 32, 70, 130}) {
    for (const double scale : {0.3, 4.0, 40.0}) {
      TestProblem<float> plain(1700, size, GetParam(), 21, scale, 2, 1);
      // Channels of very different sizes, as trained heads have them, make for coarse codes.
      for (std::size_t i = 0; i < plain.k.size(); i += static_cast<std::size_t>(size)) plain.k[i] *= 25;
      plain.slopes = {0, 0.01F};
      TestProblem<float> screened = plain;
      StreamingOptions options;
      options.screen = false;
      plain.stream(options);
      const StreamingCounters counters = screened.stream();
      expect_same_results(plain, screened);
      if (std::string_view(kernel_variant()) != "baseline") {
        EXPECT_GT(counters.screened_pairs, 0);
      }
      TestProblem<float> certified = screened;
      options = {};
      options.certify = true;
      const StreamingCounters certificate = certified.stream(options);
      expect_same_results(plain, certified);
      EXPECT_GE(certificate.least_margin, 0);
      if (scale == 40 && counters.screened_pairs > 0) {
        EXPECT_GT(certificate.certified_pairs, 0);
      }
    }
  }
}

// Lanes of a tile without a row, and rows that see nothing, must not let every key through for the others.
TEST(Streaming, LanesWithoutARowScreenAsWell) {
  const auto scored = [](std::int64_t rows, std::int64_t masked) {
    TestProblem<float> test(4096, 16, 1.5, 3, 4.0);
    test.rows = rows;
    test.out.resize(static_cast<std::size_t>(rows * 16));
    test.visible.assign(static_cast<std::size_t>(rows), 4096);
    for (std::int64_t i = 0; i < masked; ++i) test.visible[static_cast<std::size_t>(5 + 20 * i)] = 0;
    return static_cast<double>(test.stream().scored_pairs) / static_cast<double>((rows - masked) * 4096);
  };
  const double full = scored(64, 0);
  for (const std::int64_t rows : {33, 36, 48, 63}) EXPECT_LT(scored(rows, 0), 1.2 * full) << rows;
  EXPECT_LT(scored(64, 3), 1.2 * full);
}

TEST(Streaming, ADenseRowsBitsAreItsOwn) {
  for (const std::int64_t keys : {300, 2000}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      for (const double scale : {0.1, 0.3, 0.5}) {
        constexpr std::size_t kRows = 64, kSize = 8;
        TestProblem<float> together(keys, kSize, 1.5, seed, scale);
        // Scores on a lattice cross a threshold many at a time, which the search does not expect.
        for (float& value : together.k) value = std::round(value * 2) / 2;
        for (float& value : together.q) value = std::round(value * 50) / 50;
        together.rows = kRows;
        together.visible.assign(kRows, keys);
        StreamingOptions options;
        options.duplicates = false;
        together.stream(options);
        TestProblem<float> alone = together;
        alone.rows = 1;
        for (std::size_t r = 0; r < kRows; ++r) {
          std::copy_n(together.q.begin() + static_cast<std::ptrdiff_t>(r * kSize), kSize, alone.q.begin());
          alone.stream(options);
          for (std::size_t c = 0; c < kSize; ++c)
            ASSERT_EQ(alone.out[c], together.out[r * kSize + c]) << keys << " " << seed << " " << scale << " row " << r;
          ASSERT_EQ(alone.entropy[0], together.entropy[r]);
          ASSERT_EQ(alone.support[0], together.support[r]);
        }
      }
    }
  }
}

// Means of paper.md section 5: iid N(0, 1) scores, entropy divided by ln n.
TEST(StreamingEntropy, MatchesThePaperOnRandomScores) {
  struct Case {
    double alpha;
    std::int64_t keys;
    double expected;
  };
  for (const Case& one : {Case{1, 64, .885}, Case{1, 1024, .928}, Case{1.5, 64, .370}, Case{1.5, 1024, .294}}) {
    constexpr std::int64_t kRows = 1000;
    double sum = 0, square = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      TestProblem<float> test(1, 1, one.alpha);
      const std::vector<double> scores =
          normals(static_cast<std::size_t>(one.keys), 1000 + static_cast<std::uint64_t>(r));
      test.q = {1};
      test.k.assign(scores.begin(), scores.end());
      test.v = test.k;
      test.keys = one.keys;
      test.visible = {one.keys};
      test.stream();
      const double normalized = test.entropy[0] / std::log(static_cast<double>(one.keys));
      sum += normalized;
      square += normalized * normalized;
    }
    const double mean = sum / kRows, error = std::sqrt((square / kRows - mean * mean) / kRows);
    // The published figure is itself a mean over many rows, rounded to three digits.
    EXPECT_NEAR(mean, one.expected, 3 * error * std::sqrt(2.0) + 5e-4) << one.alpha << " " << one.keys;
  }
}

TEST(StreamingCounters, PushesStayNearTheSupport) {
  TestProblem<float> test(4096, 16, 1.5, 3, 4);
  const StreamingCounters counters = test.stream();
  EXPECT_LT(counters.pushed_scores, 4096 * 400);
  EXPECT_LT(counters.scored_pairs, 4096 * 4097 / 2 * 5 / 4);
}

}  // namespace
}  // namespace lenbench::kernels
