#!/usr/bin/env bash
# Proves that the two commands of the README work on a fresh Debian 12 machine: makes one with debootstrap in a folder, clones
# this repository into it and runs both, twice (the second run must find nothing to do). Needs root and debootstrap; takes a
# while and about 4 GB.
#
#   tools/fresh_machine_test.sh [FOLDER]
#
# MIRROR=URL  Debian mirror. Proxies, PIP_* settings and the certificate bundle of this machine are passed on.
set -euo pipefail
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
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
for round in 1 2; do
  for command in tools/quickstart.sh tools/test.sh; do
    started=$SECONDS
    inside "$command"
    echo "fresh_machine_test: round $round: $command passed in $((SECONDS - started)) s" >&2
  done
done
