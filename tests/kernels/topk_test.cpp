// Top-k streaming attention: the definition with all its ties, and the laws that every shortcut keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "expect_reference.h"
#include "expect_same.h"
#include "heads.h"

namespace lenbench::kernels {
namespace {

// Queries and keys of small whole numbers: scores are exact in float and repeat a great deal.
TestProblem<float> whole_numbers(std::int64_t rows, std::int64_t size, std::int64_t topk, std::uint64_t seed,
                                 std::int64_t heads = 1, std::int64_t kv_heads = 1, std::int64_t batches = 1) {
  TestProblem<float> made(rows, size, 1, seed, 1, heads, kv_heads, batches);
  const float root = std::sqrt(static_cast<float>(size));
  for (float& q : made.q) q = std::round(2 * root * q);
  for (float& k : made.k) k = std::round(2 * k) / 8;
  made.topk = topk;
  return made;
}

TEST(TopK, IsTheDefinitionWhereScoresTie) {
  for (const std::int64_t topk : {1, 2, 7, 32, 100, 1000}) {
    for (const std::int64_t size : {1, 3, 16, 33}) {
      TestProblem<float> test = whole_numbers(300, size, topk, static_cast<std::uint64_t>(topk + size), 2, 1, 2);
      test.slopes = {0, 0.25F};
      test.stream();
      expect_equals_reference(test);
    }
  }
}

TEST(TopK, LongRowsAreTheDefinition) {
  TestProblem<float> test = whole_numbers(1, 8, 32, 3);
  const std::vector<double> more = normals(20'000 * 8, 77);
  for (auto* to : {&test.k, &test.v}) {
    to->clear();
    for (const double value : more) to->push_back(static_cast<float>(std::round(2 * value) / 8));
  }
  test.keys = 20'000;
  test.visible = {19'990};
  test.stream();
  expect_equals_reference(test);
}

TEST(TopK, AllEqualScoresGoToTheFirstKeys) {
  TestProblem<float> test = whole_numbers(3000, 4, 32, 4);
  std::fill(test.q.begin(), test.q.end(), 0.0F);
  for (std::size_t i = 0; i < test.q.size(); i += 2) test.q[i] = -0.0F;
  test.stream();
  expect_equals_reference(test);
  EXPECT_FLOAT_EQ(test.sink[2999], 1.0F / 32);
}

TEST(TopK, AnyVisibleCounts) {
  TestProblem<float> test = whole_numbers(70, 16, 5, 5);
  for (std::size_t r = 0; r < 70; ++r) test.visible[r] = static_cast<std::int64_t>((r * 37) % 71);
  test.slopes = {0.5F};
  test.stream();
  expect_equals_reference(test);
  test.slopes = {0};
  test.stream();
  expect_equals_reference(test);
}

// Real scores: near ties could go either way, so they are looked for.
TEST(TopK, IsTheDefinitionOnRealScores) {
  for (const double scale : {0.1, 1.0, 10.0}) {
    TestProblem<float> test(900, 16, 1, 6, scale, 2, 1);
    test.topk = 32;
    test.slopes = {0, 0.05F};
    for (std::int64_t h = 0; h < 2; ++h) {
      const ReferenceHead head = test.reference(0, h);
      for (std::int64_t r = 32; r < 900; ++r) {
        std::vector<double> scores = scores_of(head, r);
        std::sort(scores.rbegin(), scores.rend());
        ASSERT_GT(scores[31] - scores[32], 1e-6 * scale) << "choose another seed";
      }
    }
    test.stream();
    expect_equals_reference(test);
  }
}

TEST(TopK, SourcesGetTheirWeight) {
  TestProblem<float> test = whole_numbers(200, 8, 6, 7, 2, 2, 2);
  std::vector<std::int64_t> sources;
  for (std::int64_t i = 0; i < 400; ++i) sources.push_back(i % 5 == 4 ? -1 : (i * 7) % (i % 200 + 1));
  std::vector<float> mass(800, -1);
  RowStats stats = test.stats();
  stats.source = mass.data();
  stats.source_keys = sources.data();
  attend_streaming(test.problem(), test.rows_view(test.out), stats);
  int inside = 0;
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 2; ++h) {
      const ReferenceForward want = reference_forward(test.reference(b, h));
      for (std::int64_t r = 0; r < 200; ++r) {
        const std::int64_t key = sources[static_cast<std::size_t>(b * 200 + r)];
        const double p = key < 0 ? 0 : want.rows[static_cast<std::size_t>(r)].p[static_cast<std::size_t>(key)];
        EXPECT_NEAR(mass[test.row_index(b, h, r)], p, 1e-6);
        inside += p > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(inside, 40);
}

TEST(TopK, ThreadsWindowsScreensAndVisitsChangeNoBit) {
  for (const double scale : {0.3, 4.0, 1e-25}) {
    TestProblem<float> plain(2300, 16, 1, 8, scale, 3, 1);
    plain.topk = 32;
    plain.slopes = {0, 0.3F, 1};
    StreamingOptions options;
    options.windows = options.screen = false;
    TestProblem<float> all = plain, threads = plain, shuffled = plain, certified = plain;
    const StreamingCounters full = plain.stream(options), fewer = all.stream();
    expect_same_results(plain, all);
    EXPECT_LT(fewer.scored_pairs, full.scored_pairs * 2 / 3);
    if (std::string_view(kernel_variant()) != "baseline") {
      EXPECT_GT(fewer.screened_pairs, 0);
    }
    threads.threads = 3;
    threads.stream();
    expect_same_results(plain, threads);
    options = {};
    options.visit_seed = 12345;
    shuffled.stream(options);
    expect_same_results(plain, shuffled);
    options = {};
    options.certify = true;
    const StreamingCounters certificate = certified.stream(options);
    expect_same_results(plain, certified);
    EXPECT_GE(certificate.least_margin, 0);
    EXPECT_GT(certificate.certified_pairs, 0);
  }
}

TEST(TopK, RowsDependOnTheirPrefixAlone) {
  TestProblem<float> whole(1800, 16, 1, 9, 2);
  whole.topk = 20;
  whole.stream();
  for (const std::int64_t length : {1, 19, 20, 21, 512, 1601}) {
    TestProblem<float> prefix = whole;
    prefix.rows = prefix.keys = length;
    prefix.stream();
    for (std::int64_t r = 0; r < length; ++r) {
      EXPECT_EQ(std::memcmp(prefix.out_row(0, 0, r), whole.out_row(0, 0, r), 16 * sizeof(float)), 0) << r;
      EXPECT_EQ(prefix.support[static_cast<std::size_t>(r)], std::min<std::int64_t>(20, r + 1));
    }
  }
}

TEST(TopK, NonFiniteInputsAreNotSilent) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    TestProblem<float> test(100, 8, 1, 10);
    test.topk = 3;
    test.k[40 * 8 + 2] = bad;
    test.stream();
    EXPECT_TRUE(std::isfinite(test.out_row(0, 0, 39)[0]));
    EXPECT_TRUE(std::isnan(test.out_row(0, 0, 40)[0]));
    EXPECT_TRUE(std::isnan(test.entropy[99]));
    EXPECT_EQ(test.support[99], -1);
  }
}

TEST(TopK, PushesStayNearKTimesTheLogarithm) {
  TestProblem<float> test(4096, 16, 1, 11);
  test.topk = 32;
  const StreamingCounters counters = test.stream();
  EXPECT_LT(static_cast<double>(counters.pushed_scores), 4096 * 2 * 32 * (1 + std::log(4096.0 / 32)));
}

TEST(TopK, RefusesWhatTheContractForbids) {
  TestProblem<float> test(8, 4, 1.5);
  test.topk = 2;
  EXPECT_THROW(test.stream(), std::invalid_argument);
  test.alphas = {1};
  test.topk = -1;
  EXPECT_THROW(test.stream(), std::invalid_argument);
  test.topk = 2;
  EXPECT_THROW(training_saved_size(test.problem()), std::invalid_argument);
}

}  // namespace
}  // namespace lenbench::kernels
