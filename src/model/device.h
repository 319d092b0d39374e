// Where a model computes.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace lenbench {

// The device that `name` means ("cpu", "cuda", "cuda:N"), ready to hold tensors. CUDA's part of LibTorch is loaded when
// a CUDA device is first asked for, from the folder of LibTorch: call this before any tensor is made. Products of fp32
// matrices on CUDA are fp32's then, or TF32's where `tf32` says so, for the whole process.
// Throws Error that says what is missing: CUDA's part of LibTorch, a device at all, or device N.
c10::Device open_device(const std::string& name, bool tf32 = false);

}  // namespace lenbench
