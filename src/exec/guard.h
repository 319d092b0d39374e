// The process between lenbench and a program it started: it ends the program and all that the program started, also
// when lenbench itself is killed.
#pragma once

namespace lenbench {

// Ends of pipes that the guard and the program need; all above 2.
struct GuardPipes {
  int program_stdin, program_stdout, program_stderr;
  int control;  // read end: its end of file, when lenbench closes it or dies, ends everything
  int status;   // write end: receives the program's wait status as one int when the program ends
};

// The rest of a freshly forked process. Starts `/bin/sh -c command` in a process group of its own, reports how it
// ended, and kills every descendant that is left, those that made a session of their own included (Linux: child
// subreaper). Calls only what is safe after fork in a process with threads.
[[noreturn]] void run_guard(const char* command, const GuardPipes& pipes);

}  // namespace lenbench
