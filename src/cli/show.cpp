// `lenbench show`: one sample by its address, or a task explained.
#include "base/error.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/flag_set.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "tasks/sample_file.h"

namespace lenbench::cli {
namespace {

// True for a task without a length: `recall`, `recall:density=4`, `recall:v1`.
bool is_task_only(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool version = parts[i].size() > 1 && parts[i][0] == 'v';
    if (!version && parts[i].find('=') == std::string::npos) return false;
  }
  return true;
}

class Show : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("ADDRESS", address_, "TASK[:k=v,...][:vN]:LENGTH:INDEX[:SEED[:SPLIT]], or with --explain a TASK");
    flags.flag("--json", json_, "One line of JSON with every token");
    flags.flag("--explain", explain_,
               "Of a TASK: rule, parameters, truth table, examples; of a sample: add where its answers stand");
    flags.list("--text", files_, "FILE", "Document for 'text' and 'niah-bytes' (repeat for more)");
  }

  int run(const Parsed&) override {
    if (is_task_only(address_)) {
      if (!explain_) throw Error("'" + address_ + "' names no sample; add ':LENGTH:INDEX', or use --explain");
      const TaskSpec spec = parse_task_spec(address_);
      const std::unique_ptr<Task> task = make_task(spec, resources_for(spec.name, files_));
      print_out(json_ ? explain_json(*task) + "\n" : explain_text(*task));
      return 0;
    }
    const SampleAddress address = parse_address(address_);
    const std::unique_ptr<Task> task = make_task(address.task, resources_for(address.task.name, files_));
    const Sample sample = draw_checked(*task, address.key);
    print_out(json_ ? sample_line(*task, address.key, sample) + "\n"
                    : sample_text(*task, address.key, sample, explain_));
    return 0;
  }

 private:
  std::string address_;
  std::vector<std::string> files_;
  bool json_ = false, explain_ = false;
};

}  // namespace

CommandEntry show_command() {
  return {"show", "Print one sample by its address, or explain a task",
          "lenbench show mqmtar:65536:17 --json\nlenbench show recall:density=4:256:0 --explain\n"
          "lenbench show --explain flip-flop",
          [] { return std::unique_ptr<Command>(std::make_unique<Show>()); }};
}

}  // namespace lenbench::cli
