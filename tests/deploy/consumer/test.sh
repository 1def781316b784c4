#!/usr/bin/env bash
# tests/deploy/consumer/test.sh BUILD WORK COMPILER -- installs kiln into a prefix, moves the prefix, and builds and runs a
# project that knows kiln only through find_package. The moved prefix shows that the package holds no absolute path.
set -euo pipefail
build=$1 work=$2 compiler=$3
source=$(cd "$(dirname "$0")" && pwd)

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/staged" --component kiln >"$work/install.log"
mv "$work/staged" "$work/prefix"
if grep -rIl -e "$build" -e "$work/staged" "$work/prefix"; then
  echo "the files above name the build tree"
  exit 1
fi
cmake -G Ninja -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >"$work/configure.log"
cmake --build "$work/build"
KILN_CACHE_DIR="$work/cache" "$work/build/saxpy"
