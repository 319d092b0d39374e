// Which device the kernels run on.
#pragma once

namespace lenbench::kernels {

// Makes later calls of this thread run on that device: the kernels' CUDA runtime is their own, and does not see what
// LibTorch's was told. Throws std::runtime_error with CUDA's words.
void use_cuda_device(int index);

}  // namespace lenbench::kernels
