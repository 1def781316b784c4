#!/usr/bin/env bash
# tools/deps.sh -- installs what the build needs; fast and silent when nothing is missing.
#
#   tools/deps.sh         compiler, CMake, LLVM, fmt, GoogleTest, Google Benchmark, libpng, and NumPy in build/venv
#   tools/deps.sh lint    the same, and clang-format and clang-tidy 19
#
# Debian 12 and Ubuntu 24.04 by apt. As root packages are installed; otherwise the one line to run is printed.
set -euo pipefail
cd "$(dirname "$0")/.."

has_package() { dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'; }
in_archive() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

# The LLVM that is installed already, else the newest of 19..16 that the archive has.
llvm_package() {
  local version
  for version in 19 18 17 16; do
    if [ -e "/usr/lib/llvm-$version/lib/cmake/llvm/LLVMConfig.cmake" ]; then echo "llvm-$version-dev"; return; fi
  done
  for version in 19 18 17 16; do
    if in_archive "llvm-$version-dev"; then echo "llvm-$version-dev"; return; fi
  done
  echo llvm-19-dev
}

missing_packages() {
  local package
  for package in "$@"; do has_package "$package" || printf '%s ' "$package"; done
}

install_packages() {
  local missing
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    echo "kiln needs packages that are not installed. Run this line, then start again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
    exit 1
  fi
  echo "-- installing: $missing"
  apt-get -qq update
  # The package of LLVM may only be known after the update.
  missing=${missing/llvm-+([0-9])-dev/$(llvm_package)}
  # shellcheck disable=SC2086  # a list of words
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
}

install_numpy() {
  if [ -x build/venv/bin/python ] && [ -e build/venv/.numpy ]; then return; fi
  echo "-- NumPy from PyPI into build/venv (the tests compare with it)"
  mkdir -p build
  if python3 -m venv build/venv && build/venv/bin/python -m pip install --quiet --disable-pip-version-check numpy; then
    touch build/venv/.numpy
  else
    rm -rf build/venv
    echo "-- no NumPy: tests that compare with it will be skipped" >&2
  fi
}

shopt -s extglob
if ! command -v dpkg-query >/dev/null; then
  for tool in cmake ninja g++ python3; do
    command -v "$tool" >/dev/null || { echo "kiln: please install $tool (and LLVM 16-19, fmt, GoogleTest, libpng)" >&2; exit 1; }
  done
else
  packages=(g++ cmake ninja-build ccache mold "$(llvm_package)" zlib1g-dev libzstd-dev libfmt-dev libgtest-dev
            libbenchmark-dev libpng-dev python3 python3-venv)
  if [ "${1:-}" = lint ]; then packages+=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev); fi
  install_packages "${packages[@]}"
fi
install_numpy
