// Runs the built program as a user's shell would.
#include "cli/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/base/sanitized.h"

namespace lenbench::cli_test {

namespace fs = std::filesystem;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string temp_file() {
  std::string path = (fs::temp_directory_path() / "lenbench-out-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file >= 0) close(file);
  return path;
}

void redirect(const std::string& path, int target) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) _exit(126);
  dup2(file, target);
  close(file);
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const Surroundings& where)
    : started_(now()), out_path_(temp_file()), err_path_(temp_file()) {
  std::vector<std::string> words = {LENBENCH_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    for (const auto& [name, value] : where.environment) {
      if (value.empty()) {
        unsetenv(name.c_str());
      } else {
        setenv(name.c_str(), value.c_str(), 1);
      }
    }
    if (!where.folder.empty() && chdir(where.folder.c_str()) != 0) _exit(126);
    redirect("/dev/null", STDIN_FILENO);
    redirect(where.out_path.empty() ? out_path_ : where.out_path, STDOUT_FILENO);
    redirect(err_path_, STDERR_FILENO);
    if (where.file_limit_bytes > 0) {
      const rlimit limit{static_cast<rlim_t>(where.file_limit_bytes), RLIM_INFINITY};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execv(argv[0], argv.data());
    _exit(127);
  }
}

Child::~Child() {
  if (!waited_ && pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove(out_path_, ignored);
  fs::remove(err_path_, ignored);
}

void Child::send(int signal) const {
  kill(pid_, signal);
  const std::string status = "/proc/" + std::to_string(pid_) + "/status";
  wait_until(
      [&] {
        const std::vector<std::string> lines = lines_of(slurp(status));
        const auto pending = std::find_if(lines.begin(), lines.end(),
                                          [](const std::string& line) { return line.starts_with("ShdPnd:"); });
        const bool ended = std::any_of(lines.begin(), lines.end(),
                                       [](const std::string& line) { return line.starts_with("State:\tZ"); });
        return ended || pending == lines.end() ||
               (std::stoull(pending->substr(7), nullptr, 16) >> (signal - 1)) % 2 == 0;
      },
      10);
}

Outcome Child::wait(double limit_seconds) {
  // A program with a sanitizer in it takes many times as long.
  if (kSanitized) limit_seconds *= 10;
  Outcome outcome;
  int status = 0;
  rusage usage{};
  const bool ended = wait_until([&] { return wait4(pid_, &status, WNOHANG, &usage) == pid_; }, limit_seconds);
  if (!ended) {
    ADD_FAILURE() << "the program did not end within " << limit_seconds << " s";
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  }
  waited_ = true;
  outcome.seconds = now() - started_;
  outcome.peak_kib = usage.ru_maxrss;
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  outcome.cpu_seconds = in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.out = slurp(out_path_);
  outcome.err = slurp(err_path_);
  return outcome;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Outcome lenbench(const Words& arguments, const Surroundings& where) { return Child(arguments, where).wait(); }

TempFolder::TempFolder() {
  std::string path = (fs::temp_directory_path() / "lenbench-test-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = path;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void spill(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

bool wait_until(const std::function<bool()>& holds, double limit_seconds) {
  const double end = now() + limit_seconds;
  while (!holds()) {
    if (now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

testing::AssertionResult refused(const Outcome& outcome, int code, const std::string& mention) {
  std::vector<std::string> errors;
  for (const std::string& line : lines_of(outcome.err)) {
    if (!line.starts_with("lenbench: note: ")) errors.push_back(line);
  }
  const bool one_line = errors.size() == 1 && errors.front().starts_with("lenbench: error: ") &&
                        outcome.err.ends_with("\n") && errors.front().find(mention) != std::string::npos;
  if (outcome.code == code && one_line && outcome.out.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "wanted exit " << code << " and one error line with \"" << mention
                                     << "\"; got exit " << outcome.code << ", signal " << outcome.signal
                                     << "\nstderr: " << outcome.err << "\nstdout: " << outcome.out;
}

}  // namespace lenbench::cli_test
