// A file of samples (`run --data`), and the texts that name tasks, samples and lengths.
#include "base/lengths.h"
#include "fuzz/fuzz.h"
#include "tasks/catalog.h"
#include "tasks/sample_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lenbench::fuzz(data, size, [](std::string_view bytes) {
    const lenbench::SampleFile file = lenbench::read_sample_file(std::string(bytes), "f");
    for (const std::int64_t length : file.lengths) {
      for (std::uint64_t index = 0; index < file.task->available(length); ++index) {
        file.task->draw({length, index, file.seed, file.split});
      }
    }
  });
  if (size > 200) return 0;
  lenbench::fuzz(data, size, [](std::string_view bytes) { lenbench::parse_address(bytes); });
  return lenbench::fuzz(data, size, [](std::string_view bytes) { lenbench::parse_lengths(bytes); });
}
