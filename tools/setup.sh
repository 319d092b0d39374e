#!/usr/bin/env bash
# Installs what lenbench is built with: Debian packages that are missing, and LibTorch from its PyPI wheel.
# Does nothing when all is there. Works as root or with sudo. Prints the LibTorch folder on stdout, all else on stderr.
#
#   tools/setup.sh [--tests] [--lint] [--figures] [--venv] [--libtorch]
#
# --libtorch installs no Debian packages: it only fetches LibTorch, with the pip that is there.
# --venv adds what 'python3 -m venv' needs, for 'pip install .'.
# --figures adds a Python of its own with vl-convert-python, which draws SVG, PNG, PDF and HTML for 'lenbench plot'.
#
# LIBTORCH_ROOT=DIR     use this LibTorch instead (2.11 or newer)
# LENBENCH_TORCH=X.Y.Z  another version of the wheel
# LENBENCH_CACHE=DIR    where LibTorch is kept (default: $XDG_CACHE_HOME/lenbench or ~/.cache/lenbench)
set -euo pipefail

torch_version="${LENBENCH_TORCH:-2.11.0}"
cache="${LENBENCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lenbench}"
target="$cache/libtorch-$torch_version"
packages=(g++ cmake ninja-build ccache git ca-certificates python3
  libcli11-dev libfmt-dev nlohmann-json3-dev librandom123-dev libboost-dev libssl-dev libpugixml-dev libgloo-dev)
figures=no
for option in "$@"; do
  case "$option" in
    --tests) packages+=(libgtest-dev libgmock-dev libxml2-utils python3-numpy) ;;
    --lint) packages+=(clang-format) ;;
    --figures) figures=yes; packages+=(python3-venv) ;;
    --venv) packages+=(python3-venv) ;;
    --libtorch) packages=() ;;
    *) echo "setup.sh: unknown option $option (known: --tests, --lint, --figures, --venv, --libtorch)" >&2; exit 2 ;;
  esac
done

# pip is needed only to fetch LibTorch.
[ -n "${LIBTORCH_ROOT:-}" ] || [ -e "$target/complete" ] || [ ${#packages[@]} -eq 0 ] || packages+=(python3-pip)

say() { echo "setup: $*" >&2; }
fail() { echo "setup: error: $*" >&2; exit 2; }

missing=()
for package in ${packages[@]+"${packages[@]}"}; do
  case "$package" in
    # A compiler or Python from elsewhere serves as well as Debian's.
    g++|cmake|git|ccache|python3|clang-format) command -v "$package" >/dev/null && continue ;;
    ninja-build) command -v ninja >/dev/null && continue ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null && continue ;;
    python3-pip) python3 -m pip --version >/dev/null 2>&1 && continue ;;
  esac
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || fail "missing ${missing[*]}, and there is no apt-get: install them with your package manager"
  root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "missing ${missing[*]}: run as root, or install sudo"
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -qq >&2
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi

if [ "$figures" = yes ] && ! "$cache/figures/bin/python" -c 'import vl_convert' 2>/dev/null; then
  say "making a Python with vl-convert-python in $cache/figures"
  mkdir -p "$cache"
  python3 -m venv "$cache/figures" >&2 || fail "no virtual environment could be made in $cache/figures"
  "$cache/figures/bin/python" -m pip install --quiet --disable-pip-version-check 'vl-convert-python==1.9.*' >&2 ||
    fail "vl-convert-python could not be installed: check the network"
fi

if [ -n "${LIBTORCH_ROOT:-}" ]; then
  [ -e "$LIBTORCH_ROOT/lib/libtorch_cpu.so" ] || fail "LIBTORCH_ROOT=$LIBTORCH_ROOT has no lib/libtorch_cpu.so"
  echo "$LIBTORCH_ROOT"
  exit 0
fi

if [ ! -e "$target/complete" ]; then
  [ "$(uname -m)" = x86_64 ] || fail "no LibTorch wheel is known for $(uname -m): set LIBTORCH_ROOT to an unpacked LibTorch"
  mkdir -p "$cache"
  work="$(mktemp -d "$cache/unpack.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
  say "fetching LibTorch $torch_version (a wheel of about 530 MB, of which the CPU part is kept) into $target"
  python3 -m pip download --quiet --no-deps --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 \
    --platform manylinux_2_28_x86_64 --dest "$work" "torch==$torch_version" >&2 ||
    fail "LibTorch $torch_version could not be fetched: check the network, or set LIBTORCH_ROOT to an unpacked LibTorch"
  # The wheel says which CUDA runtime libtorch_cpu.so was linked with; nothing else of CUDA is needed on the CPU.
  python3 - "$work" > "$work/requirements" <<'PYTHON'
import glob, re, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/torch-*.whl")[0])
metadata = wheel.read(next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))).decode()
# cuda-toolkit==13.0.2 names the release that nvidia-cuda-runtime and nvidia-cuda-cupti belong to.
release = re.search(r"^Requires-Dist: cuda-toolkit(?:\[[^\]]*\])?\s*==\s*(\d+\.\d+)", metadata, re.M)
direct = re.findall(r"^Requires-Dist: (nvidia-cuda-(?:runtime|cupti)(?:-cu\d+)?)\s*==\s*([\d.]+)", metadata, re.M)
for name, version in direct:
    print(f"{name}=={version}")
if not direct and release:
    print(f"nvidia-cuda-runtime=={release.group(1)}.*")
    print(f"nvidia-cuda-cupti=={release.group(1)}.*")
PYTHON
  if [ -s "$work/requirements" ]; then
    python3 -m pip download --quiet --no-deps --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 \
      --platform manylinux2014_x86_64 --dest "$work" --requirement "$work/requirements" >&2 ||
      fail "the CUDA runtime libraries that LibTorch links could not be fetched"
  fi
  python3 - "$work" <<'PYTHON'
import glob, os, shutil, sys, zipfile
work = sys.argv[1]
libraries = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}
os.makedirs(work + "/libtorch/lib")
for path in glob.glob(work + "/*.whl"):
    wheel = zipfile.ZipFile(path)
    is_torch = os.path.basename(path).startswith("torch-")
    for name in wheel.namelist():
        base = os.path.basename(name)
        if is_torch and name.startswith("torch/include/") and not name.endswith("/"):
            target = work + "/libtorch/include/" + name[len("torch/include/"):]
        elif is_torch and name.startswith("torch/lib/") and (base in libraries or base.startswith("libgomp")):
            target = work + "/libtorch/lib/" + base
        elif not is_torch and (base.startswith("libcudart.so") or base.startswith("libcupti.so")):
            target = work + "/libtorch/lib/" + base
        else:
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with wheel.open(name) as source, open(target, "wb") as sink:
            shutil.copyfileobj(source, sink)
PYTHON
  touch "$work/libtorch/complete"
  rm -rf "$target"
  mv "$work/libtorch" "$target"
fi
echo "$target"
