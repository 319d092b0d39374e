#!/usr/bin/env bash
# Configures (once) and builds a preset: tools/build.sh PRESET [cmake configure options ...] [-- TARGET ...]
# Needs what tools/setup.sh installs. Quick when nothing changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="$1"
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  options+=("$1")
  shift
done
[ $# -gt 0 ] && shift
targets=()
for target in "$@"; do targets+=(--target "$target"); done

# Options are remembered by CMake; configuring again is needed only when they, or the LibTorch folder, change.
wanted="${LIBTORCH_ROOT:?set by the caller from tools/setup.sh} ${options[*]-}"
stamp="build/$preset/.configured-with"
if [ ! -e "build/$preset/build.ninja" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  cmake --preset "$preset" -DLIBTORCH_ROOT="$LIBTORCH_ROOT" ${options[@]+"${options[@]}"} >&2
  echo "$wanted" > "$stamp"
fi
cmake --build "build/$preset" ${targets[@]+"${targets[@]}"} >&2
