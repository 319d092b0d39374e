// `lenbench reproduce`: a table of the paper, of the founding note or of our own, from models to print.
#include <fmt/core.h>

#include "base/error.h"
#include "base/names.h"
#include "cli/backend_loader.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/paths.h"
#include "cli/record_input.h"
#include "cli/reproduction.h"
#include "cli/run_session.h"
#include "cli/terminal.h"
#include "cli/train_session.h"
#include "report/format.h"

namespace lenbench::cli {
namespace {

class Reproduce : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("TABLE", table_, "A table: 'lenbench list tables'");
    flags.value("--scale", scale_, "NAME", "small: trains on CPU cores; paper: the published hyper-parameters");
    flags.value("--work", work_, "DIR", "Where models that are trained and Records that are measured anew are kept");
    flags.flag("--train", train_, "Train the models that are missing; an interrupted training resumes");
    flags.flag("--remeasure", remeasure_, "Measure every cell anew in DIR, in place of the bundled Records");
    flags.flag("--as-is", as_is_, "Train and measure nothing: print what is there");
    flags.flag("--dry-run", dry_run_, "Print what is trained and measured and what is missing, and stop");
    flags.list("--methods", methods_, "a,b,...", "Only these rows");
    flags.value("--seeds", seeds_, "N", "Only the first N models of each row; 0: all");
    flags.value("--samples", samples_, "N", "Samples a cell, in place of the table's own; 0: its own");
    flags.value("--aggregate", aggregate_, "NAME", "Over models of a row: mean, median, max or best-seed");
    flags.value("--format", format_, "NAME", "markdown, csv, json, latex or html");
    flags.value("-o,--output", output_, "FILE", "Write the table to FILE in place of standard output");
    flags.value("--device", device_, "NAME", "cpu, cuda or cuda:N");
    flags.value("--threads", threads_, "N", "CPU threads; 0: all");
    flags.flag("--quiet", quiet_, "No progress and no notes on standard error");
    flags.flag("--json-progress", json_progress_, "Progress as JSON lines on standard error");
  }

  int run(const Parsed&) override {
    progress_ = choose_progress(quiet_, json_progress_);
    require_one_of(format_, "--format", format_names());
    require_free_output(output_, "-o", {});
    if (as_is_ && (train_ || remeasure_)) throw Error("--as-is measures nothing: leave out --train and --remeasure");
    const Aggregate aggregate = parse_aggregate(aggregate_);
    ReproductionRequest request;
    request.scale = scale_;
    request.work = work_;
    request.methods = comma_parts(methods_);
    request.seeds = parse_at_least(seeds_, "--seeds", 0);
    request.samples = parse_at_least(samples_, "--samples", 0);
    request.remeasure = remeasure_;
    num_threads_ = parse_threads(threads_);
    parse_device(device_);
    const std::vector<Study> studies = read_studies((data_folder() / "tables").string());
    Reproduction reproduction(find_study(studies, table_), request);
    if (dry_run_) {
      print_out(reproduction.status());
      return 0;
    }
    for (const std::string& line : split(reproduction.status(), '\n')) {
      if (!line.empty()) print_note(line);
    }
    if (!as_is_ && !(train_missing(reproduction) && measure_missing(reproduction))) return kInterruptedExit;
    write_output(output_, heading(reproduction) + render(format_, reproduction.grids(aggregate)));
    return reproduction.complete() ? 0 : static_cast<int>(ExitCode::kNotMeasured);
  }

 private:
  // Only Markdown has room for it; the other formats are embedded by their readers.
  std::string heading(const Reproduction& reproduction) const {
    if (format_ != "markdown") return "";
    const Study& study = reproduction.study();
    std::string text = fmt::format("## {}: {}\n\n", study.id, study.title);
    text += fmt::format(
        "Scale {}. No model was chosen by a length beyond its training length; one counts as learnt from {} % of whole "
        "validation samples right on.\n",
        reproduction.scale_name(), 100 * kLearntExactMatch);
    if (!study.remark.empty()) text += study.remark + "\n";
    return text + "\n";
  }

  // Returns false when stopped by a signal.
  bool train_missing(Reproduction& reproduction) {
    std::vector<StudyRun*> missing;
    for (StudyRun& run : reproduction.runs()) {
      const bool measured = run.measured() && !remeasure_;
      if (!run.trained() && !measured && run.row->checkpoint.empty()) missing.push_back(&run);
    }
    if (missing.empty()) return true;
    if (!train_) {
      print_note(fmt::format("{} models are not trained; --train trains them", missing.size()));
      return true;
    }
    const std::unique_ptr<Backend> backend = load_backend();
    for (std::size_t i = 0; i < missing.size(); ++i) {
      StudyRun& run = *missing[i];
      print_note(fmt::format("training {} ({} of {})", run.checkpoint, i + 1, missing.size()));
      TrainOptions options;
      options.recipe_path = reproduction.recipe_path(run);
      options.output_dir = reproduction.work_checkpoint(run);
      options.threads = num_threads_;
      options.seed = run.seed;
      if (!run_training(*backend, options, progress_)) return false;
      reproduction.refresh(run);
    }
    return true;
  }

  bool measure_missing(Reproduction& reproduction) {
    for (StudyRun& run : reproduction.runs()) {
      if (!run.trained() || run.measured()) continue;
      print_note("measuring " + run.records_name);
      SessionRequest session;
      session.choice = choose_model(run.checkpoint_path);
      session.plan = reproduction.questions();
      session.run.probe = ProbeRows::kAnswer;
      session.open.device = device_;
      session.open.threads = num_threads_;
      session.open.transform = run.row->transform;
      session.has_output = true;
      session.output = reproduction.work_records(run);
      session.progress = progress_;
      if (measure_session(session).stopped) {
        print_note("stopped; the same command resumes");
        return false;
      }
      reproduction.refresh(run);
    }
    return true;
  }

  std::string table_, scale_ = "small", work_ = "reproduction", seeds_ = "0", samples_ = "0", aggregate_ = "mean";
  std::string format_ = "markdown", output_, device_ = "cpu", threads_ = "0";
  std::vector<std::string> methods_;
  bool train_ = false, remeasure_ = false, as_is_ = false, dry_run_ = false, quiet_ = false, json_progress_ = false;
  ProgressStyle progress_ = ProgressStyle::kPlain;
  int num_threads_ = 0;
};

}  // namespace

CommandEntry reproduce_command() {
  return {"reproduce", "Make a table again: train, measure and print it beside the published numbers",
          "lenbench reproduce note-1\n"
          "lenbench reproduce note-1 --dry-run\n"
          "lenbench reproduce mqmtar --methods softmax,asentmax --seeds 1 --train --work my-work\n"
          "lenbench reproduce note-2 --remeasure --samples 50 --format latex -o table.tex",
          [] { return std::unique_ptr<Command>(std::make_unique<Reproduce>()); }, "tables"};
}

}  // namespace lenbench::cli
