// Flags of models that are programs, and what `inspect` says of one.
#pragma once

#include <string>
#include <vector>

#include "cli/flag_set.h"
#include "exec/exec_model.h"

namespace lenbench::cli {

class ExecFlags {
 public:
  void define(FlagSet& flags);
  // Throws Error when they are given for a `model` that is no program, and when one of `for_checkpoints` (long names of
  // flags that say how a checkpoint is computed) is given for a program.
  ExecLimits read(const Parsed& parsed, const std::string& model,
                  const std::vector<const char*>& for_checkpoints) const;

 private:
  std::string start_ = "10m", answer_ = "30m";
};

// The hello and the identity of a started program.
std::string program_text(const ExecModel& model);
std::string program_json(const ExecModel& model);  // one line with its line feed

}  // namespace lenbench::cli
