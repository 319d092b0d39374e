// What is known about keys and values before rows are scored: an upper bound of the norms, the first bad row.
#include "kernels/key_facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace lenbench::kernels {
namespace {

template <typename T>
double largest_norm(const std::vector<T>& k, std::int64_t keys, std::int64_t size) {
  long double largest = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    long double sum = 0;
    for (std::int64_t c = 0; c < size; ++c) {
      const auto value = static_cast<long double>(k[static_cast<std::size_t>(j * size + c)]);
      sum += value * value;
    }
    largest = std::max(largest, sum);
  }
  return static_cast<double>(std::sqrt(largest));
}

TEST(KeyFactsLaw, TheNormIsAnUpperBoundAtEveryMagnitudeAndAlmostTight) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  for (const std::int64_t size : {1, 3, 8, 16, 31, 64, 257}) {
    for (const float magnitude : {1e-30F, 1e-20F, 1e-3F, 1.0F, 1e6F, 1e18F, 1e25F, 1e37F}) {
      std::vector<float> k(static_cast<std::size_t>(40 * size));
      for (float& value : k) value = normal(random) * magnitude;
      const KeyFacts facts = key_facts<float>(k.data(), size, k.data(), size, 40, size);
      const double norm = largest_norm(k, 40, size);
      EXPECT_EQ(facts.first_bad, 40) << size << " channels of " << magnitude;
      EXPECT_GE(facts.norm, norm) << size << " channels of " << magnitude;
      // Squares below fp32's range are counted as the smallest that is in it.
      EXPECT_LE(facts.norm, norm * 1.0001 + 1.2e-19 * std::sqrt(static_cast<double>(size)) * 1.0001)
          << size << " channels of " << magnitude;
    }
  }
}

template <typename T>
void expect_first_bad() {
  const T infinity = std::numeric_limits<T>::infinity();
  for (const T bad : {infinity, -infinity, std::numeric_limits<T>::quiet_NaN()}) {
    for (const std::int64_t channel : {0, 7, 8, 18}) {
      for (const bool in_values : {false, true}) {
        std::vector<T> k(19 * 6, T(0.5)), v = k;
        (in_values ? v : k)[static_cast<std::size_t>(4 * 19 + channel)] = bad;
        k[5 * 19] = T(1e3);  // behind the bad row, so not counted
        const KeyFacts facts = key_facts<T>(k.data(), 19, v.data(), 19, 6, 19);
        EXPECT_EQ(facts.first_bad, 4) << bad << " in channel " << channel;
        EXPECT_NEAR(facts.norm, std::sqrt(19 * 0.25), 1e-5) << bad << " in channel " << channel;
      }
    }
  }
}

TEST(KeyFactsLaw, TheFirstRowThatIsNotFiniteIsFoundWhereverItIs) {
  expect_first_bad<float>();
  expect_first_bad<double>();
}

TEST(KeyFactsLaw, LargeFiniteNumbersAreNotBad) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> k(24, most), v(24, -most);
  const KeyFacts facts = key_facts<float>(k.data(), 12, v.data(), 12, 2, 12);
  EXPECT_EQ(facts.first_bad, 2);
  EXPECT_GE(facts.norm, static_cast<double>(most) * std::sqrt(12.0));
}

}  // namespace
}  // namespace lenbench::kernels
