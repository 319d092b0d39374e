// `lenbench list`: the names that other commands accept.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/names.h"
#include "bench/doubles.h"
#include "bench/study.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/model_choice.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "report/format.h"
#include "report/published.h"
#include "tasks/catalog.h"

namespace lenbench::cli {
namespace {

struct Entry {
  std::string name, summary;
};

std::vector<Entry> zip(const std::vector<std::string>& names, const std::vector<std::string>& summaries) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < names.size(); ++i)
    entries.push_back({names[i], i < summaries.size() ? summaries[i] : ""});
  return entries;
}

std::vector<Entry> transforms() {
  return {
#define LENBENCH_TRANSFORM(name, scale, kind, alpha, learned, topk, adaptive, summary) {name, summary},
#include "attention/transforms.def"
#undef LENBENCH_TRANSFORM
  };
}

std::vector<Entry> positions() {
  return {
#define LENBENCH_POSITION(name, summary) {#name, summary},
#include "attention/positions.def"
#undef LENBENCH_POSITION
  };
}

std::vector<Entry> paper_entries() {
  std::vector<Entry> entries;
  for (const PublishedTable& table : read_published((data_folder() / "published" / "paper_tables.json").string())) {
    entries.push_back({table.id, table.task + ", " + table.metric + ", source " + table.source});
  }
  return entries;
}

std::vector<Entry> table_entries() {
  std::vector<Entry> entries;
  for (const Study& study : read_studies((data_folder() / "tables").string()))
    entries.push_back({study.id, study.title});
  return entries;
}

std::string checkpoint_summary(const std::string& name) {
  const PredictorInfo info = describe_unloaded(choose_model(name), {});
  std::string text = info.transform + " with " + info.positions;
  if (info.train_length > 0) text += fmt::format(", trained at up to {} tokens", info.train_length);
  return text;
}

std::vector<Entry> checkpoint_entries() {
  std::vector<Entry> entries;
  for (const std::string& name : bundled_checkpoints()) entries.push_back({name, checkpoint_summary(name)});
  const std::vector<std::string> doubles = double_names(), summaries = double_summaries();
  for (std::size_t i = 0; i < doubles.size(); ++i) entries.push_back({doubles[i], "double: " + summaries[i]});
  return entries;
}

class List : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("WHAT", what_, kinds_text_.c_str());
    flags.flag("--json", json_, "An array of {\"name\", \"summary\"}");
  }

  int run(const Parsed&) override {
    require_one_of(what_, "WHAT", list_kinds());
    std::vector<Entry> entries;
    if (what_ == "tasks") {
      entries = zip(task_names(), task_summaries());
      for (const TaskAlias& alias : task_aliases()) entries.push_back({alias.name, "short for " + alias.spec});
    }
    if (what_ == "transforms") entries = transforms();
    if (what_ == "positions") entries = positions();
    if (what_ == "reports") entries = zip(format_names(), format_summaries());
    if (what_ == "papers") entries = paper_entries();
    if (what_ == "tables") entries = table_entries();
    if (what_ == "checkpoints") entries = checkpoint_entries();
    print_out(json_ ? as_json(entries) : as_text(entries));
    return 0;
  }

 private:
  static std::string as_json(const std::vector<Entry>& entries) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Entry& entry : entries) all.push_back({{"name", entry.name}, {"summary", entry.summary}});
    return dump_json(all) + "\n";
  }
  static std::string as_text(const std::vector<Entry>& entries) {
    std::size_t width = 0;
    for (const Entry& entry : entries) width = std::max(width, entry.name.size());
    std::string text;
    for (const Entry& entry : entries) {
      text += entry.summary.empty() ? entry.name + "\n" : fmt::format("{:<{}}  {}\n", entry.name, width, entry.summary);
    }
    return text;
  }

  std::string what_, kinds_text_ = join(list_kinds(), ", ");
  bool json_ = false;
};

}  // namespace

const std::vector<std::string>& list_kinds() {
  static const std::vector<std::string> kinds = {"tasks",  "transforms", "positions",  "reports",
                                                 "papers", "tables",     "checkpoints"};
  return kinds;
}

CommandEntry list_command() {
  return {"list",
          "Names that other commands accept: tasks, transforms, positions, reports, papers, tables, checkpoints",
          "lenbench list tasks\nlenbench list checkpoints --json",
          [] { return std::unique_ptr<Command>(std::make_unique<List>()); }};
}

}  // namespace lenbench::cli
