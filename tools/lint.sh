#!/usr/bin/env bash
# Checks what a compiler does not: format, which room includes which, and the house rules that a search can find.
# tools/lint.sh --fix formats in place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh --lint >/dev/null
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.h' 'src/*.cpp' 'src/*.def' 'tasks/*.h' 'tasks/*.cpp' 'tests/*.h' 'tests/*.cpp' 'tests/*.cu' 'src/*.cu' | grep -v '\.def$')
if [ "${1:-}" = --fix ]; then
  clang-format -i "${sources[@]}"
else
  clang-format --dry-run -Werror "${sources[@]}"
fi
python3 tools/lint.py
