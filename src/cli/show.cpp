// `lenbench show`: one sample by its address.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/samples.h"
#include "cli/terminal.h"

namespace lenbench::cli {
namespace {

class Show : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("ADDRESS", address_, "TASK[,k=v...][:vN]:LENGTH:INDEX[:SEED[:SPLIT]]");
    flags.flag("--json", json_, "One line of JSON with every token");
    flags.flag("--explain", explain_, "Add where the answers stand and the task's worked examples");
    flags.list("--text", files_, "FILE", "Document for 'text' and 'niah-bytes' (repeat for more)");
  }

  int run(const Parsed&) override {
    const SampleAddress address = parse_address(address_);
    const std::unique_ptr<Task> task = make_task(address.task, resources_for(address.task.name, files_));
    const Sample sample = draw_checked(*task, address.key);
    print_out(json_ ? dump_json(sample_json(*task, address.key, sample)) + "\n"
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
  return {"show", "Print one sample by its address",
          "lenbench show mqmtar:65536:17 --json\nlenbench show recall:density=4:256:0 --explain",
          [] { return std::unique_ptr<Command>(std::make_unique<Show>()); }};
}

}  // namespace lenbench::cli
