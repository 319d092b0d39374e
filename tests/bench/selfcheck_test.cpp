// A sound task passes its self-check; each kind of unsound task is found out.
#include "bench/selfcheck.h"

#include <gmock/gmock.h>

#include <cmath>

#include "bench/doubles.h"
#include "tasks/catalog.h"
#include "tests/bench/fake_task.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTime = "1970-01-01T00:00:00Z";

std::shared_ptr<const Task> named(const std::string& spec) {
  TaskResources resources;
  const TaskSpec parsed = parse_task_spec(spec);
  if (task_needs_documents(parsed.name)) {
    std::string bytes;
    while (bytes.size() < 20000) bytes += "In the beginning was the word, and it was short. ";
    resources.documents.push_back({"a", bytes});
  }
  return make_task(parsed, resources);
}

std::vector<std::string> names_of(const std::vector<Record>& records) {
  std::vector<std::string> names;
  for (const Record& record : records) names.push_back(record.subject.name);
  return names;
}

TEST(SelfCheck, EveryTaskOfTheCatalogueIsSound) {
  for (const std::string& name : task_names()) {
    const SelfCheck result = self_check(named(name), 256, 50, kTime);
    EXPECT_EQ(result.skipped, "") << name;
    EXPECT_THAT(result.problems, IsEmpty()) << name;
    EXPECT_FALSE(result.floors.empty()) << name;
  }
}

TEST(SelfCheck, FloorsAreRecordsOfTheShortcuts) {
  EXPECT_THAT(names_of(self_check(named("recall"), 64, 10, kTime).floors),
              ElementsAre("blind", "last-value", "most-frequent"));
  EXPECT_THAT(names_of(self_check(named("text"), 64, 10, kTime).floors), ElementsAre("uniform"));
}

// By hand: with write probability w the last bit read is right with w + (1 - w) / 2.
TEST(SelfCheck, LastValueHasAKnownFloorOnFlipFlop) {
  for (const int percent : {10, 80}) {
    const auto task = named("flip-flop:write=" + std::to_string(percent));
    const SelfCheck result = self_check(task, 64, 2000, kTime);
    const double write = percent / 100.0, right = write + (1 - write) / 2;
    const double deviation = std::sqrt(right * (1 - right) / 2000);
    EXPECT_NEAR(result.floors.at(1).measurement.answer->value, right, 4 * deviation);
  }
}

// By hand: a sorted string of 1,024 symbols of 32 repeats the answer before in all but 31 of 1,024 answers; the first
// answer, 0, is right only if the string ends in 0.
TEST(SelfCheck, RepeatingTheAnswerBeforeIsAStrongFloorOnSort) {
  const SelfCheck result = self_check(named("sort"), 1024, 20, kTime);
  EXPECT_NEAR(result.floors.at(1).measurement.answer->value, 992.0 / 1024, 0.002);
  EXPECT_EQ(result.floors.at(1).measurement.exact->right, 0);
}

TEST(SelfCheck, TooShortALengthIsSkippedWithTheReason) {
  const SelfCheck result = self_check(named("mqmtar"), 4, 10, kTime);
  EXPECT_THAT(result.skipped, HasSubstr("too short"));
  EXPECT_THAT(result.problems, IsEmpty());
}

// A task that a shortcut solves is no test.
TEST(SelfCheck, FindsATaskThatAShortcutSolves) {
  const SelfCheck result = self_check(named("flip-flop:write=100"), 64, 50, kTime);
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("last-value has all 50 answers")));
}

// Says that chance is a half when it is a quarter, and has no solver.
class WrongChance : public FakeTask {
 public:
  WrongChance() : FakeTask({.tokens_per_answer = 1}) {}
  double chance() const override { return 0.5; }
};

TEST(SelfCheck, FindsAWrongChanceAndAMissingSolver) {
  const SelfCheck result = self_check(std::make_shared<WrongChance>(), 64, 200, kTime);
  EXPECT_THAT(result.problems, ::testing::Contains(HasSubstr("chance is 0.500000")));
  EXPECT_THAT(result.problems, ::testing::Contains(HasSubstr("the solver does not find")));
}

}  // namespace
}  // namespace lenbench
