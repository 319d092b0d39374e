// `lenbench compare`: two Record files side by side.
#include "verdict/compare.h"

#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/gate_files.h"
#include "cli/output_file.h"
#include "cli/terminal.h"

namespace lenbench::cli {
namespace {

class Compare : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("A", first_, "Record file or baseline");
    flags.positional("B", second_, "Record file or baseline");
    flags.value("--format", format_, "NAME", "markdown, csv or json");
    flags.value("-o,--output", output_, "FILE", "Write to FILE in place of standard output");
  }

  int run(const Parsed&) override {
    require_one_of(format_, "--format", compare_formats());
    require_free_output(output_, "-o", {first_, second_});
    const Baseline first = read_baseline(first_), second = read_baseline(second_);
    const std::string text = compare_text(compare_cells(first.cells, second.cells), format_, name_of(first, first_),
                                          name_of(second, second_));
    write_output(output_, text);
    return 0;
  }

 private:
  // The model when a file has one, and the file where that would head both columns alike.
  std::string name_of(const Baseline& side, const std::string& file) const {
    std::string name = side.cells.front().subject.name;
    for (const GateCell& cell : side.cells) {
      if (cell.subject.name != name) name.clear();
    }
    return name.empty() ? file : name + " (" + file + ")";
  }

  std::string first_, second_, format_ = "markdown", output_;
};

}  // namespace

CommandEntry compare_command() {
  return {"compare", "Two Record files side by side: difference, interval, samples that flipped",
          "lenbench compare before.jsonl after.jsonl\n"
          "lenbench compare before.jsonl after.jsonl --format csv -o difference.csv\n"
          "Exit code 0 whatever the difference; 'lenbench check' is the command that fails.",
          [] { return std::unique_ptr<Command>(std::make_unique<Compare>()); }};
}

}  // namespace lenbench::cli
