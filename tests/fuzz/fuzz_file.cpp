// A file of its own for one process, removed at the end.
#include <filesystem>
#include <fstream>

#include "fuzz/fuzz.h"

namespace lenbench {

FuzzFile::FuzzFile() {
  folder_ = (std::filesystem::temp_directory_path() / "lenbench-fuzz-XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) std::abort();
  path_ = folder_ + "/input.json";
}

FuzzFile::~FuzzFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

const std::string& FuzzFile::write(std::string_view bytes) {
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  return path_;
}

}  // namespace lenbench
