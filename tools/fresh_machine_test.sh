#!/usr/bin/env bash
# Proves that the two commands of the README work on a fresh Debian 12 machine: makes one with debootstrap in a folder, clones
# this repository into it and runs both, twice (the second run must find nothing to do). Needs root and debootstrap; takes a
# while and about 4 GB.
#
#   tools/fresh_machine_test.sh [--pip] [FOLDER]
#
# --pip instead installs the Python package as docs/install.md says, with all that pip takes for torch (3 GB more), and
# measures with it.
#
# MIRROR=URL       Debian mirror. Proxies, PIP_* settings and the certificate bundle of this machine are passed on.
# SHARE_CCACHE=1   compile with this machine's ccache, whose objects a fresh one would not have.
set -euo pipefail
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
way=commands
if [ "${1:-}" = --pip ]; then
  way=pip
  shift
fi
root="${1:-$(mktemp -d /var/tmp/lenbench-fresh.XXXXXX)}"
mirror="${MIRROR:-http://deb.debian.org/debian}"

[ "$(id -u)" -eq 0 ] || { echo "fresh_machine_test: run as root (debootstrap and chroot need it)" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh_machine_test: install debootstrap" >&2; exit 2; }

mounted=()
cleanup() { for place in "${mounted[@]}"; do umount -l "$place" || true; done; }
trap cleanup EXIT

if [ ! -e "$root/etc/debian_version" ]; then
  debootstrap --variant=minbase --include=python3,ca-certificates,git bookworm "$root" "$mirror"
fi
for place in proc sys dev; do
  mount --bind "/$place" "$root/$place"
  mounted+=("$root/$place")
done
compiler=''
if [ "${SHARE_CCACHE:-}" = 1 ]; then
  compiler=CXX=/usr/bin/c++  # under the name that this machine's objects were made with; pip has Python's
  mkdir -p "$root/root/.cache/ccache"
  mount --bind "${CCACHE_DIR:-$HOME/.cache/ccache}" "$root/root/.cache/ccache"
  mounted+=("$root/root/.cache/ccache")
fi
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
cp /etc/hosts "$root/etc/hosts"
mkdir -p "$root/etc/ssl/certs"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
rm -rf "$root/root/lenbench"
git clone --quiet "$repository" "$root/root/lenbench"

inside() {
  env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI="${CI:-}" \
    ${PIP_CERT:+PIP_CERT="$PIP_CERT"} ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$root" bash -c "cd /root/lenbench && $1"
}
# timed COMMAND WHAT
timed() {
  local started=$SECONDS
  inside "$1"
  echo "fresh_machine_test: $2: passed in $((SECONDS - started)) s" >&2
}
if [ "$way" = pip ]; then
  timed 'tools/setup.sh --venv' 'tools/setup.sh --venv'
  timed "python3 -m venv v && $compiler v/bin/pip install ." 'pip install .'
  timed 'v/bin/lenbench run recall-asentmax-nape --tasks recall --lengths 64..4096 --samples 8' 'lenbench run'
  exit 0
fi
for round in 1 2; do
  for command in tools/quickstart.sh tools/test.sh; do
    timed "$command" "round $round: $command"
  done
done
