// The loops of rank 0 and of the others around the work queue.
#include "dist/shared_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "bench/join.h"
#include "bench/measure.h"
#include "dist/work_queue.h"
#include "record/store.h"

namespace lenbench {

namespace {

constexpr double kPlanPatienceSeconds =
    1800;  // under a launcher's own store rank 0 may read a large checkpoint meanwhile
constexpr double kFarewellSeconds = 3;
constexpr auto kCollectEvery = std::chrono::milliseconds(5), kBeatEvery = std::chrono::milliseconds(500),
               kWatchEvery = std::chrono::milliseconds(20);
constexpr double kLookForDeadEverySeconds = 0.1;

std::string local_id(int rank, pid_t pid) { return fmt::format("{}:{}", rank, pid); }

// Unique among all that ever take part: a rank that was started again is another worker.
std::string worker_id(const Ranks& ranks) {
  if (ranks.source == kLocalRankVariable) return local_id(ranks.rank, getpid());
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}:{}:{}:{}", ranks.rank, host, getpid(),
                     std::chrono::system_clock::now().time_since_epoch().count());
}

// Takes items, measures them and sends the parts, until `stop` or the end of the run.
void work(Runner& runner, const RunPlan& plan, const ItemPlan& items, WorkQueueWorker& worker, const WorkPlan& todo,
          const std::atomic<bool>& stop) {
  while (const std::optional<std::size_t> item = worker.take(todo, stop)) {
    if (*item >= items.items.size()) throw Error(fmt::format("rank 0 asks item {}, which is not planned", *item));
    const Measured measured = runner.measure_item(plan, items, *item);
    if (!measured.finished) return;
    worker.finish(*item, to_json_line(measured.record));
  }
}

// The parts that have arrived, by Cell, and the time that the rest will take.
class Collection {
 public:
  Collection(const RunPlan& plan, const ItemPlan& items, const WorkPlan& todo, int world)
      : plan_(plan), items_(items), world_(world), start_(steady_seconds()) {
    for (const std::size_t item : todo.todo) {
      const Item& each = items.items[item];
      ++missing_[each.cell];
      samples_left_[each.cell] += each.samples;
      state_.num_samples += each.samples;
    }
    state_.num_cells = std::ssize(missing_);
  }

  // The Record of the item's Cell when this was its last part.
  std::optional<Record> take(std::size_t item, const std::string& line) {
    const Item& each = items_.items[item];
    Record part = record_from_json_line(line, fmt::format("item {} from its rank", item));
    forecast_.observe(plan_.cells[each.cell].total_tokens, each.samples, part.measurement.seconds);
    samples_left_[each.cell] -= each.samples;
    state_.samples_done += each.samples;
    state_.cell = &plan_.cells[each.cell];
    std::map<std::int64_t, Record>& parts = parts_[each.cell];
    parts.emplace(each.first, std::move(part));
    if (--missing_[each.cell] > 0) return std::nullopt;
    std::vector<const Record*> ordered;
    for (const auto& [first, record] : parts) ordered.push_back(&record);
    Record whole = join_parts(ordered);
    parts_.erase(each.cell);
    ++state_.cells_done;
    return whole;
  }

  RunProgress progress(bool last) {
    state_.seconds_elapsed = steady_seconds() - start_;
    state_.seconds_left = last ? 0 : seconds_left();
    if (last) state_.cell = nullptr;
    return state_;
  }

 private:
  double seconds_left() const {
    double seconds = 0;
    for (const auto& [cell, samples] : samples_left_) {
      if (samples == 0) continue;
      const double each = forecast_.predict(plan_.cells[cell].total_tokens, samples);
      if (each < 0) return -1;
      seconds += each;
    }
    return seconds / world_;
  }

  const RunPlan& plan_;
  const ItemPlan& items_;
  int world_;
  double start_;
  std::map<std::size_t, std::int64_t> missing_, samples_left_;  // parts and samples of each Cell
  std::map<std::size_t, std::map<std::int64_t, Record>> parts_;
  TimeForecast forecast_;
  RunProgress state_;
};

WorkPlan plan_work(const Runner& runner, const RunPlan& plan, const ItemPlan& items) {
  WorkPlan todo{items.sha256, {}};
  for (const std::size_t item : longest_first(items.items, plan)) {
    const Item& each = items.items[item];
    if (!each.skipped && !runner.is_recorded(plan.cells[each.cell])) todo.todo.push_back(item);
  }
  return todo;
}

void look_after(LocalRanks& locals, WorkQueueLead& queue, const RunMember& member) {
  for (const EndedRank& ended : locals.reap()) {
    queue.bury(local_id(ended.rank, ended.pid));
    if (ended.how.empty()) continue;
    const bool again = ended.killed && locals.restart(ended.rank);
    member.note(fmt::format("rank {} ended early ({}); {}what it was measuring is measured again", ended.rank,
                            ended.how, again ? "it is started again, and " : ""));
  }
}

