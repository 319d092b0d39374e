// The CUDA kernels on a device, by the laws that their host simulation obeys. Exits with 77 where there is no device.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "cases.h"
#include "device_memory.h"
#include "device_product.h"
#include "gradient_cases.h"
#include "host_call.h"
#include "kernels/cuda/attention.h"

namespace lenbench::kernels {
namespace {

CudaCounters run_on_device(TestProblem<float>& test, const CudaOptions& options = {}) {
  const DeviceProblem device(test);
  const std::int64_t bytes = attend_cuda_scratch_bytes(device.problem(), options);
  const DeviceCopy<char> scratch(std::vector<char>(static_cast<std::size_t>(bytes), 0x5a));
  std::vector<CudaCounters> counted(1);
  const DeviceCopy<CudaCounters> counters(counted);
  attend_cuda(device.problem(), device.out(), device.stats(), options, counters.data(), scratch.data(), bytes, nullptr);
  device.read(test);
  counters.read(counted);
  return counted[0];
}

void run_screened(TestProblem<float>& test) { run_on_device(test); }
void run_dense(TestProblem<float>& test) { run_on_device(test, {.screen = false}); }

TEST(Device, ScreenedRowsAgreeWithTheReference) { check_cases(run_screened); }

TEST(Device, DenseRowsAgreeWithTheReference) { check_cases(run_dense); }

TEST(Device, NonFiniteInputsReachTheirRowsOnly) {
  check_nonfinite(run_screened);
  check_nonfinite(run_dense);
}

TEST(Device, LeavesOutNothingThatHasWeight) {
  for (const double alpha : {1.1, 1.5, 2.0}) {
    for (const double scale : {0.5, 4.0, 30.0}) {
      TestProblem<float> dense(3000, 64, alpha, 21, scale, 2, 1);
      dense.slopes = {0, 0.125F};
      TestProblem<float> screened = dense;
      run_on_device(dense, {.screen = false});
      run_on_device(screened);
      for (std::size_t i = 0; i < dense.out.size(); ++i) ASSERT_NEAR(dense.out[i], screened.out[i], 1e-6F) << i;
      ASSERT_EQ(dense.support, screened.support);
    }
  }
}

TEST(Device, TheSameBitsTwiceAndAsManyKeysKeptAsSimulated) {
  TestProblem<float> first(1500, 32, 1.5, 1, 2, 4, 2), second = first, simulated = first;
  const CudaCounters counters = run_on_device(first);
  run_on_device(second);
  EXPECT_EQ(std::memcmp(first.out.data(), second.out.data(), first.out.size() * sizeof(float)), 0);
  EXPECT_EQ(first.support, second.support);
  const ScreenCounters expected = run_on_host(simulated);
  EXPECT_EQ(counters.dense_rows, expected.dense_rows);
  EXPECT_NEAR(static_cast<double>(counters.kept_keys) / static_cast<double>(expected.kept_keys), 1, 0.01);
}

TEST(Device, LongListsAreLeftToTheDenseKernel) {
  TestProblem<float> test(700, 16, 1.5, 6, 0.0);
  const CudaCounters counters = run_on_device(test, {.capacity = 128});
  expect_equals_reference(test);
  EXPECT_GE(counters.dense_rows, 700U - 64U);
}

// screen.h takes a product to end within 17 * 2^-23 of the sum of its terms' magnitudes.
TEST(Device, TheProductUnitIsAsExactAsTheScreenTakesIt) {
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&](std::size_t count, int spread) {
      std::vector<float> values;
      for (std::size_t i = 0; i < count; ++i) {
        const double value =
            std::ldexp(normal(bits), static_cast<int>(bits() % static_cast<unsigned>(2 * spread + 1)) - spread);
        values.push_back(float_of_bfloat16(nearest_bfloat16(static_cast<float>(value))));
      }
      return values;
    };
    const int spread = round % 20;
    const std::vector<float> a = draw(256, spread), b = draw(128, spread), c = draw(128, 2 * spread);
    const std::vector<float> out = device_product(a, b, c);
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t column = 0; column < 8; ++column) {
        double sum = static_cast<double>(c[row * 8 + column]), magnitude = std::abs(sum);
        for (std::size_t k = 0; k < 16; ++k) {
          const double term = static_cast<double>(a[row * 16 + k]) * static_cast<double>(b[k * 8 + column]);
          sum += term;
          magnitude += std::abs(term);
        }
        worst = std::max(worst, std::abs(static_cast<double>(out[row * 8 + column]) - sum) / magnitude);
      }
    }
  }
  std::printf("largest product error: %.2f * 2^-23 of the terms' magnitudes\n", worst * 0x1p23);
  EXPECT_GT(worst, 0);
  EXPECT_LE(worst, 17 * 0x1p-23);
}

FoundGradients gradients_on_device(TestProblem<float>& test, const std::vector<float>& upstream) {
  const DeviceProblem device(test);
  const Problem<float>& problem = device.problem();
  FoundGradients found{test.q, test.k, test.v, test.slopes, test.alphas};
  const DeviceCopy<float> dout(upstream), dq(found.dq), dk(found.dk), dv(found.dv), dslopes(found.dslopes),
      dalphas(found.dalphas);
  const DeviceCopy<double> states(std::vector<double>(3 * test.entropy.size()));
  CudaOptions options;
  options.states = states.data();
  const std::int64_t forward = attend_cuda_scratch_bytes(problem, options),
                     backward = attend_cuda_backward_scratch_bytes(problem);
  const DeviceCopy<char> scratch(std::vector<char>(static_cast<std::size_t>(std::max(forward, backward))));
  attend_cuda(problem, device.out(), {}, options, nullptr, scratch.data(), forward, nullptr);
  View<const float> dout_view = test.rows_view(upstream);
  dout_view.data = dout.data();
  Gradients<float> to{test.rows_view(found.dq), test.keys_view(found.dk), test.keys_view(found.dv), dslopes.data(),
                      dalphas.data()};
  to.dq.data = dq.data();
  to.dk.data = dk.data();
  to.dv.data = dv.data();
  attend_cuda_backward(problem, dout_view, states.data(), to, scratch.data(), backward, nullptr);
  require(cudaDeviceSynchronize());
  dq.read(found.dq);
  dk.read(found.dk);
  dv.read(found.dv);
  dslopes.read(found.dslopes);
  dalphas.read(found.dalphas);
  return found;
}

TEST(Device, GradientsAgreeWithTheReference) { check_gradients(gradients_on_device); }

TEST(Device, WhatCannotRunIsRefused) {
  const Problem<float> problem = TestProblem<float>(8, 4, 1.5).problem();
  EXPECT_THROW(attend_cuda(problem, {}, {}, {}, nullptr, nullptr, 8, nullptr), std::invalid_argument);
  EXPECT_THROW(attend_cuda(problem, {}, {}, {.capacity = 100}, nullptr, nullptr, 1 << 30, nullptr),
               std::invalid_argument);
}

}  // namespace
}  // namespace lenbench::kernels

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string reason = lenbench::kernels::cuda_unavailable();
  if (!reason.empty()) {
    std::printf("skipped: %s\n", reason.c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
