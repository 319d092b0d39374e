#!/usr/bin/env bash
# Runs the tests under checkers of memory and threads, each in a build folder of its own, and ends with 1 when one found
# something.
#
#   tools/sanitize.sh [CHECKER ...] [-- CTEST OPTION ...]
#
#   address   AddressSanitizer with leaks, undefined behaviour, assertions: every torch-free test but the slow ones
#             (build/sanitize)
#   thread    ThreadSanitizer over the same: kernels, work queue and shared run, batches of a training, programs as models
#             (build/sanitize-thread)
#   memcheck  valgrind over torch-free rooms and a small measurement with LibTorch, as users run them (build/release, which
#             tools/build.sh release makes): reads of uninitialized memory, leaks
#
# Without CHECKER all three. SANITIZE_JOBS=N builds and tests with N processes (default: one a core).
# tests/leaks_of_others.txt and tests/memcheck_of_others.txt list what is not ours.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "sanitize.sh: error: $*" >&2; exit 2; }
jobs="${SANITIZE_JOBS:-$(nproc)}"
checkers=()
while [ $# -gt 0 ]; do
  case "$1" in
    address|thread|memcheck) checkers+=("$1") ;;
    --) shift; break ;;
    *) fail "'$1' is no checker: write address, thread or memcheck" ;;
  esac
  shift
done
[ ${#checkers[@]} -gt 0 ] || checkers=(address thread memcheck)

# clang compiles instrumented code in half of g++'s time.
compiler="$(command -v clang++ || command -v g++)"

# built PRESET OPTION ...
built() {
  cmake --preset "$@" -DCMAKE_CXX_COMPILER="$compiler" >&2 && cmake --build "build/$1" --parallel "$jobs" >&2
}

check_address() {
  built sanitize || return 1
  ctest --preset sanitize -LE slow --parallel "$jobs" "$@"
}

check_thread() {
  built sanitize-thread || return 1
  ctest --preset sanitize-thread -LE slow --parallel "$jobs" "$@"
}

# Without loops over thousands of damaged files and megabytes of output, which take minutes here and run under
# AddressSanitizer too.
memcheck_filter() {
  case "$1" in
    record) echo '-ReadRecords.ReportsATailTornAtAnyByte' ;;
    checkpoint) echo '-Safetensors.RandomDamageNeverCrashes' ;;
    exec) echo '-Program.ALargeRequestAndMuchOnStandardErrorDoNotBlockEachOther' ;;
    *) echo '*' ;;
  esac
}

check_memcheck() {
  if ! command -v valgrind >/dev/null; then
    echo "sanitize.sh: memcheck: SKIPPED: valgrind is missing (apt-get install valgrind)"
    return 0
  fi
  local found=0 room began
  for room in base record checkpoint report verdict dist exec recipe; do
    began=$SECONDS
    if valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,possible \
      --suppressions=tests/memcheck_of_others.txt \
      "build/release/bin/lenbench_${room}_tests" --gtest_brief=1 --gtest_filter="$(memcheck_filter "$room")"; then
      echo "sanitize.sh: memcheck: $room: clean in $((SECONDS - began)) s"
    else
      echo "sanitize.sh: memcheck: $room: FOUND something"
      found=1
    fi
  done
  return "$found"
}

found=0
for checker in "${checkers[@]}"; do
  if "check_$checker" "$@"; then echo "sanitize.sh: $checker: clean"; else echo "sanitize.sh: $checker: FOUND something, or could not run: see above"; found=1; fi
done
exit "$found"
