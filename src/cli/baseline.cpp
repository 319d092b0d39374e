// `lenbench baseline`: what later checks are held against, changed by explicit acts only.
#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/gate_files.h"
#include "cli/output_file.h"
#include "cli/record_input.h"
#include "cli/setting.h"
#include "cli/terminal.h"
#include "report/grid_text.h"

namespace lenbench::cli {
namespace {

class BaselineCommand : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("VERB", verb_, "write, update or show");
    flags.positionals("FILE", files_, "write, update: Record files; show: the baseline");
    flags.value("-o,--output", output_, "FILE", "write: the new baseline; update: the one to change");
    flags.list("--cells", cells_, "a@L,...", "update: only these cells, e.g. recall@4096");
    flags.value("--policy", policy_, "FILE", "Policy that the baseline carries (update: replaces the old one)");
    flags.value("--subject", subject_, "NAME", "Of Record files with several models, the one to take");
    flags.flag("--overwrite", overwrite_, "write: replace an existing baseline");
  }

  int run(const Parsed& parsed) override {
    require_one_of(verb_, "VERB", {"write", "update", "show"});
    if (files_.empty()) throw Error("baseline " + verb_ + ": name a file; see 'lenbench baseline --help'");
    if (verb_ == "show") {
      if (!parsed.given.empty()) throw Error("baseline show takes no flag, got " + parsed.given.front());
      if (files_.size() > 1) throw Error("baseline show takes one file");
      show(read_baseline(files_.front()));
      return 0;
    }
    if (output_.empty()) throw Error("baseline " + verb_ + ": name the baseline with -o FILE");
    require_other_file(output_, "-o", files_);
    require_other_file(output_, "-o", {policy_});
    verb_ == "write" ? write() : update();
    return 0;
  }

 private:
  void write() const {
    if (!cells_.empty()) throw Error("--cells is for 'baseline update'");
    std::error_code ignored;
    if (std::filesystem::exists(output_, ignored) && !overwrite_) {
      throw Error("'" + output_ + "' exists; change cells with 'baseline update', or replace it with --overwrite");
    }
    Baseline baseline;
    if (!policy_.empty()) baseline.policy = read_policy(policy_);
    baseline.cells = read_cells(files_, subject_);
    save(baseline);
    print_note(fmt::format("'{}' has {} cells", output_, baseline.cells.size()));
  }

  void update() const {
    if (overwrite_) throw Error("--overwrite is for 'baseline write'");
    Baseline baseline = read_baseline(output_);
    if (!is_baseline(read_file(output_)))
      throw Error("'" + output_ + "' is no baseline; make one with 'baseline write'");
    if (!policy_.empty()) baseline.policy = read_policy(policy_);
    const std::vector<std::string> names = comma_parts(cells_);
    const std::vector<std::string> changed = update_cells(baseline, read_cells(files_, subject_), names);
    save(baseline);
    print_note(fmt::format("'{}': {} of {} cells replaced or added: {}", output_, changed.size(), baseline.cells.size(),
                           join(changed, ", ")));
  }

  void save(Baseline& baseline) const {
    baseline.written_at = utc_now();
    baseline.source_commit = source_commit();
    const std::string text = baseline_text(baseline);
    write_output(output_, text);
  }

  static void show(const Baseline& baseline) {
    std::vector<Question> questions;
    for (const GateCell& cell : baseline.cells) questions.push_back(cell.question);
    const std::vector<std::string> names = display_names(questions);
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < baseline.cells.size(); ++i) {
      const GateCell& cell = baseline.cells[i];
      rows.push_back({names[i], cell.subject.name, cell.subject.checkpoint_sha256.substr(0, 12),
                      std::to_string(cell.samples()), value_text(cell), fmt::format("v{}", cell.question.task_version),
                      cell.lenbench_version});
    }
    print_out(markdown_table({"cell", "model", "checkpoint", "n", "exact or perplexity", "task", "lenbench"}, rows));
    const Policy& policy = baseline.policy;
    print_out(fmt::format("\nwritten {}, commit {}, SHA-256 {}\n",
                          baseline.written_at.empty() ? "at an unknown time" : baseline.written_at,
                          baseline.source_commit.empty() ? "unknown" : baseline.source_commit, baseline.sha256));
    print_out(fmt::format("alpha {:g}, smallest effect {:g}, same within {:g}, {} acknowledgements\n", policy.alpha,
                          policy.smallest_effect, policy.same_within, policy.acknowledgements.size()));
    for (const Acknowledgement& entry : policy.acknowledgements) {
      print_out(fmt::format("acknowledged: {} until {}: {}\n", printable(entry.cell), entry.expires,
                            printable(entry.reason)));
    }
  }

  static std::string value_text(const GateCell& cell) {
    const CellSummary summary = summarize(cell);
    return cell.is_perplexity()
               ? fmt::format("{:.3f}", summary.value)
               : fmt::format("{:.1f} [{:.1f}, {:.1f}]", 100 * summary.value, 100 * summary.low, 100 * summary.high);
  }

  std::string verb_, output_, policy_, subject_;
  std::vector<std::string> files_, cells_;
  bool overwrite_ = false;
};

}  // namespace

CommandEntry baseline_command() {
  return {"baseline", "Write, update or show what 'lenbench check' compares with",
          "lenbench baseline write out.jsonl -o ci.json\n"
          "lenbench baseline update new.jsonl -o ci.json --cells recall@4096,recall@16384\n"
          "lenbench baseline show ci.json",
          [] { return std::unique_ptr<Command>(std::make_unique<BaselineCommand>()); }};
}

}  // namespace lenbench::cli
