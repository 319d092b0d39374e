#!/usr/bin/env bash
# `pip install .` into a new virtual environment, from a clone with its changes, and the installed program away
# from the sources. Slow: it builds everything. LibTorch comes as the wheel of torch without its dependencies, beside the two
# CUDA libraries that its CPU part is linked with; --full installs all of torch's dependencies (about 3 GB).
#
#   LENBENCH_WHEEL=1 wheel_test.sh [--full]
#
# pip's own settings (PIP_FIND_LINKS, PIP_INDEX_URL ...) are used; CXX and CMAKE_BUILD_PARALLEL_LEVEL reach the build.
set -euo pipefail
if [ "${LENBENCH_WHEEL:-}" != 1 ]; then
  echo "wheel_test: skipped: it builds everything anew and fetches torch; set LENBENCH_WHEEL=1" >&2
  exit 77
fi
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "wheel_test: $*" >&2; exit 1; }

# A clone, so that the program knows its commit, with what was changed since.
git clone --quiet "$repository" "$work/sources"
git -C "$repository" ls-files --modified --others --exclude-standard -z |
  (cd "$repository" && xargs -0 --no-run-if-empty cp --parents -t "$work/sources")

python3 -m venv "$work/v"
pip() { "$work/v/bin/python" -m pip --disable-pip-version-check "$@"; }
began=$SECONDS
if [ "${1:-}" = --full ]; then
  pip install --quiet "$work/sources"
else
  pip install --quiet --no-deps 'torch>=2.11,<2.12' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cupti==13.0.*'
  pip install --quiet --no-deps "$work/sources"
fi
echo "wheel_test: installed in $((SECONDS - began)) s" >&2
rm -rf "$work/sources"

cd /
lenbench() { env -i PATH=/usr/bin:/bin HOME="$work" OMP_NUM_THREADS=1 "$work/v/bin/lenbench" "$@"; }
python() { env -i PATH=/usr/bin:/bin HOME="$work" "$work/v/bin/python" "$@"; }
lenbench --version -v | tee "$work/version" >&2
grep -qE '^lenbench 0\.[0-9.]+ \(commit [0-9a-f]{40}' "$work/version" && grep -q '^LibTorch 2\.11' "$work/version" || fail "no version, or no LibTorch"
lenbench run recall-asentmax-nape --tasks recall --lengths 64..1024 --samples 4 -o "$work/out.jsonl" | tee "$work/table" >&2
[ "$(grep -c '^| [0-9]' "$work/table")" = 5 ] || fail "not five rows"
lenbench reproduce note-1 > "$work/note" && lenbench list papers > "$work/papers" || fail "data is missing"
lenbench run nothing --lengths 64 2> "$work/refused" && fail "a wrong name was taken" || [ $? = 2 ] || fail "exit code lost"
python -m lenbench list tasks | grep -q '^recall ' || fail "python -m lenbench does not run it"

# Every library of torch comes from this environment.
place="$(python -c 'import importlib.util as u; print(u.find_spec("lenbench").submodule_search_locations[0])')"
LD_LIBRARY_PATH= ldd "$place/lib/liblenbench_nn.so" > "$work/libraries"
! grep -q 'not found' "$work/libraries" || fail "libraries are missing: $(cat "$work/libraries")"
grep libtorch_cpu "$work/libraries" | grep -q "=> $work/v/" || fail "another LibTorch is used: $(cat "$work/libraries")"

python - "$work/out.jsonl" <<'PYTHON'
import sys
import lenbench
from lenbench import adapter
records = lenbench.read_records(sys.argv[1])
assert [r["question"]["length"] for r in records] == [64, 128, 256, 512, 1024], records
assert all(r["status"] == "ok" and r["measurement"]["exact"]["n"] == 4 for r in records)
assert callable(lenbench.export_torchscript) and callable(adapter.serve)
PYTHON
[ -s "$work/v/share/man/man1/lenbench-run.1" ] || fail "no man pages"
lenbench completion bash | bash -n || fail "no completion"
pip uninstall --quiet --yes lenbench
[ ! -e "$work/v/bin/lenbench" ] && [ ! -e "$work/v/share/man/man1/lenbench-run.1" ] || fail "something is left after uninstall"
echo "wheel_test: passed"
