// Items of work handed out through a shared store, so that no death of a process loses one.
//
// Keys: `plan` (what is to be done), `tickets` (how many were drawn), `ticket/T` (the item of a ticket beyond those of
// the plan), `holder/T` (who drew it), `results` and `result/K` (what came out, in order of arrival), `beat/W` (grows
// while worker W lives), `over` (how the run ended). A worker draws a ticket and asks its item; a ticket whose holder
// is dead, or that nobody says to hold, is issued again under the next number. Two results of one item are the same,
// and the first counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/shared_store.h"

namespace lenbench {

struct WorkPlan {
  std::string sha256;             // of the items: workers with another plan stop
  std::vector<std::size_t> todo;  // item of ticket 0, 1, ...
};

// One process that works; `id` is unique among all that ever take part.
class WorkQueueWorker {
 public:
  WorkQueueWorker(SharedStore& store, std::string id) : store_(store), id_(std::move(id)) {}

  // The plan, as soon as it is there. Throws Error when it takes longer than `patience_seconds`.
  WorkPlan wait_for_plan(double patience_seconds);
  // The next item; waits while others may still die. None when the run is over, or `stop` turns true.
  std::optional<std::size_t> take(const WorkPlan& plan, const std::atomic<bool>& stop);
  void finish(std::size_t item, const std::string& result);
  // Says that this worker lives. False when the run is over.
  bool beat();

 private:
  SharedStore& store_;
  std::string id_;
};

// The one process that hands out and collects.
class WorkQueueLead {
 public:
  // Seconds without a beat after which a worker is dead.
  static constexpr double kLeaseSeconds = 15;

  // `seconds` is a clock that only grows.
  WorkQueueLead(SharedStore& store, WorkPlan plan, std::function<double()> seconds,
                double lease_seconds = kLeaseSeconds);

  // Results that arrived since the last call, one of each item.
  std::vector<std::pair<std::size_t, std::string>> collect();
  // Issues the items of dead workers again. Workers in `immortal` need no beat.
  void reissue(const std::set<std::string>& immortal);
  // A worker whose end is known.
  void bury(const std::string& id) { buried_.insert(id); }
  bool all_done() const { return done_.size() == items_.size(); }
  std::int64_t reissued() const { return std::ssize(issued_) - std::ssize(plan_.todo); }
  // Tells all workers that there is no more work.
  void end();

 private:
  struct Beat {
    std::string value;
    double changed = 0;
  };
  bool is_dead(const std::string& id, double now);

  SharedStore& store_;
  WorkPlan plan_;
  std::function<double()> seconds_;
  double lease_seconds_;
  std::set<std::size_t> items_, done_;
  std::vector<std::size_t> issued_;        // item of each ticket
  std::set<std::int64_t> open_;            // tickets drawn or to be drawn whose item is not done and not issued again
  std::map<std::int64_t, double> unheld_;  // drawn tickets without a holder, and since when
  std::set<std::int64_t> awaited_;         // numbers of results that were announced and are not there yet
  std::int64_t results_ = 0;
  std::map<std::string, Beat> beats_;
  std::set<std::string> buried_;
};

}  // namespace lenbench
