// Random streams: known answers, uniformity, and the keyed permutation.
#include "tasks/rng.h"

#include <gtest/gtest.h>

#include <set>

#include "p_value.h"

namespace lenbench {
namespace {

using testing_tasks::kLevel;
using testing_tasks::p_value;

// Known-answer vector of Random123: philox4x32 10, counter 0, key 0.
TEST(Rng, MatchesThePublishedVector) {
  Rng rng(0, 0);
  EXPECT_EQ(rng.next_u32(), 0x6627e8d5U);
  EXPECT_EQ(rng.next_u32(), 0xe169c58dU);
  EXPECT_EQ(rng.next_u32(), 0xbc57ac4cU);
  EXPECT_EQ(rng.next_u32(), 0x9b00dbd8U);
  Rng wide(0, 0);
  EXPECT_EQ(wide.next_u64(), 0xe169c58d6627e8d5ULL);
}

TEST(Rng, StreamsAndKeysDiffer) {
  std::set<std::uint64_t> first;
  for (std::uint64_t key : {0ULL, 1ULL, 1ULL << 32, 1ULL << 63}) {
    for (std::uint64_t stream : {0ULL, 1ULL, 1ULL << 32, 1ULL << 63}) first.insert(Rng(key, stream).next_u64());
  }
  EXPECT_EQ(first.size(), 16U);
}

TEST(Rng, BelowIsUniform) {
  for (const int bound : {3, 7, 100}) {
    Rng rng(11, static_cast<std::uint64_t>(bound));
    std::vector<std::int64_t> counts(static_cast<std::size_t>(bound));
    for (int i = 0; i < 50000; ++i) ++counts[rng.below(static_cast<std::uint64_t>(bound))];
    EXPECT_GT(p_value(counts), kLevel) << bound;
  }
}

// A bound of 3/4 of the range: with a modulo, the lower third would come twice as often.
TEST(Rng, BelowIsUniformForLargeBounds) {
  for (const std::uint64_t bound : {3ULL << 30, 3ULL << 62, (1ULL << 32), (1ULL << 32) + 1}) {
    Rng rng(12, bound);
    std::vector<std::int64_t> counts(3);
    for (int i = 0; i < 30000; ++i) {
      const std::uint64_t value = rng.below(bound);
      ASSERT_LT(value, bound);
      ++counts[std::min<std::uint64_t>(2, value / (bound / 3))];
    }
    EXPECT_GT(p_value(counts), kLevel) << bound;
  }
}

TEST(Rng, BetweenIncludesBothEnds) {
  Rng rng(3, 4);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(rng.between(5, 5), 5);
  rng.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

TEST(Rng, ChanceHasTheAskedFrequency) {
  Rng rng(5, 6);
  int hits = 0;
  for (int i = 0; i < 60000; ++i) hits += rng.chance(3, 5) ? 1 : 0;
  EXPECT_NEAR(hits, 36000, 4 * 120);  // standard deviation 120
  EXPECT_FALSE(rng.chance(0, 5));
  EXPECT_TRUE(rng.chance(5, 5));
}

TEST(Rng, DistinctValuesAreDistinctUniformAndInRandomOrder) {
  std::vector<std::int64_t> first(10), any(10);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::vector<std::int64_t> drawn = Rng(21, i).distinct(4, 10);
    EXPECT_EQ(std::set<std::int64_t>(drawn.begin(), drawn.end()).size(), 4U);
    ++first[static_cast<std::size_t>(drawn[0])];
    for (const std::int64_t value : drawn) ++any[static_cast<std::size_t>(value)];
  }
  EXPECT_GT(p_value(first), kLevel);
  EXPECT_GT(p_value(any), kLevel);
  EXPECT_EQ(Rng(1, 1).distinct(0, 5).size(), 0U);
}

// The table behind `distinct` is dense or sparse depending on the count; the numbers must not depend on it.
TEST(Rng, DistinctDoesNotDependOnItsTable) {
  const std::vector<std::int64_t> sparse = Rng(9, 9).distinct(10, 1000);
  const std::vector<std::int64_t> dense = Rng(9, 9).distinct(900, 1000);
  EXPECT_TRUE(std::equal(sparse.begin(), sparse.end(), dense.begin()));
  const std::vector<std::int64_t> large = Rng(9, 9).distinct(1000, std::int64_t{1} << 40);
  EXPECT_EQ(std::set<std::int64_t>(large.begin(), large.end()).size(), 1000U);
}

TEST(KeyedPermutation, IsABijection) {
  for (const std::uint64_t size : {1ULL, 2ULL, 3ULL, 5ULL, 1000ULL, 4097ULL, 65536ULL}) {
    const KeyedPermutation permutation(1, 2, size);
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t value = permutation.at(i);
      ASSERT_LT(value, size);
      ASSERT_FALSE(seen[value]) << size;
      seen[value] = true;
    }
  }
  EXPECT_LT(KeyedPermutation(1, 2, 1ULL << 32).at((1ULL << 32) - 1), 1ULL << 32);
}

// Over many keys the image of one index is uniform, and a pool of 10,000 of 65,536 spreads over the range.
TEST(KeyedPermutation, LooksRandom) {
  std::vector<std::int64_t> images(16);
  for (std::uint64_t key = 0; key < 16000; ++key) ++images[KeyedPermutation(key, 0, 16).at(3)];
  EXPECT_GT(p_value(images), kLevel);
  std::vector<std::int64_t> bins(64);
  const KeyedPermutation permutation(77, 0, 65536);
  for (std::uint64_t i = 0; i < 10000; ++i) ++bins[permutation.at(i) / 1024];
  EXPECT_GT(p_value(bins), kLevel);
}

// FNV-1a of "" and "a" (cbf29ce484222325, af63dc4c8601ec8c) through MurmurHash3's finalizer, worked out in Python.
TEST(StableHash, NeverChanges) {
  EXPECT_EQ(stable_hash(""), 0xefd01f60ba992926ULL);
  EXPECT_EQ(stable_hash("a"), 0x82a2a958a9bece5bULL);
}

}  // namespace
}  // namespace lenbench
