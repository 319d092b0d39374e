#!/usr/bin/env bash
# From a fresh Debian 12 machine to a table: installs what is missing, builds lenbench into build/release, and measures the
# bundled ASEntmax checkpoint on associative recall from its training length to a thousand times that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One configuration serves this script and tools/test.sh, so the test library is installed too.
LIBTORCH_ROOT="$(tools/setup.sh --tests)"
export LIBTORCH_ROOT
tools/build.sh release -- lenbench lenbench_nn
exec build/release/bin/lenbench run recall-asentmax-nape --tasks recall --lengths 64,256,1024,4096,16384,65536 \
  --samples 200 --samples-at 16384=32,65536=8 "$@"
