// The index of sharded weights; a name that leaves the folder must not come through.
#include "checkpoint/index.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static lenbench::FuzzFile file;
  return lenbench::fuzz(data, size, [](std::string_view bytes) {
    for (const auto& [tensor, shard] : lenbench::read_weight_map(file.write(bytes))) {
      if (shard.empty() || shard == ".." || shard.find('/') != std::string::npos) std::abort();
    }
  });
}
