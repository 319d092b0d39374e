// The process between lenbench and a program it started. Written for the time after fork: no allocation, no locks.
#include "exec/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>

namespace lenbench {
namespace {

constexpr int kCannotStart = 127;  // what a shell says of a command that it does not find

void close_all_but(int* kept, int count) {
  std::sort(kept, kept + count);
  unsigned first = 3;
  for (int i = 0; i < count; ++i) {
    const auto keep = static_cast<unsigned>(kept[i]);
    if (keep > first) close_range(first, keep - 1, 0);
    first = keep + 1;
  }
  close_range(first, ~0U, 0);
}

[[noreturn]] void become_program(const char* command, const GuardPipes& pipes, pid_t guard) {
  setpgid(0, 0);
  // Should the guard itself be killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(kCannotStart);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGCHLD}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(pipes.program_stdin, STDIN_FILENO);
  dup2(pipes.program_stdout, STDOUT_FILENO);
  dup2(pipes.program_stderr, STDERR_FILENO);
  close_range(3, ~0U, 0);
  execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  _exit(kCannotStart);
}

// SIGKILL to every child. Orphans of killed ones become children in turn.
bool kill_children() {
  const int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  char bytes[4096];
  pid_t number = 0;
  for (ssize_t got = read(list, bytes, sizeof bytes); got > 0; got = read(list, bytes, sizeof bytes)) {
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[i] >= '0' && bytes[i] <= '9') {
        number = 10 * number + (bytes[i] - '0');
      } else {
        if (number > 0) kill(number, SIGKILL);
        number = 0;
      }
    }
  }
  close(list);
  return true;
}

void end_everything(pid_t program) {
  kill(-program, SIGKILL);
  while (true) {
    const bool known = kill_children();
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno != EINTR) return;
    if (ended != 0) continue;
    // Where the system does not list children, one outside the group cannot be ended and is not waited for. Where it
    // does, a list taken while another process exits may lack one (proc(5)), so that none is waited for without looking
    // again.
    if (!known) return;
    poll(nullptr, 0, 10);
  }
}

}  // namespace

void run_guard(const char* command, const GuardPipes& pipes) {
  // Ctrl-C in the terminal is for lenbench, which ends the program when it is done.
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "lenbench-guard");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, nullptr);
  int ended_children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t self = getpid();
  const pid_t program = ended_children < 0 ? -1 : fork();
  if (program == 0) become_program(command, pipes, self);
  if (program < 0) _exit(kCannotStart);
  setpgid(program, program);
  int kept[] = {pipes.control, pipes.status, ended_children};
  close_all_but(kept, 3);
  // A pipe of lenbench's own must not stay open for the guard's sake.
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);

  pollfd watched[] = {{pipes.control, POLLIN, 0}, {ended_children, POLLIN, 0}};
  while (true) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
    if (watched[0].revents != 0) break;
    signalfd_siginfo ignored;
    while (read(ended_children, &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    for (pid_t ended = waitpid(-1, &status, WNOHANG); ended > 0; ended = waitpid(-1, &status, WNOHANG)) {
      if (ended != program) continue;
      end_everything(program);
      while (write(pipes.status, &status, sizeof status) < 0 && errno == EINTR) {
      }
      _exit(0);
    }
  }
  end_everything(program);
  _exit(0);
}

}  // namespace lenbench
