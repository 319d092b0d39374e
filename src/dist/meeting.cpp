// Each rank lays its terms into the store; rank 0 reads all and lays down the verdict.
#include "dist/meeting.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/text.h"

namespace lenbench {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(20);
constexpr auto kFarewell = std::chrono::seconds(2);
constexpr const char* kVerdict = "meeting/verdict";
constexpr const char* kReaders = "meeting/readers";

std::string key_of(int rank) { return "meeting/rank/" + std::to_string(rank); }

std::string written(int world, const Terms& terms) { return nlohmann::json({world, terms}).dump(); }

// Empty: the same.
std::string difference(const std::string& theirs, int rank, int world, const Terms& terms) {
  const nlohmann::json read = nlohmann::json::parse(theirs);
  const int other_world = read.at(0);
  if (other_world != world) {
    return fmt::format("rank {} was started as one of {} and rank 0 as one of {}", rank, other_world, world);
  }
  const auto other = read.at(1).get<Terms>();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i < other.size() && other[i] == terms[i]) continue;
    const std::string value = i < other.size() ? other[i].second : "";
    return fmt::format("{} of rank {} is '{}', and that of rank 0 is '{}'", terms[i].first, rank, printable(value),
                       printable(terms[i].second));
  }
  return "";
}

bool stopped(const MeetingOptions& options) { return options.stop != nullptr && options.stop->load(); }

// Calls look() until it gives a value, a stop, or `until`.
template <typename Look>
auto wait_for(const Look& look, const MeetingOptions& options, std::chrono::steady_clock::time_point until)
    -> decltype(look()) {
  for (;;) {
    if (auto found = look()) return found;
    if (stopped(options) || std::chrono::steady_clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(kLookEvery);
  }
}

[[noreturn]] void throw_missing(const MeetingOptions& options, int rank, int world) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.patience).count();
  throw Error(fmt::format("rank {} of {} did not come within {} s", rank, world, seconds), ExitCode::kNotMeasured);
}

}  // namespace

bool meet(const Membership& member, const Terms& terms, const MeetingOptions& options) {
  SharedStore& store = *member.store;
  const auto start = std::chrono::steady_clock::now(), until = start + options.patience;
  store.set(key_of(member.rank), written(member.world, terms));
  if (member.rank != 0) {
    // A little longer, as rank 0 says more of who is missing.
    const auto verdict = wait_for([&] { return store.get(kVerdict); }, options, until + std::chrono::milliseconds(500));
    if (stopped(options)) return false;
    if (!verdict) throw_missing(options, 0, member.world);
    store.add(kReaders, 1);
    if (!verdict->empty()) throw Error(*verdict);
    return true;
  }
  std::string refusal;
  for (int rank = 1; rank < member.world && refusal.empty(); ++rank) {
    const auto look = [&] { return store.get(key_of(rank)); };
    std::optional<std::string> theirs = wait_for(look, options, std::min(until, start + options.note_after));
    if (!theirs && !stopped(options) && std::chrono::steady_clock::now() < until) {
      if (options.note) options.note(fmt::format("waiting for rank {} of {}", rank, member.world));
      theirs = wait_for(look, options, until);
    }
    if (stopped(options)) return false;
    if (!theirs) throw_missing(options, rank, member.world);
    refusal = difference(*theirs, rank, member.world, terms);
  }
  if (!refusal.empty()) refusal += ": give all ranks the same command line, checkpoint and program";
  store.set(kVerdict, refusal);
  if (refusal.empty()) return true;
  // The store ends with this process: the others are to read it first.
  const auto all_read = [&]() -> std::optional<bool> {
    if (store.add(kReaders, 0) >= member.world - 1) return true;
    return std::nullopt;
  };
  wait_for(all_read, options, std::chrono::steady_clock::now() + kFarewell);
  throw Error(refusal);
}

void refuse_meeting(SharedStore& store) {
  store.set(kVerdict, "rank 0 was started without --split-sequence: give all ranks the same command line");
}

bool holds_meeting(SharedStore& store) { return store.get(key_of(0)).has_value(); }

}  // namespace lenbench
