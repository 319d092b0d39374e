// The tasks by name. Adding one: a file with an entry function, and a line in catalog.def.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/task.h"

namespace lenbench {

// A document for the perplexity task: read by the caller (tasks open no files).
struct Document {
  std::string name;
  std::string bytes;  // valid UTF-8, not empty
};

// What a task may need beyond its parameters.
struct TaskResources {
  std::vector<Document> documents;  // for tasks with task_needs_documents()
};

// A parameter as users see it. Its value is one of `words` or, when low <= high, an integer in [low, high].
// `implicit_default` is for a parameter added to a task that already has published samples: while it has its default it
// is left out of TaskInfo::parameters, and so of the keys of random streams and of Records, which stay as they were.
struct ParameterSpec {
  std::string name;
  std::string fallback;  // the default, as text
  std::string meaning;
  std::vector<std::string> words;
  std::int64_t low = 1, high = 0;
  bool implicit_default = false;
};

// Names in catalogue order.
std::vector<std::string> task_names();
// One line on each task, parallel to task_names().
std::vector<std::string> task_summaries();
// A second name for a task with some parameters set; those given beside it win. Records carry the task's own name.
struct TaskAlias {
  std::string name, spec;
};
const std::vector<TaskAlias>& task_aliases();
// The parameters of a task. Throws Error on an unknown task ("did you mean").
std::vector<ParameterSpec> task_parameters(const std::string& name);
// Whether make_task() reads TaskResources::documents for it. False for an unknown task.
bool task_needs_documents(const std::string& name);

// What a parameter may be, in words: "false, true", "uniform or a whole number from 0 to 100".
std::string allowed_values(const ParameterSpec& spec);

// "train", "validation", "test".
std::string split_name(Split split);
// Throws Error on any other text.
Split parse_split(const std::string& text);

// Parses `NAME[:k=v,...][:vN]`. Throws Error on a malformed text; the name is not looked up.
TaskSpec parse_task_spec(std::string_view text);
// Parses a full sample address; the seed defaults to 0 and the split to test. Throws Error naming the part that is
// wrong.
SampleAddress parse_address(std::string_view text);
// The canonical spelling: parameters sorted, only those that differ from the default, version omitted when current,
// seed and split omitted from the end while they are 0 and test.
std::string format_address(const Task& task, const DrawKey& key);
std::string format_spec(const Task& task);

// Throws Error on an unknown task ("did you mean"), unknown or malformed parameter, a version this build cannot draw.
std::unique_ptr<Task> make_task(const TaskSpec& spec, const TaskResources& resources = {});

}  // namespace lenbench
