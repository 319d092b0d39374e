// Maps files, and watches the mappings for SIGBUS.
#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/text.h"

namespace lenbench {

// One mapping, as the signal handler reads it. Entries are never freed, only used again, so that the handler may walk
// them whenever it comes.
struct Watched {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<const std::string*> message{nullptr};
  std::atomic<bool> in_use{false};
  Watched* next = nullptr;
};

namespace {

std::atomic<Watched*> all_watched{nullptr};
std::mutex watch_mutex;
struct sigaction previous_action = {};

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Watched* entry = all_watched.load(); entry != nullptr; entry = entry->next) {
    if (address < entry->begin.load() || address >= entry->end.load()) continue;
    const std::string* message = entry->message.load();
    if (message == nullptr) continue;
    std::size_t written = 0;
    while (written < message->size()) {
      const ssize_t count = write(STDERR_FILENO, message->data() + written, message->size() - written);
      if (count <= 0) break;
      written += static_cast<std::size_t>(count);
    }
    _exit(static_cast<int>(ExitCode::kNotMeasured));
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    // The instruction runs again and ends the process as it would have.
    std::signal(SIGBUS, SIG_DFL);
  }
}

Watched* watch(const void* address, std::size_t size, const std::string& path) {
  const std::lock_guard lock(watch_mutex);
  static bool is_installed = false;
  if (!is_installed) {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
    is_installed = true;
  }
  Watched* entry = all_watched.load();
  while (entry != nullptr && entry->in_use.load()) entry = entry->next;
  if (entry == nullptr) {
    entry = new Watched;
    entry->next = all_watched.load();
    all_watched.store(entry);
  }
  entry->in_use.store(true);
  delete entry->message.exchange(
      new std::string("lenbench: error: " + printable(path) +
                      ": was cut short by another program while it was read; copy the file again and start anew\n"));
  entry->begin.store(reinterpret_cast<std::uintptr_t>(address));
  entry->end.store(reinterpret_cast<std::uintptr_t>(address) + size);
  return entry;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const std::string shown = printable(path);
  // Without waiting: a named pipe would hold the call until somebody writes.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw Error(shown + ": cannot be opened (" + std::strerror(errno) + ")");
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{descriptor};
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw Error(shown + ": cannot be read (" + std::strerror(errno) + ")");
  if (S_ISDIR(status.st_mode)) throw Error(shown + ": is a folder, not a safetensors file");
  if (!S_ISREG(status.st_mode)) throw Error(shown + ": is not a regular file");
  std::shared_ptr<MappedFile> file(new MappedFile);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return file;
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    if (errno == ENOMEM) throw Error("out of memory: " + shown + " cannot be mapped", ExitCode::kNotMeasured);
    throw Error(shown + ": cannot be mapped (" + std::strerror(errno) + ")");
  }
  file->address_ = address;
  file->size_ = size;
  file->watched_ = watch(address, size, path);
  return file;
}

MappedFile::~MappedFile() {
  if (address_ == nullptr) return;
  {
    const std::lock_guard lock(watch_mutex);
    watched_->end.store(0);
    watched_->in_use.store(false);
  }
  munmap(address_, size_);
}

}  // namespace lenbench
