#!/usr/bin/env bash
# Builds lenbench with its tests and runs them all: installs what is missing first. Options go to ctest (try -L core).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LIBTORCH_ROOT="$(tools/setup.sh --tests)"
export LIBTORCH_ROOT
tools/build.sh release
exec ctest --test-dir build/release --output-on-failure --parallel "$(nproc)" "$@"
