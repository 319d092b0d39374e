// fork, exec and wait of local ranks.
#include "dist/local_ranks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/text.h"

extern char** environ;

namespace lenbench {

namespace {

constexpr int kInterrupted = 130;

std::string failure(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// The last line that a rank wrote, without the program's opening.
std::string last_line(int file) {
  char bytes[4096];
  const off_t end = lseek(file, 0, SEEK_END);
  const off_t first = end > static_cast<off_t>(sizeof bytes) ? end - static_cast<off_t>(sizeof bytes) : 0;
  const ssize_t count = pread(file, bytes, sizeof bytes, first);
  std::string text(bytes, count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  constexpr std::string_view kOpening = "lenbench: error: ";
  return printable(text.starts_with(kOpening) ? text.substr(kOpening.size()) : text);
}

std::string how_ended(int status, int messages) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code == 0 || code == kInterrupted) return "";
  const std::string line = last_line(messages);
  return "exit code " + std::to_string(code) + (line.empty() ? "" : ": " + line);
}

}  // namespace

ListeningSocket listen_locally() {
  ListeningSocket result;
  result.file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (result.file < 0 || bind(result.file, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(result.file, SOMAXCONN) != 0 ||
      getsockname(result.file, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string why = failure("no port of 127.0.0.1 could be opened for the ranks of --jobs");
    if (result.file >= 0) close(result.file);
    throw Error(why, ExitCode::kNotMeasured);
  }
  result.port = ntohs(address.sin_port);
  return result;
}

LocalRanks::LocalRanks(std::string program, std::vector<std::string> words, int world, int port)
    : program_(std::move(program)),
      words_(std::move(words)),
      world_(world),
      port_(port),
      children_(static_cast<std::size_t>(world - 1)) {
  for (int rank = 1; rank < world; ++rank) {
    if (start(rank)) continue;
    const std::string why = failure("a rank of --jobs could not be started");
    finish(0);
    throw Error(why, ExitCode::kNotMeasured);
  }
}

LocalRanks::~LocalRanks() { finish(0); }

bool LocalRanks::start(int rank) {
  // All that allocates comes before fork(): other threads may hold locks.
  std::vector<std::string> variables;
  const std::vector<std::pair<std::string, std::string>> own = {
      {"RANK", std::to_string(rank)},         {"WORLD_SIZE", std::to_string(world_)},
      {"LOCAL_RANK", std::to_string(rank)},   {"MASTER_ADDR", "127.0.0.1"},
      {"MASTER_PORT", std::to_string(port_)}, {kLocalRankVariable, std::to_string(rank)}};
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    // Another launcher's ranks are not these.
    bool replaced = variable.starts_with("TORCHELASTIC_") || variable.starts_with("OMPI_COMM_WORLD_") ||
                    variable.starts_with("SLURM_STEP_ID=");
    for (const auto& [name, value] : own) replaced = replaced || variable.starts_with(name + "=");
    if (!replaced) variables.push_back(variable);
  }
  for (const auto& [name, value] : own) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(words_), envp = pointers(variables);

  Child& child = children_[static_cast<std::size_t>(rank - 1)];
  if (child.messages >= 0) close(child.messages);
  child.messages = memfd_create("lenbench-rank", MFD_CLOEXEC);
  if (child.messages < 0) return false;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return false;
  if (pid > 0) {
    child.pid = pid;
    return true;
  }
  // A group of its own: a terminal's Ctrl-C reaches rank 0 alone, which passes it on once.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(child.messages, STDERR_FILENO);
  execve(program_.c_str(), argv.data(), envp.data());
  _exit(127);
}

std::vector<EndedRank> LocalRanks::reap() {
  std::vector<EndedRank> ended;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& child = children_[i];
    int status = 0;
    if (child.pid == 0 || waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
    ended.push_back({static_cast<int>(i) + 1, child.pid, WIFSIGNALED(status),
                     WIFEXITED(status) && WEXITSTATUS(status) == kInterrupted, how_ended(status, child.messages)});
    child.pid = 0;
  }
  return ended;
}

bool LocalRanks::restart(int rank) {
  Child& child = children_[static_cast<std::size_t>(rank - 1)];
  if (child.pid != 0 || child.restarts >= kMostRestarts) return false;
  ++child.restarts;
  return start(rank);
}

void LocalRanks::signal(int number) const {
  for (const Child& child : children_) {
    if (child.pid != 0) kill(child.pid, number);
  }
}

void LocalRanks::finish(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  const auto alive = [&] {
    reap();
    for (const Child& child : children_) {
      if (child.pid != 0) return true;
    }
    return false;
  };
  while (alive() && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  signal(SIGKILL);
  for (Child& child : children_) {
    if (child.pid != 0) waitpid(child.pid, nullptr, 0);
    child.pid = 0;
    if (child.messages >= 0) close(child.messages);
    child.messages = -1;
  }
}

}  // namespace lenbench
