// The clock that durations are measured with.
#pragma once

#include <chrono>

namespace lenbench {

// Seconds since some moment, the same for all of the process; they never go back.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lenbench
