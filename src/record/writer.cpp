// The append-only writer: one write and one fsync a Record, under a lock.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "record/lines.h"
#include "record/store.h"

namespace lenbench {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw Error(printable(path) + ": " + problem);
}

// All bytes on disk, or false with errno set.
bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return fsync(file) == 0;
}

// Copies the torn bytes to the first free PATH.torn-N and returns that name.
std::string save_torn_bytes(const std::string& path, std::string_view bytes) {
  for (int n = 1;; ++n) {
    const std::string aside = path + ".torn-" + std::to_string(n);
    const int file = open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    const bool saved = file >= 0 && write_all(file, bytes);
    const int error = errno;
    if (file >= 0) close(file);
    if (!saved) refuse(aside, std::string("the torn end of the file cannot be saved: ") + std::strerror(error));
    return aside;
  }
}

}  // namespace

RecordWriter::RecordWriter(const std::string& path, OpenMode mode) : path_(path) {
  create_parent_folders(path);
  try {
    open_and_lock();
    take_over(mode);
  } catch (...) {
    discard();
    throw;
  }
}

RecordWriter::~RecordWriter() { discard(); }

void RecordWriter::discard() {
  if (file_ < 0) return;
  if (created_ && !appended_) unlink(path_.c_str());
  close(file_);
  file_ = -1;
}

void RecordWriter::open_and_lock() {
  for (;;) {
    // Two steps, to know whether the file is ours to remove.
    file_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    created_ = file_ >= 0;
    if (file_ < 0 && errno == EEXIST)
      file_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file_ < 0 && errno == EISDIR) refuse(path_, "is a folder: name a file for the records");
    if (file_ < 0) refuse(path_, std::string("cannot be opened for writing: ") + std::strerror(errno));
    struct stat held {
    }, named{};
    if (fstat(file_, &held) != 0 || !S_ISREG(held.st_mode)) refuse(path_, "is not a regular file");
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      created_ = false;
      if (errno == EWOULDBLOCK) refuse(path_, "another lenbench is writing to it: wait, or choose another file");
      refuse(path_, std::string("cannot be locked: ") + std::strerror(errno));
    }
    // Its last writer may have removed the empty file between our open and our lock.
    if (stat(path_.c_str(), &named) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev) return;
    close(file_);
    file_ = -1;
  }
}

void RecordWriter::take_over(OpenMode mode) {
  const std::string bytes = read_file(path_);
  if (mode == OpenMode::kNew && !bytes.empty()) {
    refuse(path_, "exists: resume it, overwrite it or choose another file");
  }
  RecordLines lines = parse_record_lines(bytes, path_);
  if (mode == OpenMode::kOverwrite) {
    if (ftruncate(file_, 0) != 0) refuse(path_, std::string("cannot be emptied: ") + std::strerror(errno));
    return;
  }
  if (lines.torn_bytes > 0) {
    const std::size_t whole = bytes.size() - lines.torn_bytes;
    const std::string aside = save_torn_bytes(path_, std::string_view(bytes).substr(whole));
    if (ftruncate(file_, static_cast<off_t>(whole)) != 0 || fsync(file_) != 0) {
      refuse(path_, std::string("its torn end cannot be removed: ") + std::strerror(errno));
    }
    note_ = printable(path_) + ": the last " + std::to_string(lines.torn_bytes) +
            " bytes were no whole record (a run was killed while it wrote) and are now in " + printable(aside);
  } else if (lines.unterminated && !write_all(file_, "\n")) {
    refuse(path_, std::string("cannot be written: ") + std::strerror(errno));
  }
  existing_ = std::move(lines.records);
}

void RecordWriter::append(const Record& record) {
  const std::string line = to_json_line(record) + "\n";
  const off_t end = lseek(file_, 0, SEEK_END);
  if (end >= 0 && write_all(file_, line)) {
    appended_ = true;
    return;
  }
  const int error = errno;
  std::string problem = printable(path_) + ": a record cannot be written: " + std::strerror(error);
  // A reader would report what is left of the line as torn, so a failure here loses no Record.
  if (end < 0 || ftruncate(file_, end) != 0) problem += "; its last line is cut short";
  throw Error(problem, ExitCode::kNotMeasured);
}

}  // namespace lenbench
