// The dense row kernel on a device, by the laws that its host simulation obeys. Exits with 77 where there is no device.
#include "kernels/dense_cuda.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "dense_cases.h"

namespace lenbench::kernels {
namespace {

void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

// A copy of a vector in device memory, copied back on request.
template <typename T>
class DeviceCopy {
 public:
  explicit DeviceCopy(const std::vector<T>& host) : bytes_(host.size() * sizeof(T)) {
    require(cudaMalloc(&data_, bytes_ + 1));
    require(cudaMemcpy(data_, host.data(), bytes_, cudaMemcpyHostToDevice));
  }
  ~DeviceCopy() { cudaFree(data_); }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  T* data() const { return static_cast<T*>(data_); }
  void read(std::vector<T>& host) const { require(cudaMemcpy(host.data(), data_, bytes_, cudaMemcpyDeviceToHost)); }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

void run_on_device(TestProblem<float>& test, std::int64_t scratch_rows) {
  const DeviceCopy<float> q(test.q), k(test.k), v(test.v), out(test.out), slopes(test.slopes), alphas(test.alphas);
  const DeviceCopy<float> entropy(test.entropy), sink(test.sink), top(test.top), top_score(test.top_score);
  const DeviceCopy<std::int64_t> visible(test.visible);
  const DeviceCopy<std::int32_t> support(test.support);
  Problem<float> problem = test.problem();
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.visible = visible.data();
  problem.slopes = slopes.data();
  problem.alphas = alphas.data();
  View<float> out_view = test.rows_view(test.out);
  out_view.data = out.data();
  const std::int64_t row_bytes = test.keys * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t bytes = scratch_rows > 0 ? scratch_rows * row_bytes : dense_cuda_scratch_bytes(problem);
  const DeviceCopy<char> scratch(std::vector<char>(static_cast<std::size_t>(bytes)));
  attend_dense_cuda(problem, out_view, {entropy.data(), support.data(), sink.data(), top.data(), top_score.data()},
                    scratch.data(), bytes, nullptr);
  require(cudaDeviceSynchronize());
  out.read(test.out);
  entropy.read(test.entropy);
  sink.read(test.sink);
  top.read(test.top);
  top_score.read(test.top_score);
  support.read(test.support);
}

void run_with_all_scratch(TestProblem<float>& test) { run_on_device(test, 0); }

TEST(DenseCuda, AgreesWithTheReference) { check_dense_cases(run_with_all_scratch); }

TEST(DenseCuda, NonFiniteInputsReachTheirRowsOnly) { check_dense_nonfinite(run_with_all_scratch); }

TEST(DenseCuda, TheNumberOfWarpsChangesNothing) {
  TestProblem<float> all(200, 32, 1.5, 1, 2, 4, 2), few(200, 32, 1.5, 1, 2, 4, 2);
  run_on_device(all, 0);
  run_on_device(few, 3);
  EXPECT_EQ(std::memcmp(all.out.data(), few.out.data(), all.out.size() * sizeof(float)), 0);
  EXPECT_EQ(all.support, few.support);
}

TEST(DenseCuda, TooLittleScratchIsRefused) {
  const Problem<float> problem = TestProblem<float>(8, 4, 1.5).problem();
  EXPECT_THROW(attend_dense_cuda(problem, {}, {}, nullptr, 8, nullptr), std::invalid_argument);
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
