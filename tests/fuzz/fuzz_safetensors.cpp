// The header of a safetensors file, and every byte that its tensors claim.
#include "checkpoint/safetensors.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lenbench::fuzz(data, size, [](std::string_view bytes) {
    const auto file = lenbench::SafetensorsFile::from_bytes(std::string(bytes), "f");
    std::size_t sum = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      if (!tensor.bytes.empty())
        sum += static_cast<std::size_t>(tensor.bytes.front()) + static_cast<std::size_t>(tensor.bytes.back());
      sum += static_cast<std::size_t>(tensor.num_elements());
    }
    if (sum == static_cast<std::size_t>(-1)) std::abort();
  });
}
