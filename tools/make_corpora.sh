#!/usr/bin/env bash
# Writes the bundled perplexity document (Genesis) and, apart from it, the rest of the King James Version to train on;
# and all 66 books as documents of their own, split into train, validation and test by book.
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
plain() {
  LC_ALL=C awk '
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
verses() { LC_ALL=C bible -f "$1" | plain; }

verses "Gen1:1-Gen50:26" > "$corpora/genesis.txt"
verses "Exo1:1-Rev22:21" > "$1/kjv-without-genesis.txt"
# Of every eleven books the first is for tests (Genesis among them) and the last for validation; no book is divided.
mkdir -p "$1/kjv/train" "$1/kjv/validation" "$1/kjv/test"
references="$(mktemp -d)"
trap 'rm -rf "$references"' EXIT
LC_ALL=C bible -f "Gen1:1-Rev22:21" | LC_ALL=C awk -v folder="$references" '
  {
    book = $1
    sub(/[0-9]+:[0-9]+$/, "", book)
    if (book != previous) ++number
    previous = book
    print > sprintf("%s/%02d-%s.txt", folder, number, book)
  }'
for file in "$references"/*.txt; do
  name="$(basename "$file")"
  case "$((10#${name%%-*} % 11))" in
    1) split="test" ;;
    0) split=validation ;;
    *) split=train ;;
  esac
  plain < "$file" > "$1/kjv/$split/$name"
done

wc -c "$corpora/genesis.txt" "$1/kjv-without-genesis.txt" >&2
for split in train validation test; do
  echo "$split: $(find "$1/kjv/$split" -name "*.txt" | wc -l) books, $(cat "$1/kjv/$split"/*.txt | wc -c) bytes" >&2
done
