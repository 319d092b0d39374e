// What the program says beside its results: progress, notes and errors, all on standard error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace lenbench::cli {

// True when standard error is a terminal that understands cursor movement.
bool stderr_is_terminal();
// True when colour may be used on standard error: a terminal, and NO_COLOR is unset or empty.
bool colour_allowed();

// "lenbench: error: MESSAGE", one line; control characters and invalid UTF-8 in MESSAGE are escaped.
void print_error(std::string_view message);
// "lenbench: note: MESSAGE", one line.
void print_note(std::string_view message);
// No notes from here on.
void silence_notes();

// "1 h 02 min", "3 min 05 s", "12 s"; "" for a negative or non-finite duration.
std::string format_duration(double seconds);

// Writes to standard output. Remembers a failure for finish_stdout().
void print_out(std::string_view text);
// Flushes standard output. Returns false when something could not be written and the reader did not simply go away;
// a closed pipe is quiet.
bool finish_stdout();

// One line that is rewritten in place on a terminal; elsewhere only the lines given to `keep` appear.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows `text` until the next call. At most ten times a second; nothing when standard error is no terminal.
  void show(std::string_view text);
  // Prints `text` as a line that stays.
  void keep(std::string_view text);
  void clear();

 private:
  bool visible_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace lenbench::cli
