// What tests of several processes look at.
#pragma once

#include <gtest/gtest.h>
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

// `where`, as a launcher starts rank `number` of `world` whose rank 0 listens at `port`.
inline Surroundings launched(Surroundings where, const char* number, const char* world, int port) {
  where.environment["RANK"] = where.environment["LOCAL_RANK"] = number;
  where.environment["WORLD_SIZE"] = world;
  where.environment["MASTER_ADDR"] = "127.0.0.1";
  where.environment["MASTER_PORT"] = std::to_string(port);
  return where;
}

// Both ranks of a launcher end with 0, and rank 0 alone speaks.
inline void expect_both_ranks_run(const Words& run, const Surroundings& where) {
  const int port = free_port();
  Child second(run, launched(where, "1", "2", port)), first(run, launched(where, "0", "2", port));
  const Outcome led = first.wait(), joined = second.wait();
  EXPECT_EQ(led.code, 0) << led.err;
  EXPECT_EQ(joined.code, 0) << joined.err;
  EXPECT_EQ(joined.out + joined.err, "") << "rank 0 alone speaks";
}

// An interrupt after the first Record, of which `path` then holds one, ends `run` and all it started.
inline void expect_an_interrupt_stops_all(const Words& run, const std::string& path, const Surroundings& where = {}) {
  Child child(run, where);
  const bool begun = wait_until([&] { return lines_of(slurp(path)).size() == 1; }, 60);
  const std::vector<pid_t> workers = children_of(child.pid());
  child.send(SIGINT);
  const Outcome outcome = child.wait(30);
  ASSERT_TRUE(begun);
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("stopped; the same command resumes from"), std::string::npos) << outcome.err;
  for (const pid_t worker : workers) EXPECT_FALSE(lives(worker));
}

}  // namespace lenbench::cli_test
