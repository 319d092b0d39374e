#!/usr/bin/env bash
# Writes the bundled perplexity document (Genesis) and, apart from it, the rest of the King James Version to train on.
#
# usage: tools/make_corpora.sh TRAINING_FOLDER
# Needs Debian's bible-kjv. results/corpora/genesis.txt is committed; the training text is not.
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: tools/make_corpora.sh TRAINING_FOLDER" >&2
  exit 2
fi
if ! command -v bible > /dev/null; then
  echo "make_corpora.sh: 'bible' was not found: install bible-kjv (apt-get install bible-kjv)" >&2
  exit 2
fi
corpora="$(cd "$(dirname "$0")/.." && pwd)/results/corpora"
mkdir -p "$corpora" "$1"

# `bible -f` prints "Ge1:1 In the beginning ...": one verse a line. Drops the reference and parts the chapters.
verses() {
  LC_ALL=C bible -f "$1" | LC_ALL=C awk '
    {
      chapter = $1
      sub(/:[0-9]+$/, "", chapter)
      if (NR > 1 && chapter != previous) print ""
      previous = chapter
      sub(/^[^ ]+ +/, "")
      sub(/ +$/, "")
      print
    }'
}

verses "Gen1:1-Gen50:26" > "$corpora/genesis.txt"
verses "Exo1:1-Rev22:21" > "$1/kjv-without-genesis.txt"
wc -c "$corpora/genesis.txt" "$1/kjv-without-genesis.txt" >&2
