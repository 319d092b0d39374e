// One product of the device's tensor cores, for tests.
#include "device_product.h"

#include "kernels/cuda/device_warp.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/screen.h"

namespace lenbench::kernels {
namespace {

__global__ void multiply(const float* a, const float* b, const float* c, float* out) {
  DeviceWarp::Lanes<ProductA> left;
  DeviceWarp::Lanes<ProductB> right;
  DeviceWarp::Lanes<ProductC> sum;
  const auto pair = [](float low, float high) { return nearest_bfloat16(low) | nearest_bfloat16(high) << 16; };
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, k = 2 * (lane % 4);
  for (int word = 0; word < 4; ++word) {
    const float* row = a + (g + 8 * (word % 2)) * 16 + k + 8 * (word / 2);
    left[lane].words[word] = pair(row[0], row[1]);
  }
  for (int word = 0; word < 2; ++word) {
    const float* row = b + (k + 8 * word) * 8 + g;
    right[lane].words[word] = pair(row[0], row[8]);
  }
  for (int i = 0; i < 4; ++i) sum[lane].values[i] = c[(g + 8 * (i / 2)) * 8 + k + i % 2];
  DeviceWarp::multiply(sum, left, right);
  for (int i = 0; i < 4; ++i) out[(g + 8 * (i / 2)) * 8 + k + i % 2] = sum[lane].values[i];
}

}  // namespace

std::vector<float> device_product(const std::vector<float>& a, const std::vector<float>& b,
                                  const std::vector<float>& c) {
  float* memory = nullptr;
  std::vector<float> out(c.size());
  cudaMalloc(&memory, (a.size() + b.size() + 2 * c.size()) * sizeof(float));
  float *at_b = memory + a.size(), *at_c = at_b + b.size(), *at_out = at_c + c.size();
  cudaMemcpy(memory, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(at_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(at_c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice);
  multiply<<<1, kWarpLanes>>>(memory, at_b, at_c, at_out);
  cudaMemcpy(out.data(), at_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(memory);
  require_launched("device_product");
  return out;
}

}  // namespace lenbench::kernels
