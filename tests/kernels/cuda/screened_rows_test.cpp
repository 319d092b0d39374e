// The screened kernel with its 32 lanes and its product unit simulated on the host: the same source that runs on a GPU.
#include "kernels/cuda/screened_rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cases.h"
#include "host_call.h"

namespace lenbench::kernels {
namespace {

// The product unit errs as far as the screen's proof allows it to, in one direction.
class ProductError {
 public:
  explicit ProductError(double error) { HostWarp::product_error = error; }
  ~ProductError() { HostWarp::product_error = 0; }
  ProductError(const ProductError&) = delete;
  ProductError& operator=(const ProductError&) = delete;
};

class Screened : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(ProductErrors, Screened, testing::Values(-17.0, 0.0, 17.0));

TEST_P(Screened, AgreesWithTheReference) {
  const ProductError error(GetParam());
  check_cases([](TestProblem<float>& test) { run_on_host(test); });
}

TEST_P(Screened, NonFiniteInputsReachTheirRowsOnly) {
  const ProductError error(GetParam());
  check_nonfinite([](TestProblem<float>& test) { run_on_host(test); });
}

void expect_same(const TestProblem<float>& a, const TestProblem<float>& b, float tolerance) {
  for (std::size_t i = 0; i < a.out.size(); ++i) ASSERT_NEAR(a.out[i], b.out[i], tolerance) << i;
  for (std::size_t i = 0; i < a.entropy.size(); ++i) {
    ASSERT_EQ(a.support[i], b.support[i]) << i;
    ASSERT_NEAR(a.entropy[i], b.entropy[i], tolerance) << i;
    ASSERT_NEAR(a.sink[i], b.sink[i], tolerance) << i;
    ASSERT_NEAR(a.top[i], b.top[i], tolerance) << i;
    ASSERT_EQ(a.top_score[i], b.top_score[i]) << i;
  }
}

// Against the dense kernel, which sees every key: supports are equal to the key, because survivors get the same scores.
TEST_P(Screened, LeavesOutNothingThatHasWeight) {
  const ProductError error(GetParam());
  for (const double alpha : {1.1, 1.5, 2.0}) {
    for (const double scale : {0.5, 4.0, 30.0}) {
      TestProblem<float> dense(700, 32, alpha, 21, scale, 2, 1);
      dense.slopes = {0, 0.125F};
      TestProblem<float> screened = dense;
      run_on_host(dense, {.screen = false});
      const ScreenCounters counters = run_on_host(screened);
      expect_same(dense, screened, 1e-6F);
      EXPECT_GT(counters.kept_keys, 0U);
    }
  }
}

// Keys one rounding step of bfloat16 away from each other: their bounds say nothing about their order.
TEST_P(Screened, KeysThatRoundToTheSame) {
  const ProductError error(GetParam());
  for (const double alpha : {1.3, 1.5, 2.0}) {
    TestProblem<float> dense(600, 16, alpha, 33, 24);
    for (std::int64_t j = 0; j < 600; ++j) {
      for (std::int64_t c = 0; c < 16; ++c) {
        const auto at = static_cast<std::size_t>(j * 16 + c);
        // 1 + 2^-9 (1 - tiny) rounds to 1, 1 + 2^-9 (1 + tiny) to 1 + 2^-7.
        dense.k[at] = 1 + 0x1p-8F * (0.999F + 0.002F * static_cast<float>((j * 7 + c * 3) % 11) / 10);
      }
    }
    TestProblem<float> screened = dense;
    run_on_host(dense, {.screen = false});
    run_on_host(screened);
    expect_same(dense, screened, 1e-6F);
  }
}

// q and k lie along the direction in which both roundings lose most, half of the keys gaining and half losing by it.
TEST_P(Screened, TheMarginIsNeededAndEnough) {
  const ProductError error(GetParam());
  TestProblem<float> dense(512, 61, 1.5, 41);
  for (std::size_t i = 0; i < dense.q.size(); ++i) dense.q[i] = 2 * (1 + 0x1p-8F * 0.99F);
  for (std::int64_t j = 0; j < 512; ++j) {
    for (std::int64_t c = 0; c < 61; ++c) {
      // Rounded down by 0.99 / 256 or up by as much: true scores are within 0.25 of each other, rounded ones 2 apart.
      const float loss = j % 2 ? 0x1p-8F * 0.99F : 0x1p-7F - 0x1p-8F * 0.99F;
      dense.k[static_cast<std::size_t>(j * 61 + c)] = 1 + loss + static_cast<float>(j % 5) * 1e-5F;
    }
  }
  TestProblem<float> screened = dense;
  run_on_host(dense, {.screen = false});
  run_on_host(screened);
  expect_same(dense, screened, 1e-6F);
}

TEST(Screened, VisitOrderChangesNothing) {
  for (const double alpha : {1.3, 1.5, 2.0}) {
    TestProblem<float> backwards(900, 16, alpha, 5, 6, 2);
    backwards.slopes = {0, 0.03F};
    TestProblem<float> forwards = backwards;
    run_on_host(backwards);
    run_on_host(forwards, {.forwards = true});
    expect_same(backwards, forwards, 1e-6F);
  }
}

TEST(Screened, RowsWithLongListsAreLeftToTheDenseKernel) {
  TestProblem<float> test(700, 16, 1.5, 6, 0.0, 2);
  for (std::int64_t r = 0; r < 700; ++r) {
    float* row = test.q.data() + r * 32 + 16;  // only the second head's queries say something
    for (int c = 0; c < 16; ++c) row[c] = static_cast<float>((r * 31 + c * 17) % 23) / 8 - 1.4F;
  }
  const ScreenCounters counters = run_on_host(test, {.capacity = 128});
  expect_equals_reference(test);
  // Head 0 has as many candidates as visible keys: rows of more than 64 do not fit.
  EXPECT_GE(counters.dense_rows, 700U - 64U);
  EXPECT_LT(counters.dense_rows, 1400U);
}

TEST(Screened, PeakedRowsKeepFewKeysAndBiasedOnesStopEarly) {
  TestProblem<float> test(2048, 32, 1.5, 8, 6);
  const ScreenCounters plain = run_on_host(test);
  EXPECT_EQ(plain.dense_rows, 0U);
  EXPECT_LT(static_cast<double>(plain.kept_keys) / 2048, 150);
  test.slopes = {0.5F};
  const ScreenCounters biased = run_on_host(test);
  EXPECT_LT(biased.bounded_pairs, plain.bounded_pairs / 4);
  expect_equals_reference(test);
}

TEST(Screened, RowsInAnyOrderAndWithoutKeys) {
  TestProblem<float> test(150, 20, 1.5, 9, 3, 4, 2, 2);
  test.slopes = {0, 0.2F, 0, 1};
  for (std::size_t r = 0; r < test.visible.size(); ++r) test.visible[r] = static_cast<std::int64_t>((r * 67) % 151);
  run_on_host(test);
  expect_equals_reference(test);
}

TEST(Screened, ConstantsAddedToAllScores) {
  for (const float offset : {1e4F, -1e4F}) {
    TestProblem<float> test(300, 8, 1.5, 12, 2);
    for (std::int64_t j = 0; j < 300; ++j) test.k[static_cast<std::size_t>(j * 8)] = 1;
    for (std::int64_t r = 0; r < 300; ++r) test.q[static_cast<std::size_t>(r * 8)] = offset;
    TestProblem<float> dense = test;
    run_on_host(test);
    run_on_host(dense, {.screen = false});
    expect_same(dense, test, 1e-6F);
  }
}

TEST(Screened, HugeAndTinyInputs) {
  for (const float scale : {1e-30F, 1e-42F, 1e15F, 1e30F, 3e38F}) {
    TestProblem<float> test(100, 8, 1.5, 13, 1);
    for (float& value : test.k) value = std::clamp(value * scale, -3.4e38F, 3.4e38F);
    TestProblem<float> dense = test;
    run_on_host(test);
    run_on_host(dense, {.screen = false});
    ASSERT_EQ(std::memcmp(test.support.data(), dense.support.data(), dense.support.size() * 4), 0) << scale;
    for (std::size_t i = 0; i < test.out.size(); ++i) {
      if (std::isnan(dense.out[i]))
        ASSERT_TRUE(std::isnan(test.out[i])) << scale;
      else
        ASSERT_NEAR(test.out[i], dense.out[i], 1e-6F) << scale;
    }
  }
}

// The laid-out fragments of the product are those of PTX: a product by hand, element by element.
TEST(ProductUnit, MultipliesAsPtxSays) {
  HostWarp::Lanes<ProductA> a;
  HostWarp::Lanes<ProductB> b;
  HostWarp::Lanes<ProductC> c;
  const auto left = [](int row, int k) { return static_cast<float>((row * 5 + k * 3) % 17 - 8); };
  const auto right = [](int k, int column) { return static_cast<float>((k * 7 + column * 2) % 13 - 6); };
  const auto pair = [](float low, float high) { return nearest_bfloat16(low) | nearest_bfloat16(high) << 16; };
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, k = 2 * (lane % 4);
    a[lane] = {{pair(left(g, k), left(g, k + 1)), pair(left(g + 8, k), left(g + 8, k + 1)),
                pair(left(g, k + 8), left(g, k + 9)), pair(left(g + 8, k + 8), left(g + 8, k + 9))}};
    b[lane] = {{pair(right(k, g), right(k + 1, g)), pair(right(k + 8, g), right(k + 9, g))}};
  }
  HostWarp::multiply(c, a, b);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      float expected = 0;
      for (int k = 0; k < 16; ++k) expected += left(row, k) * right(k, column);
      EXPECT_EQ(c[lane].values[i], expected) << row << " " << column;
    }
  }
}

TEST(Screen, RoundsAsItSays) {
  for (const float value : {0.0F, 1.0F, 1.00390625F, 1.01171875F, 3.0e38F, 1e-40F, 7.77F}) {
    const float near = float_of_bfloat16(nearest_bfloat16(value));
    EXPECT_LE(std::abs(near - value), value * 0x1p-8F + 0x1p-133F) << value;
    EXPECT_GE(float_of_bfloat16(bfloat16_above(static_cast<double>(value) * (1 + 1e-12))), value) << value;
  }
  EXPECT_EQ(float_of_bfloat16(nearest_bfloat16(1.00390625F)), 1.0F);  // ties go to the even neighbour
  EXPECT_EQ(float_of_bfloat16(nearest_bfloat16(1.01171875F)), 1.015625F);
  EXPECT_EQ(float_of_bfloat16(bfloat16_above(1.0 + 1e-9)), 1.0078125F);
  EXPECT_EQ(float_of_bfloat16(bfloat16_above(1.0)), 1.0F);
}

}  // namespace
}  // namespace lenbench::kernels
