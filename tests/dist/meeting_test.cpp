// Ranks that look at one another before they begin.
#include "dist/meeting.h"

#include <gtest/gtest.h>

#include <future>

#include "memory_store.h"
#include "tests/base/expect_error.h"

namespace lenbench {
namespace {

using std::chrono::milliseconds;

const Terms kTerms = {{"checkpoint", "abc"}, {"--dtype", "float32"}};

MeetingOptions soon() {
  MeetingOptions options;
  options.note_after = milliseconds(30);
  options.patience = milliseconds(200);
  return options;
}

// What meet() says on a rank: "met", "stopped", or its error.
std::string outcome(SharedStore& store, int rank, int world, const Terms& terms,
                    const MeetingOptions& options = soon()) {
  try {
    return meet({&store, rank, world, true}, terms, options) ? "met" : "stopped";
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
}

std::future<std::string> begin(SharedStore& store, int rank, int world, const Terms& terms,
                               const MeetingOptions& options = soon()) {
  return std::async(std::launch::async,
                    [&store, rank, world, terms, options] { return outcome(store, rank, world, terms, options); });
}

TEST(Meeting, AllComeWithTheSameTerms) {
  MemoryStore store;
  auto second = begin(store, 2, 3, kTerms), first = begin(store, 1, 3, kTerms);
  EXPECT_EQ(outcome(store, 0, 3, kTerms), "met");
  EXPECT_EQ(first.get(), "met");
  EXPECT_EQ(second.get(), "met");
}

TEST(Meeting, OtherTermsAreRefusedOnEveryRank) {
  MemoryStore store;
  const Terms other = {{"checkpoint", "abc"}, {"--dtype", "float64"}};
  auto first = begin(store, 1, 3, kTerms), second = begin(store, 2, 3, other);
  const std::string line = outcome(store, 0, 3, kTerms);
  EXPECT_EQ(line.substr(0, 2), "2 ");
  EXPECT_NE(line.find("--dtype of rank 2 is 'float64', and that of rank 0 is 'float32'"), std::string::npos) << line;
  EXPECT_EQ(first.get(), line);
  EXPECT_EQ(second.get(), line);
}

TEST(Meeting, AnotherNumberOfRanksIsRefused) {
  MemoryStore store;
  auto first = begin(store, 1, 3, kTerms);
  const std::string line = outcome(store, 0, 2, kTerms);
  EXPECT_NE(line.find("rank 1 was started as one of 3 and rank 0 as one of 2"), std::string::npos) << line;
  EXPECT_EQ(first.get(), line);
}

TEST(Meeting, WhoIsMissingIsNotedAndThenAFailure) {
  MemoryStore store;
  std::vector<std::string> notes;
  MeetingOptions options = soon();
  options.note = [&](const std::string& text) { notes.push_back(text); };
  auto second = begin(store, 2, 3, kTerms);
  EXPECT_EQ(outcome(store, 0, 3, kTerms, options), "3 rank 1 of 3 did not come within 0 s");
  EXPECT_EQ(notes, std::vector<std::string>{"waiting for rank 1 of 3"});
  EXPECT_EQ(second.get(), "3 rank 0 of 3 did not come within 0 s");
}

TEST(Meeting, AStopEndsTheWaiting) {
  MemoryStore store;
  std::atomic<bool> stop = false;
  MeetingOptions options;
  options.stop = &stop;
  auto leader = begin(store, 0, 2, kTerms, options), other = begin(store, 2, 3, kTerms, options);
  EXPECT_EQ(leader.wait_for(milliseconds(50)), std::future_status::timeout);
  stop = true;
  EXPECT_EQ(leader.get(), "stopped");
  EXPECT_EQ(other.get(), "stopped");
}

TEST(Meeting, RunsOfBothKindsNoticeOneAnother) {
  MemoryStore split, shared;
  EXPECT_FALSE(holds_meeting(split));
  outcome(split, 0, 2, kTerms);
  EXPECT_TRUE(holds_meeting(split));
  refuse_meeting(shared);
  EXPECT_NE(outcome(shared, 1, 2, kTerms).find("without --split-sequence"), std::string::npos);
}

}  // namespace
}  // namespace lenbench
