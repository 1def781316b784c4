#!/usr/bin/env bash
# tests/deploy/package_test.sh BUILD WORK COMPILER -- packs kiln with cpack, unpacks the tarball and the Debian package into
# folders, and there builds and runs a project that finds kiln by find_package, and uses the kiln command.
set -euo pipefail
build=$1 work=$2 compiler=$3
source=$(cd "$(dirname "$0")" && pwd)/consumer
unset "${!KILN_@}"

rm -rf "$work"
mkdir -p "$work"
cpack --config "$build/CPackConfig.cmake" -B "$work/packages" >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }

fail() {
  echo "package: $*"
  exit 1
}

try_prefix() {  # try_prefix PREFIX NAME: what a user does with an installed kiln
  local prefix=$1 name=$2
  for file in include/kiln/kiln.h include/kiln/ops.def bin/kiln; do
    [ -e "$prefix/$file" ] || fail "$name has no $file"
  done
  [ -n "$(find "$prefix" -name kilnConfig.cmake)" ] || fail "$name has no CMake package"
  if grep -rIl -e "$build" -e "$work" "$prefix"; then fail "the files of $name above name the build tree"; fi
  cmake -G Ninja -S "$source" -B "$work/$name" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Release >"$work/$name.configure.log"
  cmake --build "$work/$name" >"$work/$name.build.log" || { cat "$work/$name.build.log"; exit 1; }
  export KILN_CACHE_DIR="$work/$name.cache"
  "$work/$name/saxpy"
  "$prefix/bin/kiln" --version
  "$prefix/bin/kiln" info >"$work/$name.info" || { cat "$work/$name.info"; fail "kiln info finds a problem"; }
  grep -q "$prefix/lib" "$work/$name.info" || fail "the command does not use the library beside it"
  "$prefix/bin/kiln" cache verify | grep -q "^1 entry, 0 damaged" || fail "the program's kernel is not in the cache"
  # What was compiled runs on where there is no compiler any more.
  local compiler_library
  compiler_library=$(find "$prefix" -name libkiln_cpu.so)
  mv "$compiler_library" "$work/hidden"
  "$work/$name/saxpy" || fail "a warm cache needs the CPU compiler"
  mv "$work/hidden" "$compiler_library"
  unset KILN_CACHE_DIR
}

mkdir "$work/tarball" "$work/debian"
tar -xzf "$work"/packages/kiln-*.tar.gz -C "$work/tarball" --strip-components 1
try_prefix "$work/tarball" from_tarball
if [ -n "$(find "$work/packages" -maxdepth 1 -name '*.deb')" ]; then
  deb=$(find "$work/packages" -maxdepth 1 -name '*.deb')
  depends=$(dpkg-deb -f "$deb" Depends)
  echo "$(basename "$deb"): $(($(stat -c %s "$deb") / 1048576)) MiB, depends on $depends"
  if [[ $depends =~ cuda|nvrtc|[lL][lL][vV][mM]|fmt ]]; then fail "the Debian package depends on $depends"; fi
  dpkg-deb -x "$deb" "$work/debian"
  try_prefix "$work/debian/usr" from_debian
fi
