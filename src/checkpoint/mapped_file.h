// A file mapped read-only, and a clear end where another process cuts it short while it is read.
//
// A page of a mapping that is no longer backed by the file raises SIGBUS wherever it is touched, in any thread and
// inside any library, so no exception can come of it. The first mapping installs a handler: for an address inside a
// mapping it writes one line that names the file to standard error and ends the process with ExitCode::kNotMeasured;
// every other SIGBUS goes to whoever handled it before. Records are flushed as they are measured, so nothing is lost.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace lenbench {

class MappedFile {
 public:
  // Throws Error naming the path when it is missing, a folder, no regular file, or cannot be mapped.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  MappedFile() = default;
  void* address_ = nullptr;
  std::size_t size_ = 0;
  struct Watched* watched_ = nullptr;
};

}  // namespace lenbench
