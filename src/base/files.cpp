// Whole-file reading and atomic replacement on POSIX.
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace lenbench {

namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

[[noreturn]] void throw_unreadable(const std::string& path, const std::string& why) {
  throw Error(printable(path) + ": " + why);
}

[[noreturn]] void throw_unwritable(const std::string& path, int error) {
  throw Error(printable(path) + ": cannot be written: " + std::strerror(error), ExitCode::kNotMeasured);
}

// Removes the temporary file unless it took its final name.
struct Remover {
  std::string path;
  ~Remover() {
    if (!path.empty()) unlink(path.c_str());
  }
};

// Gives an open file without a name the first free one of `pattern`, which ends in XXXXXX; "" with errno set when it
// cannot be named.
std::string name_file(int file, const std::string& pattern) {
  constexpr int kMostTries = 1000;
  const std::string self = "/proc/self/fd/" + std::to_string(file);
  const std::string stem = pattern.substr(0, pattern.size() - 6);
  for (int number = 0; number < kMostTries; ++number) {
    std::string name = stem + std::to_string(getpid()) + "-" + std::to_string(number);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return name;
    if (errno != EEXIST) return "";
  }
  return "";
}

// The file that a chain of symbolic links ends at, so that the link itself survives a rename.
std::filesystem::path final_target(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;
  std::filesystem::path target = path;
  std::error_code ignored;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(target, ignored); ++i) {
    target = target.parent_path() / std::filesystem::read_symlink(target);
  }
  return target;
}

mode_t mode_for(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) return info.st_mode & 07777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

std::string read_file(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    throw_unreadable(path, errno == ENOENT ? "no such file" : std::string("cannot be opened: ") + std::strerror(errno));
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0) throw_unreadable(path, std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(info.st_mode)) throw_unreadable(path, "is a folder, not a file");
  std::string bytes;
  std::size_t filled = 0;
  bytes.resize(static_cast<std::size_t>(info.st_size) + 1);
  for (;;) {
    const ssize_t count = read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unreadable(path, std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
    // A pipe, or a file that grew meanwhile.
    if (filled == bytes.size()) bytes.resize(2 * bytes.size());
  }
  bytes.resize(filled);
  return bytes;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  std::filesystem::path target;
  try {
    target = final_target(path);
  } catch (const std::filesystem::filesystem_error& error) {
    throw_unwritable(path, error.code().value());
  }
  if (path.empty()) throw Error("an empty path cannot be written", ExitCode::kNotMeasured);
  std::error_code unknown;
  if (std::filesystem::is_directory(target, unknown)) throw_unwritable(path, EISDIR);
  if (unknown == std::errc::too_many_symbolic_link_levels) throw_unwritable(path, ELOOP);
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  // Without a name until it is whole, so that a killed process leaves nothing behind; not every file system can, and
  // naming it later takes /proc.
  File file(access("/proc/self/fd", X_OK) == 0 ? open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1);
  const bool nameless = file.get() >= 0;
  std::string temporary = (folder / ".lenbench-XXXXXX").string();
  Remover remover{};
  if (!nameless) {
    file = File(mkostemp(temporary.data(), O_CLOEXEC));
    if (file.get() < 0) throw_unwritable(path, errno);
    remover.path = temporary;
  }
  if (fchmod(file.get(), mode_for(target.string())) != 0) throw_unwritable(path, errno);
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t count = write(file.get(), bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unwritable(path, errno);
    written += static_cast<std::size_t>(count);
  }
  if (fsync(file.get()) != 0) throw_unwritable(path, errno);
  if (nameless) {
    temporary = name_file(file.get(), temporary);
    if (temporary.empty()) throw_unwritable(path, errno);
    remover.path = temporary;
  }
  // Some file systems report a full disk only here.
  if (close(file.release()) != 0) throw_unwritable(path, errno);
  if (rename(temporary.c_str(), target.c_str()) != 0) throw_unwritable(path, errno);
  remover.path.clear();
  // Makes the rename itself durable. Not every file system lets a folder be synced; the bytes are safe either way.
  const File folder_file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_file.get() >= 0) fsync(folder_file.get());
}

void create_parent_folders(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(printable(path) + ": its folder cannot be created: " + error.message());
}

}  // namespace lenbench
