// The processes of one command: those that --jobs starts, or those that a launcher started.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "bench/backend.h"
#include "bench/shared_store.h"
#include "dist/local_ranks.h"
#include "dist/ranks.h"

namespace lenbench::cli {

// Ends the line about a rank that was lost.
inline std::string what_is_kept(bool has_output) {
  return has_output ? "; the same command resumes" : "; nothing is kept without -o FILE";
}

class RunRanks {
 public:
  // From --jobs (1: none) and the environment; 0: one process, whatever a launcher says. Throws Error when both ask for
  // ranks, or the environment contradicts itself.
  explicit RunRanks(int jobs);

  bool shared() const { return ranks_.world > 1; }
  bool leads() const { return ranks_.rank == 0; }
  const Ranks& ranks() const { return ranks_; }
  LocalRanks* locals() { return locals_.get(); }

  // CPU threads of this rank: those of --jobs share what --threads allows, or the machine.
  int threads(int wanted) const;
  // The device of this rank: "cuda" is that of its number on the machine.
  std::string device(const std::string& wanted) const;

  // Rank 0 of --jobs starts the others; nothing for other ranks. Call before threads are made.
  void start();
  // The store that the ranks share: rank 0 holds it, unless the launcher does.
  std::unique_ptr<SharedStore> connect(Backend& backend);
  // This rank among all, for work that needs every one of them.
  Membership membership(SharedStore& store) const;

 private:
  Ranks ranks_;
  int jobs_ = 1;  // local ranks of --jobs, in each of them
  ListeningSocket socket_;
  std::unique_ptr<LocalRanks> locals_;
};

// Ends the process, with one line and exit code 3, when a rank that it started dies: work that needs every rank would
// wait for it in vain.
class RankWatch {
 public:
  // `locals` may be null. `ending` is added to the line.
  RankWatch(LocalRanks* locals, const std::atomic<bool>* stop, std::string ending);
  // Gives the others time to end by themselves.
  ~RankWatch();
  // For a partner's failure that was noticed here: which rank died and how, once that is known; empty when no rank that
  // this process started did, or not soon.
  std::string cause() const;
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

 private:
  LocalRanks* locals_;
  const std::atomic<bool>* stop_;
  std::string ending_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;
  std::string cause_;
  std::thread thread_;
};

}  // namespace lenbench::cli
