// Ranks 1 to N-1 of a run on this machine, started by rank 0: copies of the program with the same command line.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "dist/ranks.h"

namespace lenbench {

// Set in a started rank: it is one of a --jobs run, and does not start others.
inline constexpr const char* kLocalRankVariable = "LENBENCH_LOCAL_RANK";

// A socket bound to a free port of 127.0.0.1. Throws Error.
struct ListeningSocket {
  int file = -1;
  int port = 0;
};
ListeningSocket listen_locally();

struct EndedRank {
  int rank = 0;
  pid_t pid = 0;
  bool killed = false;       // by a signal
  bool interrupted = false;  // it ended after an interrupt of its own
  std::string how;  // "killed by signal 9", "exit code 3: ITS LAST LINE"; empty: exit code 0, or an interrupt's
};

// Started ranks die with this process, whatever ends it, and none outlives this object.
class LocalRanks {
 public:
  // Starts ranks 1 to world - 1 with `words` (argv, the program first) and RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR
  // and MASTER_PORT. Their standard output and error go nowhere; what they say last is kept for EndedRank. The thread
  // that constructs this must live as long as it. Throws Error when one cannot be started.
  LocalRanks(std::string program, std::vector<std::string> words, int world, int port);
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  // Those that ended since the last call.
  std::vector<EndedRank> reap();
  // Starts a rank that ended again. False when that was done kMostRestarts times, or cannot be.
  bool restart(int rank);
  // To all that live.
  void signal(int number) const;
  // Waits until all have ended, at most so long; the rest is killed.
  void finish(double seconds);

  static constexpr int kMostRestarts = 20;

 private:
  struct Child {
    pid_t pid = 0;  // 0: ended
    int messages = -1;
    int restarts = 0;
  };
  bool start(int rank);

  std::string program_;
  std::vector<std::string> words_;
  int world_, port_;
  std::vector<Child> children_;  // of rank 1, 2, ...
};

}  // namespace lenbench
