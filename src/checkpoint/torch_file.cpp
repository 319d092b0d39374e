// Looks for names that torch's writers always put into their zip directories.
#include "checkpoint/torch_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace lenbench {
namespace {

constexpr std::string_view kLocalFile("PK\x03\x04", 4), kEndOfDirectory("PK\x05\x06", 4);
constexpr std::int64_t kDirectoryBytes = std::int64_t{4} << 20;

}  // namespace

TorchFile torch_file_kind(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return TorchFile::kNone;
  std::ifstream file(path, std::ios::binary);
  std::string start(kLocalFile.size(), '\0');
  if (!file.read(start.data(), static_cast<std::streamsize>(start.size())) || start != kLocalFile) {
    return TorchFile::kNone;
  }
  file.seekg(0, std::ios::end);
  const std::int64_t size = file.tellg(), tail_bytes = std::min(size, kDirectoryBytes);
  file.seekg(size - tail_bytes);
  std::string tail(static_cast<std::size_t>(tail_bytes), '\0');
  file.read(tail.data(), tail_bytes);
  const auto holds = [&](std::string_view name) { return tail.find(name) != std::string::npos; };
  if (!file) return TorchFile::kNone;
  if (!holds(kEndOfDirectory)) return TorchFile::kCutOff;
  if (holds("/constants.pkl") && holds("/code/")) return TorchFile::kScript;
  if (holds("/archive_format")) return TorchFile::kExported;
  return holds("/data.pkl") ? TorchFile::kPickle : TorchFile::kNone;
}

void refuse_unreadable(TorchFile kind, const std::string& path) {
  if (kind == TorchFile::kCutOff) {
    throw Error(printable(path) +
                ": is a zip file (as torch writes them) without its end, so it was cut off; save or " +
                "copy it again");
  }
  if (kind != TorchFile::kExported) return;
  throw Error(printable(path) +
              ": is an exported program (.pt2), which this LibTorch cannot load from C++ without native code compiled "
              "into the file; save TorchScript with torch.jit.trace, or run the model as 'exec:...' (docs/exec.md)");
}

}  // namespace lenbench
