// The circumstances of a measurement, as far as the program can tell them.
#include "cli/setting.h"

#include <fmt/chrono.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/build_info.h"

namespace lenbench::cli {

namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

std::string utc_now() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

Setting make_setting(const std::string& torch_version, int threads) {
  Setting setting;
  setting.lenbench_version = version();
  setting.commit = commit();
  setting.torch_version = torch_version;
  setting.cpu = cpu_name();
  setting.threads = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  return setting;
}

}  // namespace lenbench::cli
