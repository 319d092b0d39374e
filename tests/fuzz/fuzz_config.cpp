// config.json, and what is computed from its numbers before any weight is read.
#include "checkpoint/config.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lenbench::fuzz(data, size, [](std::string_view bytes) {
    const lenbench::DecoderConfig config = lenbench::parse_config(bytes, "f");
    if (config.transform_name().empty()) std::abort();
    // Sizes are bounded one by one; their tensors are listed only where the list is short.
    if (config.num_layers <= 64 && config.num_heads <= 64) {
      lenbench::tensor_specs(config);
      lenbench::num_parameters(config);
    }
  });
}
