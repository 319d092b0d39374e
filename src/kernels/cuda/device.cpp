// Which device the kernels run on.
#include "kernels/cuda/device.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace lenbench::kernels {

void use_cuda_device(int index) {
  const cudaError_t error = cudaSetDevice(index);
  if (error != cudaSuccess) throw std::runtime_error(std::string("use_cuda_device: ") + cudaGetErrorString(error));
}

}  // namespace lenbench::kernels
