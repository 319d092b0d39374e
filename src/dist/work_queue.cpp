// Tickets, leases and results.
#include "dist/work_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace lenbench {

namespace {

constexpr auto kShortestWait = std::chrono::milliseconds(2), kLongestWait = std::chrono::milliseconds(200);

std::string key(const char* name, std::int64_t number) { return fmt::format("{}/{}", name, number); }

// Waits that grow, so that many idle ranks do not keep the store busy.
class Wait {
 public:
  void once() {
    std::this_thread::sleep_for(next_);
    next_ = std::min<std::chrono::milliseconds>(2 * next_, kLongestWait);
  }

 private:
  std::chrono::milliseconds next_ = kShortestWait;
};

}  // namespace

WorkPlan WorkQueueWorker::wait_for_plan(double patience_seconds) {
  const auto start = std::chrono::steady_clock::now();
  Wait wait;
  std::optional<std::string> text;
  while (!(text = store_.get("plan"))) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > patience_seconds) {
      throw Error(fmt::format("rank 0 gave no plan within {:.0f} s", patience_seconds), ExitCode::kNotMeasured);
    }
    wait.once();
  }
  WorkPlan plan;
  const std::vector<std::string> words = split(*text, ' ');
  plan.sha256 = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) plan.todo.push_back(parse_uint(words[i], "an item of the plan"));
  return plan;
}

std::optional<std::size_t> WorkQueueWorker::take(const WorkPlan& plan, const std::atomic<bool>& stop) {
  if (stop || store_.get("over")) return std::nullopt;
  const std::int64_t ticket = store_.add("tickets", 1) - 1;
  store_.set(key("holder", ticket), id_);
  if (ticket < std::ssize(plan.todo)) return plan.todo[static_cast<std::size_t>(ticket)];
  for (Wait wait; !stop && !store_.get("over"); wait.once()) {
    const std::optional<std::string> item = store_.get(key("ticket", ticket));
    if (item) return parse_uint(*item, "the item of a ticket");
  }
  return std::nullopt;
}

void WorkQueueWorker::finish(std::size_t item, const std::string& result) {
  const std::int64_t number = store_.add("results", 1) - 1;
  store_.set(key("result", number), std::to_string(item) + " " + result);
}

bool WorkQueueWorker::beat() {
  store_.add("beat/" + id_, 1);
  return !store_.get("over");
}

WorkQueueLead::WorkQueueLead(SharedStore& store, WorkPlan plan, std::function<double()> seconds, double lease_seconds)
    : store_(store), plan_(std::move(plan)), seconds_(std::move(seconds)), lease_seconds_(lease_seconds) {
  std::string text = plan_.sha256;
  for (const std::size_t item : plan_.todo) {
    text += " " + std::to_string(item);
    open_.insert(std::ssize(issued_));
    issued_.push_back(item);
    items_.insert(item);
  }
  store_.set("plan", text);
}

std::vector<std::pair<std::size_t, std::string>> WorkQueueLead::collect() {
  const std::int64_t announced = store_.add("results", 0);
  for (; results_ < announced; ++results_) awaited_.insert(results_);
  std::vector<std::pair<std::size_t, std::string>> arrived;
  for (auto number = awaited_.begin(); number != awaited_.end();) {
    // A worker that died in between announced what never comes; its ticket is issued again.
    const std::optional<std::string> result = store_.get(key("result", *number));
    if (!result) {
      ++number;
      continue;
    }
    store_.erase(key("result", *number));
    number = awaited_.erase(number);
    const std::size_t space = result->find(' ');
    const std::size_t item = parse_uint(result->substr(0, space), "the item of a result");
    if (items_.contains(item) && done_.insert(item).second) arrived.emplace_back(item, result->substr(space + 1));
  }
  return arrived;
}

bool WorkQueueLead::is_dead(const std::string& id, double now) {
  if (buried_.contains(id)) return true;
  const std::string value = store_.get("beat/" + id).value_or("");
  Beat& beat = beats_.try_emplace(id, Beat{value, now}).first->second;
  if (beat.value != value) beat = {value, now};
  return now - beat.changed > lease_seconds_;
}

void WorkQueueLead::reissue(const std::set<std::string>& immortal) {
  const double now = seconds_();
  const std::int64_t drawn = store_.add("tickets", 0);
  std::map<std::string, bool> dead;  // each worker is looked at once
  std::vector<std::int64_t> lost;
  for (auto ticket = open_.begin(); ticket != open_.end();) {
    if (done_.contains(issued_[static_cast<std::size_t>(*ticket)])) {
      ticket = open_.erase(ticket);
      continue;
    }
    if (*ticket >= drawn) break;
    const std::optional<std::string> holder = store_.get(key("holder", *ticket));
    bool is_lost = false;
    if (!holder) {
      is_lost = now - unheld_.emplace(*ticket, now).first->second > lease_seconds_;
    } else if (!immortal.contains(*holder)) {
      const auto known = dead.find(*holder);
      is_lost = known != dead.end() ? known->second : (dead[*holder] = is_dead(*holder, now));
    }
    if (is_lost) lost.push_back(*ticket);
    ++ticket;
  }
  for (const std::int64_t ticket : lost) {
    const std::size_t item = issued_[static_cast<std::size_t>(ticket)];
    open_.erase(ticket);
    const std::int64_t next = std::ssize(issued_);
    issued_.push_back(item);
    open_.insert(next);
    store_.set(key("ticket", next), std::to_string(item));
  }
}

void WorkQueueLead::end() { store_.set("over", "yes"); }

}  // namespace lenbench
