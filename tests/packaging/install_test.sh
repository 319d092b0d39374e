#!/usr/bin/env bash
# `cmake --install` into a folder of its own, which is then moved: the program must find library, data, pages and completions.
#
#   install_test.sh BUILD_FOLDER LIBTORCH_ROOT
set -euo pipefail
build="$1" libtorch="$2"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" > "$work/log" || { cat "$work/log" >&2; fail "cmake --install failed"; }
mv "$work/first" "$work/second place"
prefix="$work/second place"
# What is not there must not be found elsewhere: the data in the source tree still has this one.
rm -r "$prefix/share/lenbench/checkpoints/recall-softmax-nape"
run() { env -i PATH=/usr/bin:/bin OMP_NUM_THREADS=1 "$prefix/bin/lenbench" "$@"; }

cd /
listed="$(run list checkpoints)"
grep -q '^recall-asentmax-nape ' <<< "$listed" || fail "no bundled checkpoints: $listed"
! grep -q '^recall-softmax-nape ' <<< "$listed" || fail "checkpoints come from somewhere else than the installation"
run list papers > "$work/papers" && run list tables > "$work/tables" && [ -s "$work/papers" ] && [ -s "$work/tables" ] || fail "no tables"
run run recall-asentmax-nape --lengths 64 --samples 2 --quiet > "$work/table" || fail "the model does not run"
grep -q '^| 64' "$work/table" || fail "no row of results: $(cat "$work/table")"
run run lm-asentmax-nape --tasks text --lengths 64 --samples 1 --quiet > "$work/table" || fail "the bundled corpus is not found"
run reproduce note-1 > "$work/note" || fail "the bundled Records are not found"
run --version -v | grep -q '^LibTorch 2' || fail "LibTorch is not loaded"

path="$(readelf -d "$prefix/lib/liblenbench_nn.so" | sed -n 's/.*R[UN]*PATH.*\[\(.*\)\]/\1/p')"
[ "$path" = "$libtorch/lib" ] || fail "RPATH is '$path', not '$libtorch/lib'"
for page in lenbench lenbench-run lenbench-completion; do
  [ -s "$prefix/share/man/man1/$page.1" ] || fail "no page $page.1"
done
bash -n "$prefix/share/bash-completion/completions/lenbench" || fail "the bash completion is no script"
[ -s "$prefix/share/zsh/site-functions/_lenbench" ] && [ -s "$prefix/share/fish/vendor_completions.d/lenbench.fish" ] || fail "no completions"
echo "install_test: passed"
