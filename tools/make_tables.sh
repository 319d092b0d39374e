#!/bin/sh
# Writes results/tables/README.md: every table of results/tables/ that has measured rows, as `lenbench reproduce` prints it.
# Usage: tools/make_tables.sh [PROGRAM]   (default build/release/bin/lenbench)
set -eu
cd "$(dirname "$0")/.."
program=${1:-build/release/bin/lenbench}
out=results/tables/README.md
{
  printf '# Measured tables\n\n'
  printf 'Written by `tools/make_tables.sh` from the bundled Records; a test fails when it no longer matches them.\n'
  for table in $("$program" list tables | sed 's/ .*//'); do
    case $("$program" reproduce "$table" --dry-run | head -n 1) in *' 0 of '*' cells measured') continue ;; esac
    text=$("$program" reproduce "$table" --as-is --quiet) || [ $? -eq 3 ]
    printf '\n%s\n' "$text"
  done
} > "$out.new"
mv "$out.new" "$out"
echo "$out"
