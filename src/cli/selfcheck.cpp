// `lenbench selfcheck`: every task asked of doubles with known scores, in memory, through Records and a table.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "bench/doubles.h"
#include "bench/plan.h"
#include "bench/runner.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/terminal.h"
#include "record/store.h"
#include "report/format.h"
#include "report/grid.h"
#include "tasks/catalog.h"

namespace lenbench::cli {
namespace {

constexpr std::int64_t kLength = 256;
constexpr std::int64_t kSamples = 8;

void require(bool holds, const std::string& what) {
  if (!holds) throw Error("selfcheck: " + what + "; please report it", ExitCode::kNotMeasured);
}

std::shared_ptr<const Task> task_by_name(const std::string& name) {
  TaskResources resources;
  if (task_needs_documents(name)) {
    std::string bytes;
    while (bytes.size() < static_cast<std::size_t>(kLength * kSamples)) bytes += "In the beginning was the word. ";
    resources.documents.push_back({"selfcheck", bytes});
  }
  return make_task({name, {}, 0}, resources);
}

Record run_double(const std::string& name, const std::shared_ptr<const Task>& task) {
  PlanRequest request;
  request.tasks = {task};
  request.lengths = {kLength};
  request.samples = kSamples;
  const std::unique_ptr<Predictor> predictor = make_double(name);
  const RunPlan plan = make_plan(request, predictor->info());
  require(plan.cells.size() == 1, task->info().name + " cannot be asked at length " + std::to_string(kLength));
  RunOptions options;
  options.wall_clock = [] { return std::string("1970-01-01T00:00:00Z"); };
  std::vector<Record> records;
  Runner(*predictor, options).run(plan, [&](const Record& record) { records.push_back(record); });
  require(records.size() == 1, task->info().name + " with " + name + " gave no Record");
  require(records.front().status == "ok", task->info().name + " with " + name + ": " + records.front().reason);
  return record_from_json_line(to_json_line(records.front()), "selfcheck");
}

class SelfCheck : public Command {
 public:
  void define(FlagSet&) override {}

  int run(const Parsed&) override {
    std::vector<Record> records;
    for (const std::string& name : task_names()) {
      const std::shared_ptr<const Task> task = task_by_name(name);
      const Record right = run_double("oracle", task);
      const Record nothing = run_double("echo", task);
      if (task->info().metric == TaskMetric::kExactMatch) {
        require(right.measurement.exact && right.measurement.exact->value == 1.0, name + ": oracle is not all right");
        require(nothing.measurement.exact && nothing.measurement.exact->value == 0.0, name + ": echo scores");
      } else {
        require(right.measurement.perplexity && *right.measurement.perplexity == 1.0,
                name + ": the oracle's perplexity is not 1");
      }
      print_out(fmt::format("{}: ok\n", name));
      records.push_back(right);
      records.push_back(nothing);
    }
    const std::vector<Grid> grids = build_grids(records);
    require(grids.size() == task_names().size(), "one table for each task was expected");
    for (const std::string& format : format_names()) {
      require(!render(format, grids).empty(), "the format " + format + " is empty");
      print_out(fmt::format("{}: ok\n", format));
    }
    print_out("ok\n");
    return 0;
  }
};

}  // namespace

CommandEntry selfcheck_command() {
  return {"selfcheck", "Ask every task of models with known scores, in memory; prints ok",
          "lenbench selfcheck\nlenbench selfcheck > /dev/null && echo works",
          [] { return std::unique_ptr<Command>(std::make_unique<SelfCheck>()); }};
}

}  // namespace lenbench::cli
