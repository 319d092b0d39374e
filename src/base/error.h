// The one error type and the exit codes of the program.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace lenbench {

// What the process tells its caller. Priority when several apply: 2, 1, 3, 0.
enum class ExitCode : int {
  kOk = 0,           // all measured, nothing worse
  kWorse = 1,        // `check`: a cell is worse, or missing against the baseline
  kBadInput = 2,     // a flag, task, length, address, checkpoint, text, recipe, policy or record cannot be used
  kNotMeasured = 3,  // output cannot be written, or a cell failed, is non-finite or ran out of memory
};

// Everything a user can cause. `what()` is one line: what failed, where, the value, and what to try.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string message, ExitCode code = ExitCode::kBadInput)
      : std::runtime_error(std::move(message)), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

}  // namespace lenbench
