// Problems of tests in a device's memory.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

#include "../heads.h"

namespace lenbench::kernels {

inline void require(cudaError_t error) {
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

// The inputs, outputs and statistics of a problem on the device.
class DeviceProblem {
 public:
  explicit DeviceProblem(const TestProblem<float>& test)
      : problem_(test.problem()),
        out_view_(const_cast<TestProblem<float>&>(test).rows_view(const_cast<TestProblem<float>&>(test).out)),
        q_(test.q),
        k_(test.k),
        v_(test.v),
        out_(test.out),
        slopes_(test.slopes),
        alphas_(test.alphas),
        entropy_(test.entropy),
        sink_(test.sink),
        top_(test.top),
        top_score_(test.top_score),
        visible_(test.visible),
        support_(test.support) {
    problem_.q.data = q_.data();
    problem_.k.data = k_.data();
    problem_.v.data = v_.data();
    problem_.visible = visible_.data();
    problem_.slopes = slopes_.data();
    problem_.alphas = alphas_.data();
    out_view_.data = out_.data();
  }
  const Problem<float>& problem() const { return problem_; }
  View<float> out() const { return out_view_; }
  RowStats stats() const { return {entropy_.data(), support_.data(), sink_.data(), top_.data(), top_score_.data()}; }
  void read(TestProblem<float>& test) const {
    require(cudaDeviceSynchronize());
    out_.read(test.out);
    entropy_.read(test.entropy);
    sink_.read(test.sink);
    top_.read(test.top);
    top_score_.read(test.top_score);
    support_.read(test.support);
  }

 private:
  Problem<float> problem_;
  View<float> out_view_;
  DeviceCopy<float> q_, k_, v_, out_, slopes_, alphas_, entropy_, sink_, top_, top_score_;
  DeviceCopy<std::int64_t> visible_;
  DeviceCopy<std::int32_t> support_;
};

}  // namespace lenbench::kernels
