// `lenbench completion`: words for the shell, from the same table as the help texts.
#include <fmt/core.h>

#include <utility>

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

// Flags whose values are names that `lenbench list` prints.
constexpr std::pair<const char*, const char*> kNamedValues[] = {
    {"--tasks", "tasks"}, {"--task", "tasks"}, {"--paper", "papers"}, {"--transform", "transforms"}};

// Names are asked for when the key is pressed: they depend on the installation. zsh reads this too.
std::string bash_script() {
  std::string text =
      "_lenbench() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\" "
      "kind=\"\"\n";
  text += "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"" + command_names() + " --help --version\"\n  else\n";
  text += "    case \"${COMP_WORDS[1]}\" in\n";
  for (const CommandEntry& entry : commands()) {
    const std::string lists = std::string(entry.name) == "list" ? " " + join(list_kinds(), " ") : "";
    text += fmt::format("      {}) words=\"{}{}\" kind=\"{}\" ;;\n", entry.name, long_flags(entry), lists, entry.takes);
  }
  text += "    esac\n    case \"$before\" in\n";
  for (const auto& [flag, kind] : kNamedValues) text += fmt::format("      {}) words=\"\" kind={} ;;\n", flag, kind);
  text +=
      "    esac\n    case \"$word\" in\n      -*) ;;\n"
      "      *) [ -z \"$kind\" ] || words=\"$words $(lenbench list \"$kind\" 2>/dev/null | cut -d' ' -f1)\" ;;\n"
      "    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
      "complete -o default -F _lenbench lenbench\n";
  return text;
}

// The first line is for a copy in a folder of $fpath, of which zsh makes one function: it is run at the first key, and
// must complete that one too.
std::string zsh_script() {
  return "#compdef lenbench\n"
         "(( $+functions[compdef] )) || { autoload -U compinit && compinit; }\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script() + "[ \"${funcstack[1]}\" != _lenbench ] || _bash_complete -o default -F _lenbench\n";
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_names(const char* kind) {
  return fmt::format("'(lenbench list {} 2>/dev/null | string replace -r \" .*\" \"\")'", kind);
}

std::string fish_script() {
  std::string text;
  for (const CommandEntry& entry : commands()) {
    text += fmt::format("complete -c lenbench -n __fish_use_subcommand -a {} -d {}\n", entry.name,
                        fish_quoted(entry.summary));
    const std::string here = fmt::format("complete -c lenbench -n '__fish_seen_subcommand_from {}'", entry.name);
    for (const std::string& flag : split(long_flags(entry), ' ')) {
      text += fmt::format("{} -l {}", here, flag.substr(2));
      for (const auto& [named, kind] : kNamedValues) {
        if (flag == named) text += " -x -a " + fish_names(kind);
      }
      text += "\n";
    }
    if (entry.takes[0] != '\0') text += fmt::format("{} -a {}\n", here, fish_names(entry.takes));
    if (std::string(entry.name) == "list")
      text += fmt::format("{} -f -a {}\n", here, fish_quoted(join(list_kinds(), " ")));
  }
  return text;
}

class Completion : public Command {
 public:
  void define(FlagSet& flags) override { flags.positional("SHELL", shell_, "bash, zsh or fish"); }

  int run(const Parsed&) override {
    require_one_of(shell_, "SHELL", {"bash", "zsh", "fish"});
    print_out(shell_ == "fish" ? fish_script() : shell_ == "zsh" ? zsh_script() : bash_script());
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
