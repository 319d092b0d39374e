// Children that answer, die, hang, shout and leave children of their own behind.
#include "exec/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/error.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kMaxLine = 4096;

std::string failure(Program& program, const std::string& request = "x\n", double seconds = 20) {
  const std::string message = error_of([&] { program.exchange(request, seconds, kMaxLine); }, ExitCode::kNotMeasured);
  EXPECT_FALSE(program.running());
  return message;
}

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A process number that a program wrote; waits until it is there.
pid_t pid_in(const std::string& path) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream file(path);
    pid_t pid = 0;
    if (file >> pid) return pid;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ADD_FAILURE() << path << " was never written";
  return 0;
}

bool gone_within(pid_t pid, int milliseconds) {
  for (int i = 0; i < milliseconds; i += 5) {
    if (kill(pid, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(Program, AnswersLineByLine) {
  Program program("while read line; do echo \"got $line\"; done");
  EXPECT_EQ(program.exchange("one\n", 20, kMaxLine), "got one");
  EXPECT_EQ(program.exchange("two\n", 20, kMaxLine), "got two");
}

TEST(Program, ALargeRequestAndMuchOnStandardErrorDoNotBlockEachOther) {
  // 8 MiB in, 4 MiB on standard error before any of it is read.
  Program program("head -c 4194304 /dev/zero | tr '\\0' e >&2; read line; echo ${#line}");
  EXPECT_EQ(program.exchange(std::string(8 << 20, 'x') + "\n", 60, kMaxLine), std::to_string(8 << 20));
}

TEST(Program, SaysHowItEndedWithItsLastWords) {
  Program exits("echo first >&2; echo 'no such file: w.pt' >&2; exit 3");
  EXPECT_EQ(failure(exits),
            "ended with exit status 3; its last lines on standard error: 'first' | 'no such file: w.pt'");
  Program killed("kill -SEGV $$");
  EXPECT_EQ(failure(killed), "was ended by signal 11 (Segmentation fault)");
  Program missing("/no/such/program");
  EXPECT_THAT(failure(missing), AllOf(HasSubstr("exit status 127 (a shell's for a command that it does not find)"),
                                      HasSubstr("/no/such/program")));
  Program nested("sh -c 'kill -ABRT $$'; exit $?");
  EXPECT_THAT(failure(nested), HasSubstr("exit status 134 (a shell's for signal 6 (Aborted))"));
  Program silent("exec 1>&-; sleep 60");
  EXPECT_EQ(failure(silent), "closed its standard output without ending");
}

TEST(Program, QuotesOnlyTheEndOfLongWords) {
  Program program("i=0; while [ $i -lt 2000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 1");
  const std::string message = failure(program);
  EXPECT_THAT(message, HasSubstr("'line 1995' | 'line 1996' | 'line 1997' | 'line 1998' | 'line 1999'"));
  Program wide("head -c 100000 /dev/zero | tr '\\0' w >&2; exit 1");
  EXPECT_LT(failure(wide).size(), 800U);
}

TEST(Program, StopsWaitingAtTheDeadline) {
  Program program("sleep 60");
  EXPECT_EQ(failure(program, "x\n", 0.2), "gave no answer within 0.2 s");
  Program deaf("sleep 60");  // never reads: the request does not fit the pipe
  EXPECT_EQ(failure(deaf, std::string(4 << 20, 'x'), 0.2), "gave no answer within 0.2 s");
  Program dripping("while true; do printf x; sleep 0.05; done");
  EXPECT_EQ(failure(dripping, "x\n", 0.4), "gave no answer within 0.4 s");
}

TEST(Program, ALineWithoutEndIsBounded) {
  Program program("cat /dev/zero");
  EXPECT_EQ(failure(program), "wrote a line of more than 4096 bytes");
  Program longer("head -c 5000 /dev/zero | tr '\\0' x; echo; sleep 60");
  EXPECT_EQ(failure(longer), "wrote a line of more than 4096 bytes");
}

TEST(Program, AnEndWithoutALastLineFeedIsNoAnswer) {
  Program program("printf half; exit 0");
  EXPECT_EQ(failure(program), "ended with exit status 0");
}

TEST(Program, EndsByItselfWhenItsInputEnds) {
  const TemporaryFolder folder;
  const std::string mark = folder / "ended";
  {
    Program program("while read line; do echo ok; done; echo 1 > " + mark);
    EXPECT_EQ(program.exchange("x\n", 20, kMaxLine), "ok");
  }
  EXPECT_TRUE(std::filesystem::exists(mark));
}

TEST(Program, DescendantsAreEndedAlsoThoseWithASessionOfTheirOwn) {
  const TemporaryFolder folder;
  const std::string child = folder / "child", session = folder / "session";
  Program program("sleep 600 & echo $! > " + child + "; setsid sh -c 'echo $$ > " + session +
                  "; exec sleep 600' & read line; echo ok; sleep 600");
  EXPECT_EQ(program.exchange("x\n", 20, kMaxLine), "ok");
  const pid_t first = pid_in(child), second = pid_in(session);
  ASSERT_EQ(kill(first, 0), 0);
  ASSERT_EQ(kill(second, 0), 0);
  program.end();
  EXPECT_TRUE(gone_within(first, 0) || gone_within(first, 2000));
  EXPECT_TRUE(gone_within(second, 2000));
}

TEST(Program, WhatItLeftBehindIsEndedWhenItEnds) {
  const TemporaryFolder folder;
  const std::string left = folder / "left";
  Program program("setsid sh -c 'echo $$ > " + left + "; exec sleep 600' & sleep 0.2; exit 5");
  EXPECT_EQ(failure(program), "ended with exit status 5");
  EXPECT_TRUE(gone_within(pid_in(left), 2000));
}

TEST(Program, EverythingEndsWhenItsOwnerIsKilled) {
  const TemporaryFolder folder;
  const std::string path = folder / "pid", grandchild = folder / "grandchild";
  const pid_t owner = fork();
  if (owner == 0) {
    Program program("echo $$ > " + path + "; setsid sh -c 'echo $$ > " + grandchild +
                    "; exec sleep 600' & read line; sleep 600");
    pause();
    _exit(0);
  }
  const pid_t program = pid_in(path), last = pid_in(grandchild);
  ASSERT_EQ(kill(program, 0), 0);
  ASSERT_EQ(kill(last, 0), 0);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(gone_within(program, 5000));
  EXPECT_TRUE(gone_within(last, 5000));
}

TEST(Program, AHangingProgramCostsTwoSecondsAtTheEnd) {
  const double seconds = seconds_of([] { Program program("trap '' TERM INT; sleep 600"); });
  EXPECT_LT(seconds, 10);
}

TEST(Program, InheritsNoFilesAndNoIgnoredSignals) {
  const TemporaryFolder folder;
  const int file = open((folder / "lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  const auto before = signal(SIGPIPE, SIG_IGN);
  Program program("read line; ls /proc/self/fd | wc -l; grep SigIgn /proc/$$/status | cut -c9-; sleep 60");
  // 0, 1, 2 and the folder that ls itself lists.
  EXPECT_EQ(program.exchange("x\n", 20, kMaxLine), "4");
  EXPECT_EQ(program.exchange("", 20, kMaxLine), "0000000000000000");
  signal(SIGPIPE, before);
  close(file);
}

}  // namespace
}  // namespace lenbench
