// Reads what Linux tells of this process.
#include "base/process_memory.h"

#include <fstream>
#include <string>

#include "base/numbers.h"

namespace lenbench {

std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  const std::string key = "VmHWM:";
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t first = line.find_first_of("0123456789");
    const std::size_t last = line.find_first_not_of("0123456789", first);
    if (first == std::string::npos) return 0;
    constexpr std::int64_t kKibibyte = 1024;
    return parse_int(line.substr(first, last - first), key) * kKibibyte;
  }
  return 0;
}

}  // namespace lenbench
