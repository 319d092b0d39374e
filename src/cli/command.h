// What a command of the program is, and the table of all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/flag_set.h"

namespace lenbench::cli {

// One invocation of a command: define() declares flags bound to members, run() does the work after parsing.
class Command {
 public:
  virtual ~Command() = default;
  virtual void define(FlagSet& flags) = 0;
  // Returns the process's exit code (base/error.h; 130 after an interrupt). Throws Error.
  virtual int run(const Parsed& parsed) = 0;
  // False: positional arguments beyond the declared ones are refused.
  virtual bool takes_extra() const { return false; }
};

struct CommandEntry {
  const char* name;
  const char* summary;   // one line
  const char* examples;  // at least two, one a line, without indentation
  std::unique_ptr<Command> (*make)();
  const char* takes = "";  // the kind of names (list_kinds()) that its positional arguments may be, for completion
};

// What 'lenbench list' takes.
const std::vector<std::string>& list_kinds();

// In the order that --help shows.
const std::vector<CommandEntry>& commands();

CommandEntry run_command();
CommandEntry train_command();
CommandEntry table_command();
CommandEntry check_command();
CommandEntry baseline_command();
CommandEntry merge_command();
CommandEntry compare_command();
CommandEntry plot_command();
CommandEntry report_command();
CommandEntry list_command();
CommandEntry show_command();
CommandEntry gen_command();
CommandEntry inspect_command();
CommandEntry verify_command();
CommandEntry audit_command();
CommandEntry bench_command();
CommandEntry selfcheck_command();
CommandEntry reproduce_command();
CommandEntry completion_command();

}  // namespace lenbench::cli
