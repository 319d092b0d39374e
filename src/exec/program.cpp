// The side of lenbench: pipes that never block, one deadline a line.
#include "exec/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "exec/guard.h"

namespace lenbench {
namespace {

constexpr int kFirstFreeFile = 3;  // below stand the program's own streams
constexpr std::size_t kTailBytes = 8192;
constexpr std::size_t kQuotedLines = 5, kQuotedBytes = 600;
constexpr int kGraceMilliseconds = 2000;
// Between the end of a program's output and its own end, and for what is still in the pipe of its standard error.
constexpr int kEndingMilliseconds = 1000;

[[noreturn]] void throw_system(const char* what) {
  throw Error(std::string("no program can be started: ") + what + ": " + std::generic_category().message(errno),
              ExitCode::kNotMeasured);
}

void close_file(int& file) {
  if (file >= 0) close(file);
  file = -1;
}

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw_system("pipe");
    read_end = above_streams(ends[0]);
    write_end = above_streams(ends[1]);
  }
  ~Pipe() {
    close_file(read_end);
    close_file(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int take_read() { return std::exchange(read_end, -1); }
  int take_write() { return std::exchange(write_end, -1); }

 private:
  static int above_streams(int file) {
    if (file >= kFirstFreeFile) return file;
    const int moved = fcntl(file, F_DUPFD_CLOEXEC, kFirstFreeFile);
    close(file);
    if (moved < 0) throw_system("fcntl");
    return moved;
  }
};

void never_block(int file) { fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK); }

bool readable_within(int file, int milliseconds) {
  pollfd watched{file, POLLIN, 0};
  int found = 0;
  do {
    found = poll(&watched, 1, milliseconds);
  } while (found < 0 && errno == EINTR);
  return found > 0;
}

// Appends what one read gives, so that a program that never stops writing cannot keep the reader; false at the end of
// the file.
bool read_some(int file, std::string& bytes) {
  char buffer[65536];
  const ssize_t got = read(file, buffer, sizeof buffer);
  if (got > 0) bytes.append(buffer, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// write() that says EPIPE also where SIGPIPE is not ignored.
ssize_t write_quietly(int file, const char* bytes, std::size_t count) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t sent = write(file, bytes, count);
  const int error = errno;
  const timespec now{0, 0};
  if (sent < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) sigtimedwait(&pipe_signal, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return sent;
}

std::string signal_name(int number) {
  const char* description = strsignal(number);
  return std::to_string(number) + " (" + (description == nullptr ? "unknown" : description) + ")";
}

std::string ending_text(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + signal_name(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  std::string text = "ended with exit status " + std::to_string(code);
  if (code == 127) text += " (a shell's for a command that it does not find)";
  if (code > 128 && code <= 128 + SIGSYS) text += " (a shell's for signal " + signal_name(code - 128) + ")";
  return text;
}

}  // namespace

Program::Program(const std::string& command) {
  Pipe in, out, error, control, status;
  const GuardPipes pipes{in.read_end, out.write_end, error.write_end, control.read_end, status.write_end};
  guard_ = fork();
  if (guard_ < 0) throw_system("fork");
  if (guard_ == 0) {
    close(control.write_end);
    run_guard(command.c_str(), pipes);
  }
  stdin_ = in.take_write();
  stdout_ = out.take_read();
  stderr_ = error.take_read();
  control_ = control.take_write();
  status_ = status.take_read();
  for (const int file : {stdin_, stdout_, stderr_}) never_block(file);
}

Program::~Program() {
  if (!running()) return;
  close_stdin();
  // What it still writes is thrown away, so that a full pipe does not keep it from ending.
  close_file(stdout_);
  readable_within(status_, kGraceMilliseconds);
  end();
}

void Program::end() {
  if (!running()) return;
  close_file(control_);
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guard_ = -1;
  for (int* file : {&stdin_, &stdout_, &stderr_, &status_}) close_file(*file);
}

void Program::close_stdin() { close_file(stdin_); }

void Program::read_stderr() {
  if (stderr_ < 0) return;
  if (!read_some(stderr_, tail_)) close_file(stderr_);
  if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

std::string Program::last_words() const {
  std::vector<std::string> lines;
  for (const std::string& line : split(tail_, '\n')) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
  }
  if (lines.empty()) return "";
  if (lines.size() > kQuotedLines) lines.erase(lines.begin(), lines.end() - kQuotedLines);
  std::string text = join(lines, "' | '");
  if (text.size() > kQuotedBytes) text = "..." + text.substr(text.size() - kQuotedBytes);
  return "; its last lines on standard error: '" + text + "'";
}

std::string Program::ending() {
  int status = 0;
  if (!readable_within(status_, kEndingMilliseconds)) return "closed its standard output without ending";
  const bool told = read(status_, &status, sizeof status) == static_cast<ssize_t>(sizeof status);
  while (stderr_ >= 0 && readable_within(stderr_, kEndingMilliseconds)) read_stderr();
  return told ? ending_text(status) : "ended, and how is not known";
}

void Program::fail(const std::string& predicate) {
  read_stderr();
  const std::string message = predicate + last_words();
  end();
  throw Error(message, ExitCode::kNotMeasured);
}

std::string Program::exchange(std::string_view request, double timeout_seconds, std::size_t max_bytes) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds));
  std::size_t written = 0, searched = 0;
  while (true) {
    const std::size_t line_end = unread_.find('\n', searched);
    if (line_end != std::string::npos && (written == request.size() || stdin_ < 0)) {
      if (line_end > max_bytes) break;
      std::string line = unread_.substr(0, line_end);
      unread_.erase(0, line_end + 1);
      return line;
    }
    searched = line_end == std::string::npos ? unread_.size() : line_end;
    if (unread_.size() > max_bytes) break;
    if (stdout_ < 0) fail(ending());

    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) fail("gave no answer within " + format_real(timeout_seconds) + " s");
    const bool writing = stdin_ >= 0 && written < request.size();
    // poll() passes over negative files.
    pollfd watched[] = {{stdout_, POLLIN, 0}, {stderr_, POLLIN, 0}, {writing ? stdin_ : -1, POLLOUT, 0}};
    if (poll(watched, 3, static_cast<int>(std::min<std::int64_t>(left, 60'000))) < 0 && errno != EINTR) {
      fail("cannot be waited for: " + std::generic_category().message(errno));
    }
    if (watched[1].revents != 0) read_stderr();
    if (watched[2].revents != 0) {
      const ssize_t sent = write_quietly(stdin_, request.data() + written, request.size() - written);
      if (sent > 0) written += static_cast<std::size_t>(sent);
      // It reads no more; what it still has to say may be on its output.
      if (sent < 0 && errno == EPIPE) close_stdin();
    }
    if (watched[0].revents != 0 && !read_some(stdout_, unread_)) close_file(stdout_);
  }
  fail("wrote a line of more than " + std::to_string(max_bytes) + " bytes");
}

}  // namespace lenbench
