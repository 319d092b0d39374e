// No death at any point loses an item or counts one twice.
#include "dist/work_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/bench/expect_error.h"
#include "tests/dist/memory_store.h"

namespace lenbench {
namespace {

const std::atomic<bool> kNever = false;

struct Queue {
  MemoryStore store;
  double now = 0;
  WorkPlan plan{"hash", {4, 2, 0, 1, 3}};
  WorkQueueLead lead{store, plan, [this] { return now; }, 10};
};

TEST(WorkQueue, HandsOutInOrderAndCollectsEachOnce) {
  Queue queue;
  WorkQueueWorker a(queue.store, "a"), b(queue.store, "b");
  EXPECT_EQ(a.wait_for_plan(1).sha256, "hash");
  EXPECT_EQ(b.wait_for_plan(1).todo, queue.plan.todo);
  EXPECT_EQ(a.take(queue.plan, kNever), 4U);
  EXPECT_EQ(b.take(queue.plan, kNever), 2U);
  b.finish(2, "two: {}");
  a.finish(4, "four");
  const auto arrived = queue.lead.collect();
  ASSERT_EQ(arrived.size(), 2U);
  EXPECT_EQ(arrived[0], std::pair(std::size_t{2}, std::string("two: {}")));
  EXPECT_TRUE(queue.lead.collect().empty());
  for (const std::size_t item : {0U, 1U, 3U}) {
    EXPECT_EQ(a.take(queue.plan, kNever), item);
    EXPECT_FALSE(queue.lead.all_done());
    a.finish(item, "x");
    EXPECT_EQ(queue.lead.collect().size(), 1U);
  }
  EXPECT_TRUE(queue.lead.all_done());
  queue.lead.end();
  EXPECT_FALSE(a.take(queue.plan, kNever));
  EXPECT_FALSE(a.beat());
}

TEST(WorkQueue, ItemsOfTheDeadAreIssuedAgain) {
  Queue queue;
  WorkQueueWorker dead(queue.store, "dead"), lives(queue.store, "lives");
  EXPECT_EQ(dead.take(queue.plan, kNever), 4U);
  EXPECT_EQ(lives.take(queue.plan, kNever), 2U);
  dead.beat();
  for (queue.now = 0; queue.now < 9; queue.now += 1) {
    lives.beat();
    queue.lead.reissue({});
  }
  EXPECT_EQ(queue.lead.reissued(), 0) << "nobody is dead within the lease";
  for (; queue.now < 13; queue.now += 1) {
    lives.beat();
    queue.lead.reissue({});
  }
  EXPECT_EQ(queue.lead.reissued(), 1);
  for (const std::size_t item : {0U, 1U, 3U, 4U}) EXPECT_EQ(lives.take(queue.plan, kNever), item);
  // The dead one was only slow: its result counts, and the second one of the item does not.
  dead.finish(4, "slow");
  lives.finish(4, "again");
  const auto arrived = queue.lead.collect();
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived[0].second, "slow");
}

TEST(WorkQueue, ADeathThatIsKnownNeedsNoLease) {
  Queue queue;
  WorkQueueWorker dead(queue.store, "dead");
  EXPECT_EQ(dead.take(queue.plan, kNever), 4U);
  queue.lead.bury("dead");
  queue.lead.reissue({});
  EXPECT_EQ(queue.lead.reissued(), 1);
  queue.lead.reissue({});
  EXPECT_EQ(queue.lead.reissued(), 1) << "once is enough";
}

// Dies after drawing a ticket and before saying so, and after announcing a result and before giving it.
TEST(WorkQueue, DeathsBetweenTwoCallsLoseNothing) {
  Queue queue;
  queue.store.add("tickets", 1);
  queue.store.add("results", 1);
  WorkQueueWorker lives(queue.store, "lives");
  for (const std::size_t item : {2U, 0U, 1U, 3U}) {
    EXPECT_EQ(lives.take(queue.plan, kNever), item);
    lives.finish(item, "x");
  }
  EXPECT_EQ(queue.lead.collect().size(), 4U);
  queue.lead.reissue({});
  queue.now = 11;
  queue.lead.reissue({});
  EXPECT_EQ(lives.take(queue.plan, kNever), 4U);
  lives.finish(4, "x");
  EXPECT_EQ(queue.lead.collect().size(), 1U);
  EXPECT_TRUE(queue.lead.all_done());
}

TEST(WorkQueue, StopsWithTheFlagAndSaysWhenRankZeroIsGone) {
  Queue queue;
  WorkQueueWorker worker(queue.store, "w");
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(worker.take(queue.plan, stop));
  queue.store.gone = true;
  EXPECT_NE(error_of([&] { worker.take(queue.plan, kNever); }).find("rank 0 is gone"), std::string::npos);
  MemoryStore empty;
  WorkQueueWorker early(empty, "e");
  EXPECT_NE(error_of([&] { early.wait_for_plan(0.01); }).find("gave no plan"), std::string::npos);
}

}  // namespace
}  // namespace lenbench
