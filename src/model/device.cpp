// Loads the CUDA part of LibTorch on demand: without it the program needs no CUDA library but those that LibTorch's CPU
// part links.
#include "model/device.h"

#include <ATen/Context.h>
#include <dlfcn.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace lenbench {
namespace {

constexpr const char* kCudaLibrary = "libtorch_cuda.so";

// The reason why CUDA cannot be used, or empty. Asked once: LibTorch looks for its CUDA part only at the first use.
const std::string& cuda_missing() {
  static const std::string reason = []() -> std::string {
    if (dlopen(kCudaLibrary, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      return "this LibTorch has no CUDA part that loads (" + std::string(dlerror()) +
             "); build with LIBTORCH_ROOT at a LibTorch with CUDA, such as the torch folder of its full Python wheel";
    }
    if (at::hasCUDA() && at::getNumGPUs() > 0) return "";
    return "LibTorch finds no CUDA device; check with nvidia-smi that there is one and that its driver is new enough";
  }();
  return reason;
}

}  // namespace

c10::Device open_device(const std::string& name, bool tf32) {
  if (name == "cpu") {
    if (tf32) throw Error("dtype tf32 is for CUDA devices; use float32 on the CPU");
    return c10::Device(c10::kCPU);
  }
  const bool numbered = name.starts_with("cuda:");
  if (name != "cuda" && !numbered)
    throw Error("device '" + printable(name) + "' is not known; use cpu, cuda or cuda:N");
  const std::uint64_t index = numbered ? parse_uint(name.substr(5), "device cuda:N") : 0;
  if (!cuda_missing().empty()) throw Error("device " + name + ": " + cuda_missing() + ", or use cpu");
  const auto count = static_cast<std::uint64_t>(at::getNumGPUs());
  if (index >= count) {
    throw Error("device " + name + ": there " +
                (count == 1 ? "is 1 CUDA device" : "are " + std::to_string(count) + " CUDA devices") +
                "; the first is cuda:0");
  }
  at::globalContext().setAllowTF32CuBLAS(tf32);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

}  // namespace lenbench
