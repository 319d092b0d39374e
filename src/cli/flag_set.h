// The flags of one command. The only door to CLI11, whose headers cost seconds in every file that includes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace lenbench::cli {

// What the command line held beyond the declared values.
struct Parsed {
  std::string help;                // not empty: --help was given, and this is its text
  std::vector<std::string> given;  // long names of the flags that were written, "--output"
  std::vector<std::string> extra;  // positional arguments beyond the declared ones
  bool has(const std::string& name) const;
};

// Targets must outlive the FlagSet; their values at declaration are the defaults that --help shows.
class FlagSet {
 public:
  FlagSet(const std::string& command, const std::string& summary, const std::string& examples);
  ~FlagSet();
  FlagSet(const FlagSet&) = delete;
  FlagSet& operator=(const FlagSet&) = delete;

  // One required positional argument; `name` in capitals.
  void positional(const char* name, std::string& target, const char* help);
  // Any number of positional arguments, none included.
  void positionals(const char* name, std::vector<std::string>& target, const char* help);
  // A flag with one value; `names` like "-o,--output", `type` what stands for the value.
  void value(const char* names, std::string& target, const char* type, const char* help, bool required = false);
  // A flag with one value that may be repeated; it never takes the argument after its value.
  void list(const char* names, std::vector<std::string>& target, const char* type, const char* help);
  // A flag without a value.
  void flag(const char* names, bool& target, const char* help);

  // Fills the targets. A value may start with '-' and a digit. Throws Error on an unknown flag ("did you mean"), a
  // missing value or argument, a value given twice, and on extra arguments unless `takes_extra`.
  Parsed parse(const std::vector<std::string>& arguments, bool takes_extra) const;

  std::vector<std::string> long_names() const;  // "--samples", ...

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string command_;
};

}  // namespace lenbench::cli
