// Ctrl-C: once asks for a clean stop, twice ends the process.
#pragma once

#include <atomic>

namespace lenbench::cli {

inline constexpr int kInterruptedExit = 130;

// Installs handlers for SIGINT and SIGTERM; returns the flag that the first signal sets. The second signal ends the
// process at once.
std::atomic<bool>* watch_interrupts();

}  // namespace lenbench::cli
