#!/usr/bin/env bash
# Fuzzes the readers of files and lines with address and undefined-behaviour sanitizers.
#
#   tools/fuzz.sh SECONDS [TARGET ...]
#
# SECONDS is the time in all, shared equally by the targets (default: all of tests/fuzz). What is found is kept in
# build/fuzz/found; new inputs grow build/fuzz/corpus, and tests/fuzz/corpus holds the seeds. Needs clang.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "fuzz.sh: error: $*" >&2; exit 2; }
[[ "${1:-}" =~ ^[1-9][0-9]*$ ]] || fail "write tools/fuzz.sh SECONDS [TARGET ...]"
seconds="$1"
shift
compiler="$(command -v clang++ || true)"
[ -n "$compiler" ] || fail "clang++ is missing: apt-get install clang"
known=()
for source in tests/fuzz/fuzz_*.cpp; do
  name="${source##*/fuzz_}"
  [ "${name%.cpp}" = file ] || known+=("${name%.cpp}")
done
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${known[@]}")
for target in "${targets[@]}"; do
  [[ " ${known[*]} " == *" $target "* ]] || fail "no target '$target'; there are: ${known[*]}"
done
each=$(( (seconds + ${#targets[@]} - 1) / ${#targets[@]} ))

cmake --log-level=WARNING -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_COMPILER="$compiler" -DLENBENCH_FUZZ=ON -DLENBENCH_SANITIZE=address -DLENBENCH_NN=OFF -DLENBENCH_CUDA=OFF >&2
cmake --build build/fuzz --target "${targets[@]/#/lenbench_fuzz_}" ${FUZZ_JOBS:+-j "$FUZZ_JOBS"} >&2

found=0
mkdir -p build/fuzz/found
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  began=$SECONDS
  log="build/fuzz/$target.log"
  if "build/fuzz/bin/lenbench_fuzz_$target" -max_total_time="$each" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="build/fuzz/found/$target-" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" > "$log" 2>&1; then
    result=clean
  else
    result="FOUND something: see $log and build/fuzz/found"
    found=1
  fi
  runs="$(grep -oE '^#[0-9]+' "$log" | tail -1 | tr -d '#' || true)"
  echo "$target: $((SECONDS - began)) s, ${runs:-0} inputs, $result"
done
exit "$found"
