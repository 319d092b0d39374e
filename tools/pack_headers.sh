#!/usr/bin/env bash
# Copies what Debian's packages bring to lenbench's build (headers, libraries, CMake files) into one folder, for a machine
# that has a compiler, CMake and LibTorch but no network and no packages. Prints the folder on stdout.
#
#   tools/pack_headers.sh [DIR]      default: build/packed, which git ignores
#
# tools/gpu_check.sh uses build/packed where it exists; by hand: cmake ... -DCMAKE_PREFIX_PATH=DIR
# Needs what tools/setup.sh --tests installs. About 25 MB, of Boost only what lenbench includes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "pack_headers: error: $*" >&2; exit 2; }
case "${1:-}" in -*) fail "unknown option $1 (usage: tools/pack_headers.sh [DIR])" ;; esac
[ $# -le 1 ] || fail "one folder at most, got $#"
target="${1:-build/packed}"
[ ! -e "$target" ] || [ -e "$target/packed-by-lenbench" ] || fail "$target exists and is not a folder that this script made"
command -v dpkg-query >/dev/null || fail "there is no dpkg-query: run this on Debian or Ubuntu, after tools/setup.sh --tests"

packages=(libcli11-dev libfmt-dev nlohmann-json3-dev libgtest-dev libgmock-dev libpugixml-dev librandom123-dev libssl-dev)
missing=()
for package in "${packages[@]}" libboost-dev; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] || fail "missing ${missing[*]}: run tools/setup.sh --tests"
# The shared libraries that the packages' links point to.
while read -r package; do packages+=("$package"); done < <(dpkg-query -W -f='${binary:Package} ${db:Status-Status}\n' 'libfmt[0-9]*' 'libpugixml1*' 'libssl[0-9]*' 2>/dev/null | awk '$2 == "installed" && $1 !~ /-dev/ {print $1}')

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/packed"
touch "$work/packed/packed-by-lenbench"
dpkg -L "${packages[@]}" | sort -u | while read -r path; do
  case "$path" in
    # The larger static half of what is linked as a shared library.
    */libssl.a|*/libfmt.a) continue ;;
    /usr/include/*|/usr/lib/*/cmake/*|/usr/lib/cmake/*|/usr/share/cmake/*|/usr/lib/*/pkgconfig/*|/usr/lib/*.so*|/usr/lib/*.a) ;;
    *) continue ;;
  esac
  { [ -f "$path" ] || [ -L "$path" ]; } && [ ! -d "$path" ] || continue
  mkdir -p "$work/packed$(dirname "${path#/usr}")"
  cp -P "$path" "$work/packed${path#/usr}"
done

# Boost is 150 MB of headers: only those that a file including all of ours reads.
git ls-files 'src/*' 'tasks/*' 'tests/*' | grep -E '\.(h|cpp|cu)$' | xargs grep -hoE '#include <boost/[^>]+>' | sort -u > "$work/all.cpp"
echo '#include <boost/version.hpp>' >> "$work/all.cpp"
"${CXX:-g++}" -std=c++20 -M "$work/all.cpp" | tr ' \\' '\n\n' | grep '^/usr/include/boost/' | sort -u | while read -r path; do
  mkdir -p "$work/packed$(dirname "${path#/usr}")"
  cp "$path" "$work/packed${path#/usr}"
done

rm -rf "$target"
mkdir -p "$(dirname "$target")"
mv "$work/packed" "$target"
echo "$target"
