// Preloaded into the program by tests: makes one call fail as a full disk, a quota or a broken drive would, and turns
// clocks back.
//
//   LENBENCH_FAULT=CALL:N:ERRNO   the N-th CALL (write, fsync, rename) on a file fails, and every later one; a write
//   first puts
//                                 half of its bytes on the disk
//   LENBENCH_CLOCK_STEP=SECONDS   every look at the wall clock comes out that much earlier than the one before
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

struct Fault {
  char call[16] = "";
  int number = 0, error = 0;
  Fault() {
    const char* text = std::getenv("LENBENCH_FAULT");
    if (text != nullptr) std::sscanf(text, "%15[a-z]:%d:%d", call, &number, &error);
  }
};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool fails(const char* call) {
  static const Fault fault;
  static std::atomic<int> count{0};
  if (std::strcmp(call, fault.call) != 0 || ++count < fault.number) return false;
  errno = fault.error;
  return true;
}

bool is_file(int descriptor) {
  struct stat info {};
  const int before = errno;
  const bool answer = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  errno = before;
  return answer;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  static std::atomic<bool> torn{false};
  if (!is_file(descriptor) || !fails("write")) return real(descriptor, bytes, count);
  if (count > 1 && !torn.exchange(true)) return real(descriptor, bytes, count / 2);
  return -1;
}

int fsync(int descriptor) {
  static auto* const real = next<int(int)>("fsync");
  return fails("fsync") ? -1 : real(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return fails("rename") ? -1 : real(from, to);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  static const char* const step = std::getenv("LENBENCH_CLOCK_STEP");
  static std::atomic<long> looks{0};
  const int result = real(clock, time);
  if (step != nullptr && clock == CLOCK_REALTIME && result == 0) time->tv_sec -= std::atol(step) * ++looks;
  return result;
}

}  // extern "C"
