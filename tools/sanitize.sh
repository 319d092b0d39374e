#!/usr/bin/env bash
# Runs the tests under checkers of memory and threads, each in a build folder of its own, and ends with 1 when one found
# something.
#
#   tools/sanitize.sh [CHECKER ...] [-- CTEST OPTION ...]
#
#   address   AddressSanitizer with leaks, undefined behaviour, assertions: every torch-free test but the slow ones and
#             the laws that repeat one draw (build/sanitize)
#   thread    ThreadSanitizer over the rooms that start threads and need no torch (build/sanitize-thread)
#   memcheck  valgrind over torch-free rooms and a small measurement with LibTorch: reads of uninitialized memory, leaks
#   helgrind  valgrind over what has threads and no torch: data races, locks in changing order
#
# Without CHECKER all of them. valgrind's two run build/release, which tools/build.sh release makes, as users do.
# SANITIZE_JOBS=N builds and tests with N processes (default: one a core).
# tests/leaks_of_others.txt and tests/valgrind_of_others.txt list what is not ours.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "sanitize.sh: error: $*" >&2; exit 2; }
jobs="${SANITIZE_JOBS:-$(nproc)}"
checkers=()
while [ $# -gt 0 ]; do
  case "$1" in
    address|thread|memcheck|helgrind) checkers+=("$1") ;;
    --) shift; break ;;
    *) fail "'$1' is no checker: write address, thread, memcheck or helgrind" ;;
  esac
  shift
done
[ ${#checkers[@]} -gt 0 ] || checkers=(address thread memcheck helgrind)

# clang compiles instrumented code in half of g++'s time.
compiler="$(command -v clang++ || command -v g++)"

# built PRESET TARGET ...
built() {
  local preset="$1"
  shift
  cmake --preset "$preset" -DCMAKE_CXX_COMPILER="$compiler" >&2 && cmake --build "build/$preset" --parallel "$jobs" --target "$@" >&2
}

# Laws that repeat one draw up to a hundred thousand times: nothing more to see in them here.
readonly repeated='Simulation|Sequential|Betting|BruteForce|Splits|Uniform|Hypergeometric|SharesOfTheTable'

check_address() {
  built sanitize all || return 1
  ctest --preset sanitize -LE slow -E "$repeated" --parallel "$jobs" "$@"
}

# The rooms that start threads; NAME:FILTER of their tests.
readonly threaded=(kernels:'*Threads*' dist:'SharedRun*:WorkQueue*:Meeting*' recipe:'TrainData*' bench:'Runner*:Merge*')

check_thread() {
  local room targets=() found=0
  for room in "${threaded[@]}"; do targets+=("lenbench_${room%%:*}_tests"); done
  built sanitize-thread "${targets[@]}" || return 1
  for room in "${threaded[@]}"; do
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 "build/sanitize-thread/bin/lenbench_${room%%:*}_tests" --gtest_brief=1 \
      --gtest_filter="${room#*:}" || found=1
  done
  return "$found"
}

# under_valgrind NAME OPTION ... -- COMMAND ...
under_valgrind() {
  local name="$1" began=$SECONDS
  shift
  if OMP_NUM_THREADS=1 valgrind --quiet --error-exitcode=9 --num-callers=20 --suppressions=tests/valgrind_of_others.txt "$@"; then
    echo "sanitize.sh: $name: clean in $((SECONDS - began)) s"
  else
    echo "sanitize.sh: $name: FOUND something"
    return 1
  fi
}

readonly skipped=77

# Without loops over thousands of damaged files and megabytes of output: these take minutes here, and run
# under AddressSanitizer too.
memcheck_filter() {
  case "$1" in
    record) echo '-ReadRecords.ReportsATailTornAtAnyByte' ;;
    checkpoint) echo '-Safetensors.RandomDamageNeverCrashes' ;;
    exec) echo '-Program.ALargeRequestAndMuchOnStandardErrorDoNotBlockEachOther' ;;
    *) echo '*' ;;
  esac
}

check_memcheck() {
  command -v valgrind >/dev/null || return "$skipped"
  local found=0 room
  local leaks=(--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)
  for room in base record checkpoint dist exec recipe; do
    under_valgrind "memcheck: $room" "${leaks[@]}" "build/release/bin/lenbench_${room}_tests" --gtest_brief=1 \
      --gtest_filter="$(memcheck_filter "$room")" || found=1
  done
  if [ -e build/release/lib/liblenbench_nn.so ]; then
    under_valgrind "memcheck: a measurement" "${leaks[@]}" build/release/bin/lenbench run recall-asentmax-nape --lengths 64 \
      --samples 2 --threads 1 --quiet || found=1
  else
    echo "sanitize.sh: memcheck: a measurement: SKIPPED: this build has no LibTorch"
  fi
  return "$found"
}

check_helgrind() {
  command -v valgrind >/dev/null || return "$skipped"
  local found=0 room
  for room in "${threaded[@]}"; do
    under_valgrind "helgrind: ${room%%:*}" --tool=helgrind "build/release/bin/lenbench_${room%%:*}_tests" --gtest_brief=1 \
      --gtest_filter="${room#*:}" || found=1
  done
  return "$found"
}

found=0
for checker in "${checkers[@]}"; do
  code=0
  "check_$checker" "$@" || code=$?
  case "$code" in
    0) echo "sanitize.sh: $checker: clean" ;;
    "$skipped") echo "sanitize.sh: $checker: SKIPPED: valgrind is missing (apt-get install valgrind)" ;;
    *) echo "sanitize.sh: $checker: FOUND something, or could not run: see above"; found=1 ;;
  esac
done
exit "$found"
