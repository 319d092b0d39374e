// The flags of one command. The only door to CLI11, whose headers cost seconds in every file that includes them.
#include "cli/flag_set.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/error.h"
#include "base/names.h"

namespace lenbench::cli {

struct FlagSet::Parser {
  CLI::App app;
};

namespace {

// "--seed -1" is a value, not a flag called -1.
std::vector<std::string> join_negative_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> joined;
  for (const std::string& argument : arguments) {
    const bool negative = argument.size() > 1 && argument[0] == '-' && argument[1] >= '0' && argument[1] <= '9';
    if (negative && !joined.empty() && joined.back().starts_with("--") && joined.back().size() > 2 &&
        joined.back().find('=') == std::string::npos) {
      joined.back() += "=" + argument;
    } else {
      joined.push_back(argument);
    }
  }
  return joined;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

// CLI11 says "--seed: 1 required S missing" and "--seed: At Most 1 required but received 2".
std::string mismatch_text(const std::string& message) {
  const std::string name = message.substr(0, message.find(": "));
  if (message.ends_with(" missing")) return name + " needs a value";
  if (message.find("At Most 1") != std::string::npos) return name + " is given more than once";
  return one_line(message);
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// Flags that the command does not have come before anything CLI11 has to say: they are the usual cause of the rest.
void refuse_unknown_flags(const CLI::App& app, const std::string& command) {
  for (const std::string& argument : app.remaining()) {
    if (argument.size() < 2 || argument[0] != '-') continue;
    const std::string name = argument.substr(0, argument.find('='));
    throw Error("'" + command + "' has no flag '" + name + "'" + did_you_mean(name, flag_names(app)) +
                "; see 'lenbench " + command + " --help'");
  }
}

}  // namespace

bool Parsed::has(const std::string& name) const { return std::find(given.begin(), given.end(), name) != given.end(); }

FlagSet::FlagSet(const std::string& command, const std::string& summary, const std::string& examples)
    : parser_(std::make_unique<Parser>()), command_(command) {
  CLI::App& app = parser_->app;
  app.description(summary);
  app.name("lenbench " + command);
  app.set_help_flag("-h,--help", "Show this text");
  app.get_formatter()->column_width(36);
  app.footer(examples);
  app.allow_extras();
}

FlagSet::~FlagSet() = default;

void FlagSet::positional(const char* name, std::string& target, const char* help) {
  parser_->app.add_option(name, target, help)->required()->type_name("");
}

void FlagSet::positionals(const char* name, std::vector<std::string>& target, const char* help) {
  parser_->app.add_option(name, target, help)->type_name("");
}

void FlagSet::value(const char* names, std::string& target, const char* type, const char* help, bool required) {
  CLI::Option* option = parser_->app.add_option(names, target, help)->type_name(type)->required(required);
  if (!target.empty()) option->capture_default_str();
}

void FlagSet::list(const char* names, std::vector<std::string>& target, const char* type, const char* help) {
  parser_->app.add_option(names, target, help)->type_name(type)->allow_extra_args(false);
}

void FlagSet::flag(const char* names, bool& target, const char* help) { parser_->app.add_flag(names, target, help); }

Parsed FlagSet::parse(const std::vector<std::string>& arguments, bool takes_extra) const {
  CLI::App& app = parser_->app;
  const std::vector<std::string> joined = join_negative_values(arguments);
  // CLI11 takes the arguments last one first.
  std::vector<std::string> reversed(joined.rbegin(), joined.rend());
  const std::string hint = "; see 'lenbench " + command_ + " --help'";
  Parsed parsed;
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    parsed.help = app.help();
    return parsed;
  } catch (const CLI::ArgumentMismatch& error) {
    refuse_unknown_flags(app, command_);
    throw Error(command_ + ": " + mismatch_text(error.what()) + hint);
  } catch (const CLI::ParseError& error) {
    refuse_unknown_flags(app, command_);
    throw Error(command_ + ": " + one_line(error.what()) + hint);
  }
  refuse_unknown_flags(app, command_);
  parsed.extra = app.remaining();
  if (!parsed.extra.empty() && !takes_extra) {
    throw Error("'" + command_ + "' does not expect '" + parsed.extra.front() + "'" + hint);
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    for (const std::string& name : option->get_lnames()) parsed.given.push_back("--" + name);
  }
  return parsed;
}

std::vector<std::string> FlagSet::long_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : parser_->app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace lenbench::cli
