// Written specifications and addresses: what is read, what is refused, and what the refusal says.
#include "tasks/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "cases.h"
#include "tasks/entry.h"

namespace lenbench {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& spec) {
  try {
    testing_tasks::make(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

std::string address_refusal(const std::string& address) {
  try {
    parse_address(address);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TaskSpecText, IsRead) {
  const TaskSpec spec = parse_task_spec("recall:keys=1024,density=4:v1");
  EXPECT_EQ(spec.name, "recall");
  EXPECT_EQ(spec.given, (TaskParameters{{"keys", "1024"}, {"density", "4"}}));
  EXPECT_EQ(spec.version, 1);
  EXPECT_EQ(parse_task_spec("mqmtar").version, 0);
}

TEST(TaskSpecText, IsWrittenWithoutDefaults) {
  EXPECT_EQ(format_spec(*testing_tasks::make("recall:values=64,keys=0512:v1")), "recall:keys=512");
  EXPECT_EQ(format_spec(*testing_tasks::make("recall:keys=256")), "recall");
}

TEST(TaskSpecText, RefusalsNameTheCause) {
  EXPECT_THAT(refusal("recal"), HasSubstr("did you mean 'recall'"));
  EXPECT_THAT(refusal("recall:key=4"), HasSubstr("did you mean 'keys'"));
  EXPECT_THAT(refusal("recall:keys=0"), HasSubstr("from 1 to"));
  EXPECT_THAT(refusal("recall:keys=-1"), HasSubstr("from 1 to"));
  EXPECT_THAT(refusal("recall:density=1"), HasSubstr("from 2 to"));
  EXPECT_THAT(refusal("recall-dense:density=2"), HasSubstr("from 3 to"));
  EXPECT_THAT(refusal("recall-dense:symbols=5000"), HasSubstr("4096"));
  EXPECT_THAT(refusal("recall:keys=1e3"), HasSubstr("1e3"));
  EXPECT_THAT(refusal("recall:keys="), HasSubstr("keys"));
  EXPECT_THAT(refusal("recall:keys=99999999999999999999"), HasSubstr("keys"));
  EXPECT_THAT(refusal("recall:repeat=yes"), HasSubstr("false, true"));
  EXPECT_THAT(refusal("recall:keys=4,keys=5"), HasSubstr("twice"));
  EXPECT_THAT(refusal("recall:keys"), HasSubstr("'keys' is neither parameters nor a version"));
  EXPECT_THAT(refusal("recall:keys=4,"), HasSubstr("no '='"));
  EXPECT_THAT(refusal("recall:v9"), HasSubstr("version 9 cannot be drawn: this build has version 1"));
  EXPECT_THAT(refusal("recall:v0"), HasSubstr("does not exist"));
  EXPECT_THAT(refusal(""), HasSubstr("no task name"));
  EXPECT_THAT(refusal("Recall"), HasSubstr("no task name"));
  EXPECT_THAT(refusal("mqmtar:queries-with=distnct"), HasSubstr("did you mean 'distinct'"));
  EXPECT_THAT(refusal("niah-ids:depth=101"), HasSubstr("from 0 to 100"));
  EXPECT_THAT(refusal("niah-ids:keys=2"), HasSubstr("kind=single"));
  EXPECT_THAT(refusal("niah-ids:kind=multi-query,queries=4,keys=3"), HasSubstr("use 4 or more"));
  EXPECT_THAT(refusal("niah-ids:kind=multi-value,depth=5"), HasSubstr("depth=uniform"));
  EXPECT_THAT(refusal("niah-ids:kind=multi-key,keys=41,haystack=essay"), HasSubstr("40 depths"));
  EXPECT_THAT(refusal("text:stride=4"), HasSubstr("convention=sliding"));
}

TEST(AddressText, IsRead) {
  const SampleAddress full = parse_address("recall:keys=9:v1:64:7:3:train");
  EXPECT_EQ(full.task.given.at("keys"), "9");
  EXPECT_EQ(full.key.length, 64);
  EXPECT_EQ(full.key.index, 7U);
  EXPECT_EQ(full.key.seed, 3U);
  EXPECT_EQ(full.key.split, Split::kTrain);
  const SampleAddress bare = parse_address("mqmtar:128:0");
  EXPECT_EQ(bare.key.seed, 0U);
  EXPECT_EQ(bare.key.split, Split::kTest);
  EXPECT_EQ(parse_address("mqmtar:128:0:18446744073709551615").key.seed, ~std::uint64_t{0});
}

TEST(AddressText, IsWrittenInItsShortestForm) {
  const std::unique_ptr<Task> task = testing_tasks::make("mqmtar");
  EXPECT_EQ(format_address(*task, {64, 5, 0, Split::kTest}), "mqmtar:64:5");
  EXPECT_EQ(format_address(*task, {64, 5, 2, Split::kTest}), "mqmtar:64:5:2");
  EXPECT_EQ(format_address(*task, {64, 5, 0, Split::kTrain}), "mqmtar:64:5:0:train");
}

TEST(AddressText, RefusalsNameThePart) {
  EXPECT_THAT(address_refusal("mqmtar"), HasSubstr("length is missing"));
  EXPECT_THAT(address_refusal("mqmtar:64"), HasSubstr("index is missing"));
  EXPECT_THAT(address_refusal("mqmtar:64.5:0"), HasSubstr("64.5"));
  EXPECT_THAT(address_refusal("mqmtar:0:0"), HasSubstr("length is below 1"));
  EXPECT_THAT(address_refusal("mqmtar:64:-1"), HasSubstr("index"));
  EXPECT_THAT(address_refusal("mqmtar:64:0:x"), HasSubstr("seed"));
  EXPECT_THAT(address_refusal("mqmtar:64:0:0:tset"), HasSubstr("did you mean 'test'"));
  EXPECT_THAT(address_refusal("mqmtar:64:0:0:test:more"), HasSubstr("'more' is one part too many"));
}

TEST(TaskParametersList, HasEveryParameterWithAMeaning) {
  for (const std::string& name : task_names()) {
    const std::unique_ptr<Task> task = testing_tasks::make(name);
    const std::vector<ParameterSpec> specs = task_parameters(name);
    TaskParameters defaults;
    for (const ParameterSpec& spec : specs) {
      if (!spec.implicit_default) defaults[spec.name] = spec.fallback;
      EXPECT_FALSE(spec.meaning.empty());
      // A default must itself be an accepted value.
      EXPECT_EQ(refusal(name + ":" + spec.name + "=" + spec.fallback), "accepted");
    }
    EXPECT_EQ(task->info().parameters, defaults) << name;
  }
}

// A parameter that came later must not move the samples published before it: written with its default it changes
// neither parameters nor streams, written with another value it changes both.
TEST(TaskParametersList, ImplicitDefaultsLeaveKeysAlone) {
  TaskEntry before, after;
  before.name = after.name = "old";
  before.parameters = {{"a", "1", "there from the start", {}, 1, 9}};
  after.parameters = before.parameters;
  after.parameters.push_back({"b", "off", "added later", {"off", "on"}, 1, 0, true});
  const TaskInfo old_info = describe(before, {{"a", "1"}});
  const TaskInfo off = describe(after, {{"a", "1"}, {"b", "off"}});
  const TaskInfo on = describe(after, {{"a", "1"}, {"b", "on"}});
  EXPECT_EQ(off.parameters, old_info.parameters);
  EXPECT_EQ(on.parameters, (TaskParameters{{"a", "1"}, {"b", "on"}}));
  const DrawKey key = {64, 0, 0, Split::kTest};
  EXPECT_EQ(SampleStreams(off).shared_key(key), SampleStreams(old_info).shared_key(key));
  EXPECT_NE(SampleStreams(on).shared_key(key), SampleStreams(old_info).shared_key(key));
}

// Second names lead to the task and its parameters; what is written beside them wins, and Records say niah-ids.
TEST(TaskAliases, AreNamesOfSpecifications) {
  const auto spec = [](const std::string& text) { return format_spec(*testing_tasks::make(text)); };
  EXPECT_EQ(spec("niah-single-1"), "niah-ids");
  EXPECT_EQ(spec("niah-single-2"), "niah-ids:haystack=essay");
  EXPECT_EQ(spec("niah-single-2:depth=50"), "niah-ids:depth=50,haystack=essay");
  EXPECT_EQ(spec("niah-multikey-1:keys=8"), "niah-ids:haystack=essay,keys=8,kind=multi-key");
  EXPECT_EQ(spec("niah-multikey-3"), "niah-ids:haystack=needles,key-symbols=16,value-symbols=22");
  EXPECT_EQ(spec("niah-multiquery:haystack=noise"), "niah-ids:kind=multi-query");
  EXPECT_EQ(task_aliases().size(), 8U);
  const std::vector<std::string> names = task_names();
  for (const TaskAlias& alias : task_aliases()) {
    EXPECT_EQ(std::find(names.begin(), names.end(), alias.name), names.end());
    EXPECT_EQ(spec(alias.name), spec(alias.spec));
    EXPECT_THAT(testing_tasks::make(alias.name)->info().comparability, HasSubstr("inspired: "));
    EXPECT_EQ(task_parameters(alias.name).size(), task_parameters("niah-ids").size());
  }
  EXPECT_THAT(refusal("niah-singel-1"), HasSubstr("did you mean 'niah-single-1'"));
  EXPECT_THAT(refusal("niah-single-1:v9"), HasSubstr("version 9"));
}

TEST(TaskDocuments, AreNeededByTasksThatSaySo) {
  EXPECT_TRUE(task_needs_documents("text"));
  EXPECT_TRUE(task_needs_documents("niah-bytes"));
  EXPECT_FALSE(task_needs_documents("recall"));
  EXPECT_FALSE(task_needs_documents("no such task"));
  for (const std::string& name : task_names()) {
    if (task_needs_documents(name)) {
      EXPECT_THROW(make_task({name, {}, 0}), Error) << name;
    } else {
      EXPECT_NO_THROW(make_task({name, {}, 0})) << name;
    }
  }
}

// Whoever reads a Record sees what its numbers may be set beside.
TEST(TaskComparability, NamesItsLevel) {
  for (const std::string& name : task_names()) {
    const std::string text = testing_tasks::make(name)->info().comparability;
    EXPECT_TRUE(text.starts_with("exact: ") || text.starts_with("distributional: ") || text.starts_with("inspired: "))
        << name << ": " << text;
  }
}

}  // namespace
}  // namespace lenbench
