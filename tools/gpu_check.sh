#!/usr/bin/env bash
# Builds lenbench on a machine with a GPU, runs the tests labelled cuda, times attention beside LibTorch's and AdaSplash's,
# evaluates a bundled model at 65,536 and 1,048,576 tokens, and writes one JSON file with every figure or the reason why it
# is missing. Takes under eight minutes (--minutes changes that) and needs no network.
#
#   tools/gpu_check.sh [-o FILE] [--build DIR] [--minutes N] [--samples N]
#
# -o FILE       the JSON file (default: build/gpu-check.json)
# --build DIR   build here, or use what is built here (default: build/gpu)
# --minutes N   stop starting steps after this long (default 8)
# --samples N   samples at 65,536 tokens (default 4); one at 1,048,576
#
# It needs an NVIDIA GPU with its driver, nvcc 12 or newer, g++, cmake, ninja and a Python 3 with the full torch wheel (or
# LIBTORCH_ROOT at a LibTorch with CUDA). What Debian's packages bring is taken from build/packed where
# tools/pack_headers.sh has put it on another machine.
# Exit code: 0 all measured, 1 a step failed, 2 arguments that mean nothing, 3 no GPU or a figure is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v python3 >/dev/null || { echo "gpu_check: error: python3 is needed and was not found" >&2; exit 2; }
exec python3 tools/gpu_check.py "$@"
