// Runs the built program as a user's shell would.
#pragma once

#include <sys/types.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lenbench::cli_test {

struct Outcome {
  int code = -1;   // exit code; -1 when a signal ended the process
  int signal = 0;  // that signal; 0: none
  std::string out, err;
  double seconds = 0;
  double cpu_seconds = 0;  // user and system
  long peak_kib = 0;       // resident set
};

struct Surroundings {
  std::map<std::string, std::string> environment;  // set in addition; an empty value unsets
  std::string folder;                              // working folder; empty: the test's own
  std::string out_path;                            // standard output goes to this file; empty: it is captured
  long file_limit_bytes = 0;                       // RLIMIT_FSIZE; 0: none
};

// A started process. Its output is captured in files, so that it never blocks on a full pipe.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments, const Surroundings& where = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Returns when the program has taken the signal, so that a second of its kind is a second and not the same.
  void send(int signal) const;
  // Waits at most `limit_seconds`, then kills it and fails the test.
  Outcome wait(double limit_seconds = 60);

 private:
  pid_t pid_ = -1;
  bool waited_ = false;
  double started_ = 0;
  std::string out_path_, err_path_;
};

using Words = std::vector<std::string>;

// `words` and `more` behind them.
Words with(Words words, const Words& more);

Outcome lenbench(const Words& arguments, const Surroundings& where = {});

// A folder of its own, removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string path(const std::string& name = "") const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

std::string slurp(const std::string& path);
void spill(const std::string& path, const std::string& bytes);
std::vector<std::string> lines_of(const std::string& text);  // without the line feeds
bool wait_until(const std::function<bool()>& holds, double limit_seconds);

// The one line that an Error makes on standard error.
testing::AssertionResult refused(const Outcome& outcome, int code, const std::string& mention);

}  // namespace lenbench::cli_test
