// The list of tasks, and the way from a written specification to a task with checked parameters.
#include "tasks/catalog.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "tasks/entry.h"

namespace lenbench {

#define LENBENCH_TASK(name) const TaskEntry& name##_entry();
#include "tasks/catalog.def"
#undef LENBENCH_TASK

namespace {

const std::vector<const TaskEntry*>& entries() {
  static const std::vector<const TaskEntry*> all = {
#define LENBENCH_TASK(name) &name##_entry(),
#include "tasks/catalog.def"
#undef LENBENCH_TASK
  };
  return all;
}

const TaskEntry& find_entry(const std::string& name) {
  for (const TaskEntry* entry : entries()) {
    if (entry->name == name) return *entry;
  }
  std::vector<std::string> names = task_names();
  for (const TaskAlias& alias : task_aliases()) names.push_back(alias.name);
  throw Error("unknown task '" + printable(name) + "'" + did_you_mean(name, names) +
              "; `lenbench list tasks` shows all of them");
}

// The specification without an alias.
TaskSpec unaliased(const TaskSpec& spec) {
  for (const TaskAlias& alias : task_aliases()) {
    if (alias.name != spec.name) continue;
    TaskSpec meant = parse_task_spec(alias.spec);
    meant.version = spec.version;
    for (const auto& [name, value] : spec.given) meant.given[name] = value;
    return meant;
  }
  return spec;
}

// The canonical spelling of a value, or an Error.
std::string checked_value(const TaskEntry& entry, const ParameterSpec& spec, const std::string& text) {
  if (std::find(spec.words.begin(), spec.words.end(), text) != spec.words.end()) return text;
  const std::string what = "parameter '" + spec.name + "' of task '" + entry.name + "'";
  const bool looks_numeric = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
  if (spec.low > spec.high || (!spec.words.empty() && !looks_numeric)) {
    throw Error(what + " is '" + printable(text) + "'" + did_you_mean(text, spec.words) + "; use " +
                allowed_values(spec));
  }
  const std::int64_t value = parse_int(text, what);
  if (value < spec.low || value > spec.high) throw Error(what + " is " + text + "; use " + allowed_values(spec));
  return std::to_string(value);
}

TaskParameters resolve(const TaskEntry& entry, const TaskParameters& given) {
  std::vector<std::string> known;
  for (const ParameterSpec& spec : entry.parameters) known.push_back(spec.name);
  for (const auto& [name, value] : given) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error("task '" + entry.name + "' has no parameter '" + printable(name) + "'" + did_you_mean(name, known) +
                  "; it has " + (known.empty() ? "none" : join(known, ", ")));
    }
  }
  TaskParameters resolved;
  for (const ParameterSpec& spec : entry.parameters) {
    const auto found = given.find(spec.name);
    resolved[spec.name] = found == given.end() ? spec.fallback : checked_value(entry, spec, found->second);
  }
  return resolved;
}

}  // namespace

std::string allowed_values(const ParameterSpec& spec) {
  std::string text = join(spec.words, ", ");
  if (spec.low <= spec.high) {
    if (!text.empty()) text += " or ";
    text += "a whole number from " + std::to_string(spec.low) + " to " + std::to_string(spec.high);
  }
  return text;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskEntry* entry : entries()) names.push_back(entry->name);
  return names;
}

std::vector<std::string> task_summaries() {
  std::vector<std::string> summaries;
  for (const TaskEntry* entry : entries()) summaries.push_back(entry->summary);
  return summaries;
}

// RULER's needle tasks by the names under which they are spoken of.
const std::vector<TaskAlias>& task_aliases() {
  static const std::vector<TaskAlias> aliases = {
      {"niah-single-1", "niah-ids"},
      {"niah-single-2", "niah-ids:haystack=essay"},
      {"niah-single-3", "niah-ids:haystack=essay,value-symbols=22"},
      {"niah-multikey-1", "niah-ids:haystack=essay,kind=multi-key"},
      {"niah-multikey-2", "niah-ids:haystack=needles"},
      {"niah-multikey-3", "niah-ids:haystack=needles,key-symbols=16,value-symbols=22"},
      {"niah-multivalue", "niah-ids:haystack=essay,kind=multi-value"},
      {"niah-multiquery", "niah-ids:haystack=essay,kind=multi-query"},
  };
  return aliases;
}

std::vector<ParameterSpec> task_parameters(const std::string& name) {
  return find_entry(unaliased({name, {}, 0}).name).parameters;
}

bool task_needs_documents(const std::string& name) {
  return std::any_of(entries().begin(), entries().end(),
                     [&](const TaskEntry* entry) { return entry->name == name && entry->needs_documents; });
}

std::unique_ptr<Task> make_task(const TaskSpec& written, const TaskResources& resources) {
  const TaskSpec spec = unaliased(written);
  const TaskEntry& entry = find_entry(spec.name);
  if (spec.version != 0 && spec.version != entry.version) {
    throw Error("task '" + entry.name + "' version " + std::to_string(spec.version) +
                " cannot be drawn: this build has version " + std::to_string(entry.version) +
                "; leave the version out or use the build that has it");
  }
  return entry.make(entry, resolve(entry, spec.given), resources);
}

std::string format_spec(const Task& task) {
  const TaskInfo& info = task.info();
  std::vector<std::string> given;
  const TaskParameters defaults = resolve(find_entry(info.name), {});
  for (const auto& [name, value] : info.parameters) {
    if (value != defaults.at(name)) given.push_back(name + "=" + value);
  }
  return given.empty() ? info.name : info.name + ":" + join(given, ",");
}

}  // namespace lenbench
