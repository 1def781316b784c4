#!/usr/bin/env bash
# tests/deploy/embedded/test.sh BUILD WORK COMPILER MAKE_BUNDLE -- installs kiln and builds a project whose program, static
# and shared library hold bundles; changes one, and builds again. Once more with link-time optimisation. Then a program that runs on
# the CPU from the kernels that it recorded and that were embedded.
set -euo pipefail
build=$1 work=$2 compiler=$3 make_bundle=$4
source=$(cd "$(dirname "$0")" && pwd)
unset "${!KILN_@}"

fail() {
  echo "embedded bundles: $*"
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" --component kiln >"$work/install.log"
if grep -rIl -e "$build" "$work/prefix"; then fail "the files above name the build tree"; fi

all_flags=(-O2 "-O2 -flto")
# A trimmed compiler may come without its link-time optimiser: then only the plain build can be looked at.
if ! echo 'int main() {}' | "$compiler" -flto -x c++ - -o "$work/link_time" 2>"$work/link_time.log"; then
  echo "embedded bundles: $compiler cannot optimise at link time, so that is not tested: $(head -1 "$work/link_time.log")"
  all_flags=(-O2)
fi
for flags in "${all_flags[@]}"; do
  project=$work/project${flags// /}
  mkdir "$project"
  cd "$project"
  "$make_bundle" one.klb saxpy:sm_80 saxpy:ptx_80
  "$make_bundle" archive.klb gelu:sm_90
  "$make_bundle" plugin.klb tanh:sm_90 tanh:x86-64-v3
  cmake -G Ninja -S "$source" -B . -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CXX_FLAGS="$flags" >configure.log
  cmake --build . >build.log || { cat build.log; fail "it does not build"; }
  ./program one.klb 'made "here" é.klb' archive.klb plugin.klb || fail "$flags: a bundle is missing"
  if readelf -d program libplugin.so | grep TEXTREL; then fail "relocations in read-only memory"; fi
  cmake --build . | grep -q "no work to do" || fail "it builds again though nothing changed"
  "$make_bundle" one.klb saxpy:sm_80 saxpy:sm_86 saxpy:ptx_80
  "$make_bundle" plugin.klb
  cmake --build . >build.log || { cat build.log; fail "it does not build again"; }
  ./program one.klb 'made "here" é.klb' archive.klb plugin.klb || fail "$flags: what was embedded is old"
done
# The whole way: a program records its kernels, they are built and embedded, and it runs where there is no compiler.
export KILN_CACHE=off
KILN_RECORD=app.kiln ./app || fail "the program does not run"
"$work/prefix/bin/kiln" bundle build app.kiln --cpu x86-64-v2,x86-64-v3 -o app.klb
"$work/prefix/bin/kiln" bundle verify app.klb
cmake . -DEMBED_KERNELS=ON >configure.log
cmake --build . --target app >build.log || { cat build.log; fail "it does not build with its kernels"; }
mkdir "$work/elsewhere"
mv app "$work/elsewhere"
rm "$(find "$work/prefix" -name libkiln_cpu.so)" app.klb
output=$(KILN_NVRTC=/nowhere "$work/elsewhere/app") || fail "without a compiler: $output"
[ "$output" = right ] || fail "with its own kernels the program says: $output"
