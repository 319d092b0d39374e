// What the program says beside its results: progress, notes and errors, all on standard error.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"

namespace lenbench::cli {
namespace {

bool notes_silent = false;
bool stdout_failed = false;
int stdout_errno = 0;

void put_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

bool environment_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0';
}

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void labelled(const char* label, const char* colour, std::string_view message) {
  std::string line = "lenbench: ";
  if (colour_allowed()) {
    line += colour;
    line += label;
    line += "\x1b[0m";
  } else {
    line += label;
  }
  line += " ";
  line += printable(message);
  line += "\n";
  put_stderr(line);
}

}  // namespace

bool stderr_is_terminal() {
  static const bool answer = [] {
    const char* term = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  }();
  return answer;
}

bool colour_allowed() { return stderr_is_terminal() && !environment_set("NO_COLOR"); }

void print_error(std::string_view message) { labelled("error:", "\x1b[1;31m", printable(message)); }

void silence_notes() { notes_silent = true; }

void print_note(std::string_view message) {
  if (!notes_silent) labelled("note:", "\x1b[1;36m", message);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "";
  const auto whole = static_cast<long long>(seconds + 0.5);
  char text[64];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
  } else if (whole >= 60) {
    std::snprintf(text, sizeof text, "%lld min %02lld s", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld s", whole);
  }
  return text;
}

void print_out(std::string_view text) {
  if (stdout_failed) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    stdout_failed = true;
    stdout_errno = errno;
  }
}

bool finish_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0 && !stdout_failed) {
    stdout_failed = true;
    stdout_errno = errno;
  }
  return !stdout_failed || stdout_errno == EPIPE;
}

void ProgressLine::show(std::string_view text) {
  if (!stderr_is_terminal()) return;
  const auto now = std::chrono::steady_clock::now();
  if (visible_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const std::size_t columns = terminal_columns();
  std::string line = "\r\x1b[K";
  line += text.size() < columns ? text : text.substr(0, columns - 1);
  put_stderr(line);
  std::fflush(stderr);
  visible_ = true;
}

void ProgressLine::keep(std::string_view text) {
  clear();
  put_stderr(text);
  put_stderr("\n");
}

void ProgressLine::clear() {
  if (!visible_) return;
  put_stderr("\r\x1b[K");
  std::fflush(stderr);
  visible_ = false;
}

}  // namespace lenbench::cli
