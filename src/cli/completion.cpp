// `lenbench completion`: words for the shell, from the same table as the help texts.
#include <fmt/core.h>

#include "base/names.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/terminal.h"

namespace lenbench::cli {
namespace {

std::string long_flags(const CommandEntry& entry) {
  const std::unique_ptr<Command> command = entry.make();
  FlagSet flags(entry.name, entry.summary, "");
  command->define(flags);
  return join(flags.long_names(), " ");
}

std::string command_names() {
  std::vector<std::string> names;
  for (const CommandEntry& entry : commands()) names.emplace_back(entry.name);
  return join(names, " ");
}

std::string bash_script() {
  std::string text = "_lenbench() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n";
  text += "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"" + command_names() + " --help --version\"\n  else\n";
  text += "    case \"${COMP_WORDS[1]}\" in\n";
  for (const CommandEntry& entry : commands()) {
    const std::string lists =
        std::string(entry.name) == "list" ? " tasks transforms positions reports papers checkpoints" : "";
    text += fmt::format("      {}) words=\"{}{}\" ;;\n", entry.name, long_flags(entry), lists);
  }
  text +=
      "    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
      "complete -o default -F _lenbench lenbench\n";
  return text;
}

std::string fish_script() {
  std::string text;
  for (const CommandEntry& entry : commands()) {
    text += fmt::format("complete -c lenbench -n __fish_use_subcommand -a {} -d '{}'\n", entry.name, entry.summary);
    for (const std::string& flag : split(long_flags(entry), ' ')) {
      text +=
          fmt::format("complete -c lenbench -n '__fish_seen_subcommand_from {}' -l {}\n", entry.name, flag.substr(2));
    }
  }
  return text;
}

class Completion : public Command {
 public:
  void define(FlagSet& flags) override { flags.positional("SHELL", shell_, "bash, zsh or fish"); }

  int run(const Parsed&) override {
    require_one_of(shell_, "SHELL", {"bash", "zsh", "fish"});
    if (shell_ == "fish") {
      print_out(fish_script());
    } else {
      print_out((shell_ == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "") + bash_script());
    }
    return 0;
  }

 private:
  std::string shell_;
};

}  // namespace

CommandEntry completion_command() {
  return {"completion", "Print a completion script for a shell",
          "source <(lenbench completion bash)\nlenbench completion fish > ~/.config/fish/completions/lenbench.fish",
          [] { return std::unique_ptr<Command>(std::make_unique<Completion>()); }};
}

}  // namespace lenbench::cli
