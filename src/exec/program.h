// A program that answers lines with lines: started, watched and always ended, with all that it started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace lenbench {

// Standard input and output carry one request and one answer at a time; standard error may be written at any time and
// is read only to be quoted. The command runs by `/bin/sh -c`. Not copied, not shared between threads.
class Program {
 public:
  // Starts `command`; it need not have started well, which the first exchange tells. Throws Error(kNotMeasured) when
  // the system gives no process or pipe.
  explicit Program(const std::string& command);
  // Closes the program's standard input, gives it two seconds to end by itself, then kills it. After end(): nothing.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Writes `request` (nothing when empty) and returns the program's next line without its line feed. Reading goes on
  // while writing, so neither side can block the other. Throws Error(kNotMeasured) and ends the program when no line
  // comes within `timeout_seconds`, the line is longer than `max_bytes`, or the program ends, closes its output or
  // stops reading; the message is the predicate of a sentence about the program ("ended with exit status 3; its last
  // lines on standard error: ...").
  std::string exchange(std::string_view request, double timeout_seconds, std::size_t max_bytes);

  // Kills the program and all that it started, now.
  void end();
  bool running() const { return guard_ > 0; }
  // The last lines of what it wrote to standard error, as "; its last lines on standard error: 'a' | 'b'"; empty when
  // it wrote nothing.
  std::string last_words() const;

 private:
  using Clock = std::chrono::steady_clock;
  void read_stderr();
  void close_stdin();
  // How the program ended, once its output is at its end: "ended with exit status 3". Waits for what is left of it.
  std::string ending();
  [[noreturn]] void fail(const std::string& predicate);

  pid_t guard_ = -1;
  int stdin_ = -1, stdout_ = -1, stderr_ = -1, control_ = -1, status_ = -1;
  std::string unread_;  // of standard output
  std::string tail_;    // of standard error
};

}  // namespace lenbench
