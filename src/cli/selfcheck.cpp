// `lenbench selfcheck`: tasks asked of models with known scores, at all lengths, through Records and tables.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "bench/selfcheck.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "record/store.h"
#include "report/format.h"
#include "report/grid.h"
#include "tasks/catalog.h"

namespace lenbench::cli {
namespace {

constexpr std::int64_t kMostSamples = 100;
constexpr std::int64_t kTokensACell = std::int64_t{1} << 18;
constexpr std::int64_t kFewestSamples = 4;

// Records that a file and a reader bring back unchanged.
Record round_trip(const Record& record) {
  Record again = record_from_json_line(to_json_line(record), "selfcheck");
  if (!(again == record))
    throw Error("selfcheck: a Record changes when it is written and read", ExitCode::kNotMeasured);
  return again;
}

class SelfCheckCommand : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positionals("TASK", tasks_, "Tasks, with parameters as recall:density=4 (default: all)");
    flags.list("--lengths", lengths_, "L", "Nominal lengths (default 64,256,1024,4096,16384,65536)");
    flags.value("--samples", samples_, "N", "Samples a cell; 0: 100, fewer where they hold over 2^18 tokens");
    flags.value("-o,--output", output_, "FILE", "Append the floors' Records, for tables that show them as rows");
    flags.list("--text", files_, "FILE", "Documents for 'text' and 'niah-bytes'");
  }

  int run(const Parsed& parsed) override {
    const std::vector<std::int64_t> lengths =
        parse_length_list(lengths_.empty() ? std::vector<std::string>{"64,256,1024,4096,16384,65536"} : lengths_);
    const std::int64_t samples = parse_at_least(samples_, "--samples", 0);
    std::vector<std::shared_ptr<const Task>> tasks;
    for (const std::string& text : tasks_.empty() ? task_names() : parse_task_list(tasks_)) {
      const TaskSpec spec = parse_task_spec(text);
      tasks.push_back(make_task(
          spec, resources_for(spec.name, task_needs_documents(spec.name) ? files_ : std::vector<std::string>{})));
    }
    if (parsed.has("--output")) writer_ = std::make_unique<RecordWriter>(output_);
    const std::atomic<bool>* stop = watch_interrupts();
    print_out("answers right in per cent, whole samples in brackets\n");
    for (const std::shared_ptr<const Task>& task : tasks) {
      for (const std::int64_t length : lengths) {
        if (*stop) return kInterruptedExit;
        check(task, length, samples > 0 ? samples : samples_for(length));
      }
    }
    if (checked_ == 0) throw Error("selfcheck: no length can be asked of any of these tasks", ExitCode::kNotMeasured);
    check_formats();
    if (problems_ > 0) {
      throw Error(fmt::format("selfcheck: {} {} not hold; the lines above say which", problems_,
                              problems_ == 1 ? "property does" : "properties do"),
                  ExitCode::kNotMeasured);
    }
    print_out("ok\n");
    return 0;
  }

 private:
  static std::int64_t samples_for(std::int64_t length) {
    return std::clamp(kTokensACell / length, kFewestSamples, kMostSamples);
  }

  void check(const std::shared_ptr<const Task>& task, std::int64_t length, std::int64_t samples) {
    const SelfCheck result = self_check(task, length, samples, "1970-01-01T00:00:00Z");
    const std::string cell = fmt::format("{} {}: ", format_spec(*task), length);
    if (!result.skipped.empty()) {
      print_out(cell + "skipped: " + result.skipped + "\n");
      return;
    }
    ++checked_;
    std::string text = cell + (result.problems.empty() ? "ok" : "FAILED");
    for (const Record& record : result.floors) text += floor_text(record);
    if (task->info().metric == TaskMetric::kExactMatch) text += fmt::format("; chance {:.2f}", 100 * task->chance());
    print_out(text + "\n");
    for (const std::string& problem : result.problems) print_out("  " + problem + "\n");
    problems_ += static_cast<std::int64_t>(result.problems.size());
    for (const Record& record : result.ends) records_.push_back(round_trip(record));
    for (const Record& record : result.floors) records_.push_back(round_trip(record));
    if (writer_ != nullptr) append_new(result.floors);
  }

  // Answers and whole samples in per cent, as tables have them.
  static std::string floor_text(const Record& record) {
    const Measurement& m = record.measurement;
    std::string text = "; " + record.subject.name;
    if (m.perplexity) return text + fmt::format(" perplexity {:.2f}", *m.perplexity);
    if (m.answer) text += fmt::format(" {:.2f}", 100 * m.answer->value);
    if (m.exact) text += fmt::format(" ({:.2f})", 100 * m.exact->value);
    return text;
  }

  void append_new(const std::vector<Record>& floors) {
    for (const Record& floor : floors) {
      const bool known = std::any_of(writer_->existing().begin(), writer_->existing().end(),
                                     [&](const Record& record) { return record.resume_key() == floor.resume_key(); });
      if (!known) writer_->append(floor);
    }
  }

  void check_formats() const {
    const std::vector<Grid> grids = build_grids(records_);
    for (const std::string& format : format_names()) {
      if (render(format, grids).empty())
        throw Error("selfcheck: the format " + format + " is empty", ExitCode::kNotMeasured);
      print_out(fmt::format("{}: ok\n", format));
    }
  }

  std::vector<std::string> tasks_, lengths_, files_;
  std::string samples_ = "0", output_;
  std::unique_ptr<RecordWriter> writer_;
  std::vector<Record> records_;
  std::int64_t checked_ = 0, problems_ = 0;
};

}  // namespace

CommandEntry selfcheck_command() {
  return {"selfcheck", "Ask tasks of models with known scores; prints the floors and ok",
          "lenbench selfcheck\nlenbench selfcheck sort flip-flop:write=80 --lengths 64..4096\n"
          "lenbench selfcheck mqmtar -o floors.jsonl && lenbench table out.jsonl floors.jsonl",
          [] { return std::unique_ptr<Command>(std::make_unique<SelfCheckCommand>()); }, "tasks"};
}

}  // namespace lenbench::cli
