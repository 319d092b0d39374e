#!/usr/bin/env bash
# Disturbs a built lenbench for a given time and prints counts: kill -9 at random moments of run, check, gen, report and train,
# failing calls, damaged files, and with clang every fuzz target. Ends with 1 when anything was lost, doubled or crashed.
#
#   tools/soak.sh SECONDS [--seed N]
#
# Two thirds of the time go to kills and faults, a third to fuzzing (whose build is not counted). Needs build/release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "soak.sh: error: $*" >&2; exit 2; }
[[ "${1:-}" =~ ^[1-9][0-9]*$ ]] || fail "write tools/soak.sh SECONDS [--seed N]"
seconds="$1"
shift
[ -e build/release/bin/lenbench ] && [ -e build/release/lib/liblenbench_fault.so ] || fail "build first: tools/build.sh release"
train=()
if [ -e build/release/lib/liblenbench_nn.so ]; then train=(--train); fi

found=0
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
if command -v clang++ >/dev/null; then
  python3 tests/hardening/soak.py $((seconds * 2 / 3)) ${train[@]+"${train[@]}"} "$@" || found=1
  tools/fuzz.sh $((seconds - seconds * 2 / 3)) || found=1
else
  python3 tests/hardening/soak.py "$seconds" ${train[@]+"${train[@]}"} "$@" || found=1
  echo "soak: no fuzzing: clang++ is missing (apt-get install clang)"
fi
exit "$found"
