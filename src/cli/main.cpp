// The program: finds the command, reads its flags, and maps every outcome to an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/versions.h"

namespace lenbench::cli {

const std::vector<CommandEntry>& commands() {
  static const std::vector<CommandEntry> all = {
      run_command(),    merge_command(),     train_command(),     table_command(),     plot_command(),
      report_command(), reproduce_command(), check_command(),     baseline_command(),  compare_command(),
      list_command(),   show_command(),      gen_command(),       inspect_command(),   verify_command(),
      audit_command(),  bench_command(),     selfcheck_command(), completion_command()};
  return all;
}

namespace {

std::string examples_text(const CommandEntry& entry) {
  std::string text = "Examples:";
  for (const std::string& line : split(entry.examples, '\n')) text += "\n  " + line;
  return text;
}

std::string overview() {
  std::string text =
      "lenbench: how far past its training length does a sequence model still work, and why does it stop?\n\n"
      "Usage: lenbench COMMAND [FLAGS]\n\nCommands:\n";
  for (const CommandEntry& entry : commands()) {
    std::string name = entry.name;
    name.resize(12, ' ');
    text += "  " + name + entry.summary + "\n";
  }
  text +=
      "\nFlags:\n"
      "  --version   version and commit; with -v those of the libraries too\n"
      "  --help      this text; 'lenbench COMMAND --help' shows a command's flags and examples\n\n"
      "Examples:\n"
      "  lenbench run oracle:512 --tasks recall --lengths 64..2048 --samples 50\n"
      "  lenbench run recall-asentmax-nape --tasks recall --lengths 64..65536 --samples 200 -o out.jsonl\n\n"
      "Exit codes: 0 all measured, 1 worse than a baseline, 2 input cannot be used, 3 not all measured or written,\n"
      "130 interrupted.\n";
  return text;
}

int run_parsed(const CommandEntry& entry, const std::vector<std::string>& arguments) {
  const std::unique_ptr<Command> command = entry.make();
  FlagSet flags(entry.name, entry.summary, examples_text(entry));
  command->define(flags);
  const Parsed parsed = flags.parse(arguments, command->takes_extra());
  if (!parsed.help.empty()) {
    print_out(parsed.help);
    return 0;
  }
  return command->run(parsed);
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    throw Error("no command given; see 'lenbench --help'");
  }
  const std::string& word = arguments.front();
  if (word == "--help" || word == "-h" || (word == "help" && arguments.size() == 1)) {
    print_out(overview());
    return 0;
  }
  const bool verbose = arguments.size() > 1 && (arguments[1] == "-v" || arguments[1] == "--verbose");
  if (word == "--version" || word == "-V" || word == "version") {
    if (arguments.size() > (verbose ? 2U : 1U)) {
      throw Error("'" + word + "' takes nothing but -v, not '" + arguments[verbose ? 2 : 1] + "'");
    }
    print_out(version_text(verbose));
    return 0;
  }
  const bool help = word == "help";
  const std::string& wanted = help ? arguments[1] : word;
  std::vector<std::string> names;
  for (const CommandEntry& entry : commands()) {
    if (wanted == entry.name) {
      return run_parsed(entry, help ? std::vector<std::string>{"--help"}
                                    : std::vector<std::string>(arguments.begin() + 1, arguments.end()));
    }
    names.emplace_back(entry.name);
  }
  if (wanted.starts_with("-")) {
    throw Error("'" + wanted + "' is no flag of lenbench itself; give a command first, see 'lenbench --help'");
  }
  throw Error("no command '" + wanted + "'" + did_you_mean(wanted, names) + "; see 'lenbench --help'");
}

// A standard descriptor that the caller closed would be the next file's to have, and notes would land among Records.
void occupy_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // Not for writing where results would go: that they go nowhere has to show.
    if (open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

// Exceptions that nothing can catch: LibTorch makes objects while it is loaded, and threads end here, too.
[[noreturn]] void end_in_one_line() {
  // No allocation: there may be nothing left to allocate.
  const char* line =
      "lenbench: error: internal error: an exception was not caught; please report it with the command line\n";
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    line = "lenbench: error: out of memory: not even LibTorch could be loaded; free some memory or raise its limit\n";
  } catch (...) {
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, std::strlen(line));
  _exit(static_cast<int>(ExitCode::kNotMeasured));
}

}  // namespace

int guarded(const std::vector<std::string>& arguments) {
  int code = 0;
  try {
    code = dispatch(arguments);
  } catch (const Error& error) {
    print_error(error.what());
    code = static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    print_error("out of memory; ask for shorter lengths or a smaller --batch");
    code = static_cast<int>(ExitCode::kNotMeasured);
  } catch (const std::exception& error) {
    print_error(std::string("internal error: ") + error.what() + "; please report it with the command line");
    code = static_cast<int>(ExitCode::kNotMeasured);
  }
  if (!finish_stdout() && code == 0) {
    print_error("standard output cannot be written; is the disk full?");
    code = static_cast<int>(ExitCode::kNotMeasured);
  }
  return code;
}

}  // namespace lenbench::cli

int main(int argc, char** argv) {
  lenbench::cli::occupy_standard_descriptors();
  std::set_terminate(lenbench::cli::end_in_one_line);
  // A closed pipe shows up as a failed write, so that a run still finishes its records.
  std::signal(SIGPIPE, SIG_IGN);
  // So does a file that has reached the size limit of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  return lenbench::cli::guarded(std::vector<std::string>(argv + 1, argv + argc));
}
