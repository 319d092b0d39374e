// What tests of several processes look at.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "cli/program.h"

namespace lenbench::cli_test {

inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code ignored;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::istringstream pids(slurp(task.path() / "children"));
    for (pid_t pid = 0; pids >> pid;) children.push_back(pid);
  }
  return children;
}

inline bool lives(pid_t pid) {
  std::istringstream stat(slurp("/proc/" + std::to_string(pid) + "/stat"));
  std::string number, name, state;
  return (stat >> number >> name >> state) && state != "Z";
}

inline int free_port() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(file, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
  close(file);
  return ntohs(address.sin_port);
}

}  // namespace lenbench::cli_test