// Ranks that are told that the run is over leave by themselves; those that died do not, and are not waited for long.
void say_farewell(SharedStore& store) {
  const double start = steady_seconds();
  while (store.add("left", 0) < store.add("arrived", 0) && steady_seconds() - start < kFarewellSeconds) {
    std::this_thread::sleep_for(kWatchEvery);
  }
}

}  // namespace

RunSummary lead_shared_run(Predictor& predictor, const RunOptions& options, const RunPlan& plan, const ItemPlan& items,
                           const RunMember& member, const Runner::Sink& sink, const Runner::Progress& progress) {
  std::atomic<bool> enough = false;  // for this process's own work
  RunOptions own = options;
  own.stop = &enough;
  Runner runner(predictor, own);
  RunSummary summary = runner.run_skipped(plan, sink);
  const WorkPlan todo = plan_work(runner, plan, items);
  WorkQueueLead queue(*member.store, todo, steady_seconds);
  Collection collection(plan, items, todo, member.ranks.world);
  const std::string id = worker_id(member.ranks);
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };

  std::exception_ptr failure;
  const auto collect = [&] {
    double looked = 0;
    while (!queue.all_done() && !stopped() && !enough) {
      bool any = false;
      for (const auto& [item, line] : queue.collect()) {
        any = true;
        const std::optional<Record> whole = collection.take(item, line);
        if (progress) progress(collection.progress(false));
        if (!whole) continue;
        summary.count(*whole);
        sink(*whole);
      }
      if (member.locals != nullptr) look_after(*member.locals, queue, member);
      if (steady_seconds() - looked > kLookForDeadEverySeconds) {
        queue.reissue({id});
        looked = steady_seconds();
      }
      if (!any) std::this_thread::sleep_for(kCollectEvery);
    }
    summary.stopped = !queue.all_done();
  };
  std::thread collector([&] {
    try {
      collect();
    } catch (...) {
      failure = std::current_exception();
    }
    enough = true;
    try {
      queue.end();
    } catch (const std::exception&) {
      // The store is in this process, or the launcher that holds it is gone with all ranks.
    }
  });

  std::exception_ptr own_failure;
  try {
    WorkQueueWorker worker(*member.store, id);
    work(runner, plan, items, worker, todo, enough);
  } catch (...) {
    own_failure = std::current_exception();
    enough = true;
  }
  collector.join();
  if (member.locals != nullptr) {
    if (summary.stopped) member.locals->signal(SIGINT);
    member.locals->finish(kFarewellSeconds);
  } else if (!own_failure && !failure) {
    say_farewell(*member.store);
  }
  if (own_failure) std::rethrow_exception(own_failure);
  if (failure) std::rethrow_exception(failure);
  if (progress && !summary.stopped) progress(collection.progress(true));
  return summary;
}

bool join_shared_run(Predictor& predictor, const RunOptions& options, const RunPlan& plan, const ItemPlan& items,
                     const RunMember& member) {
  SharedStore& store = *member.store;
  WorkQueueWorker worker(store, worker_id(member.ranks));
  const WorkPlan todo = worker.wait_for_plan(kPlanPatienceSeconds);
  if (todo.sha256 != items.sha256) {
    throw Error(
        fmt::format("rank {} plans other work than rank 0: give all ranks the same command line, checkpoint "
                    "and files",
                    member.ranks.rank));
  }
  store.add("arrived", 1);

  // Beats, and passes on a signal or the end of the run to the batch in work.
  std::atomic<bool> enough = false, over = false, leaving = false;
  std::exception_ptr lost;
  std::thread heart([&] {
    auto next_beat = std::chrono::steady_clock::now();
    while (!leaving && !enough) {
      if (options.stop != nullptr && options.stop->load()) enough = true;
      if (std::chrono::steady_clock::now() >= next_beat) {
        next_beat += kBeatEvery;
        try {
          if (!worker.beat()) over = enough = true;
        } catch (...) {
          lost = std::current_exception();
          enough = true;
        }
      }
      std::this_thread::sleep_for(kWatchEvery);
    }
  });

  std::exception_ptr failure;
  try {
    RunOptions own = options;
    own.stop = &enough;
    Runner runner(predictor, own);
    work(runner, plan, items, worker, todo, enough);
  } catch (...) {
    failure = std::current_exception();
  }
  leaving = true;
  heart.join();
  if (!over && failure) std::rethrow_exception(failure);
  if (!over && lost) std::rethrow_exception(lost);
  try {
    store.add("left", 1);
  } catch (const Error&) {
    // Rank 0 need not wait for this farewell.
  }
  return over || options.stop == nullptr || !options.stop->load();
}

}  // namespace lenbench
