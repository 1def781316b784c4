#!/usr/bin/env bash
# tools/deps.sh -- installs what the build needs; fast and silent when nothing is missing.
#
#   tools/deps.sh [lint] [again]
#
# Needed: a C++20 compiler, CMake 3.25, Ninja, fmt, GoogleTest, Python 3. Wanted, and left out with a line that says so where they
# cannot be had: LLVM (without it no CPU device), ccache, mold, NumPy in build/venv. `lint` needs clang, clang-format and clang-tidy
# 19 too, and wants valgrind. As root packages are installed with apt (Debian 12, Ubuntu 24.04); otherwise, and where that fails, the one line to run is
# printed. What could not be had is not tried again until `again`.
set -euo pipefail
cd "$(dirname "$0")/.."

given_up=build/.packages-given-up
essential=(g++ cmake ninja-build libfmt-dev libgtest-dev python3) wanted=(zlib1g-dev libzstd-dev ccache mold python3-venv)
for argument in "$@"; do
  case $argument in
    lint) essential+=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev) wanted+=(valgrind) ;;
    again) rm -f "$given_up" "$given_up.numpy" ;;
    '') ;;
    *) echo "usage: tools/deps.sh [lint] [again]" >&2; exit 2 ;;
  esac
done

compiler() {
  local name
  for name in "${CXX:-}" c++ g++ clang++; do
    if [ -n "$name" ] && command -v "$name" >/dev/null; then echo "$name"; return; fi
  done
  return 1
}
includes() {
  local cxx
  cxx=$(compiler) && echo "#include <$1>" | "$cxx" -x c++ -std=c++20 -E - >/dev/null 2>&1
}
cmake_is_new_enough() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
  [ -n "$version" ] && [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}
in_archive() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

# Whether what a package is for is there, wherever it came from.
is_there() {
  case $1 in
    g++) compiler >/dev/null ;;
    cmake) cmake_is_new_enough ;;
    ninja-build) command -v ninja >/dev/null ;;
    libfmt-dev) includes fmt/format.h ;;
    libgtest-dev) includes gtest/gtest.h ;;
    llvm-*-dev) [ -n "${LLVM_DIR:-}" ] || compgen -G '/usr/lib/llvm-1[6-9]/lib/cmake/llvm/LLVMConfig.cmake' >/dev/null ;;
    zlib1g-dev) includes zlib.h ;;
    libzstd-dev) includes zstd.h ;;
    libclang-rt-19-dev) compgen -G '/usr/lib/llvm-19/lib/clang/19*/lib/linux/libclang_rt.*' >/dev/null ;;
    python3-venv) has_numpy || python3 -c 'import ensurepip' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}
has_numpy() { [ -e build/venv/.numpy ] || python3 -c 'import numpy' 2>/dev/null; }

# The newest of LLVM 19..16 that the archive has.
llvm_package() {
  local version
  for version in 19 18 17 16; do
    if in_archive "llvm-$version-dev"; then echo "llvm-$version-dev"; return; fi
  done
  echo llvm-19-dev
}

missing=() left_out=()  # packages: of those needed, of those wanted
find_missing() {
  local package
  missing=() left_out=()
  for package in "${essential[@]}"; do is_there "$package" || missing+=("$package"); done
  if ! is_there llvm-19-dev; then left_out+=("$(llvm_package)"); fi
  for package in "${wanted[@]}"; do is_there "$package" || left_out+=("$package"); done
}
nothing_is_missing() { [ ${#missing[@]} -eq 0 ] && [ ${#left_out[@]} -eq 0 ]; }
gave_up_on_these() { [ -e "$given_up" ] && [ "$(cat "$given_up")" = "${missing[*]} ${left_out[*]}" ]; }

# Installs those that the archive has. No package is worth waiting minutes for an archive that does not answer.
apt() { timeout "$1" apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20 "${@:2}" >>build/deps.log 2>&1; }
install_packages() {
  local package known=()
  for package in "$@"; do if in_archive "$package"; then known+=("$package"); fi; done
  [ ${#known[@]} -eq 0 ] || DEBIAN_FRONTEND=noninteractive apt 900 install -y --no-install-recommends "${known[@]}"
}
install_missing() {
  local all=("${missing[@]}" "${left_out[@]}")
  echo "-- installing: ${all[*]}"
  mkdir -p build
  date >build/deps.log
  apt 120 update || echo "-- apt-get update failed: see build/deps.log" >&2
  find_missing  # only now is it known which LLVM there is
  install_packages "${missing[@]}" || echo "-- apt-get install failed: see build/deps.log" >&2
  install_packages "${left_out[@]}" || echo "-- apt-get install failed: see build/deps.log" >&2
  find_missing
  if nothing_is_missing; then rm -f "$given_up"; else echo "${missing[*]} ${left_out[*]}" >"$given_up"; fi
}

install_numpy() {
  if has_numpy || [ -e "$given_up.numpy" ] || ! python3 -c 'import ensurepip' 2>/dev/null; then return; fi
  echo "-- NumPy from PyPI into build/venv (the tests compare with it)"
  mkdir -p build
  if python3 -m venv build/venv >>build/deps.log 2>&1 &&
     build/venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 numpy >>build/deps.log 2>&1; then
    touch build/venv/.numpy
  else
    rm -rf build/venv
    touch "$given_up.numpy"
  fi
}

find_missing
if ! nothing_is_missing && ! gave_up_on_these && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then install_missing; fi
apt_line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]} ${left_out[*]}"
if [ ${#missing[@]} -gt 0 ]; then
  echo "kiln cannot be built without ${missing[*]}. On Debian 12 and Ubuntu 24.04 run this line as root, then start again:" >&2
  echo "  $apt_line" >&2
  exit 1
fi
install_numpy
without=()
for package in "${left_out[@]}"; do
  case $package in
    llvm-*) without+=("$package (so there is no CPU device, and its tests skip)") ;;
    zlib1g-dev | libzstd-dev) is_there llvm-19-dev && without+=("$package (which LLVM needs)") ;;
    *) without+=("$package") ;;
  esac
done
has_numpy || without+=("numpy (its test skips)")
if [ ${#without[@]} -gt 0 ]; then
  printf -v list ', %s' "${without[@]}"
  echo "-- going on without${list#,}" >&2
fi
