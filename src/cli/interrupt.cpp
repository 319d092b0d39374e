// Ctrl-C: once asks for a clean stop, twice ends the process.
#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace lenbench::cli {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the flag is set inside a signal handler");

extern "C" void on_interrupt(int) {
  if (stop_requested.exchange(true)) _exit(kInterruptedExit);
}

}  // namespace

std::atomic<bool>* watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &stop_requested;
}

}  // namespace lenbench::cli
