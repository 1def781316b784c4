#!/usr/bin/env bash
# tools/pack_gpu.sh [BUILD] -- collects what runs on a GPU machine without a compiler into build/gpu: stripped libraries, device
# tests, benchmarks, examples and their data. Programs find the libraries through $ORIGIN/../lib; tests/gpu.sh and
# benchmarks/gpu.sh run them.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release} target=build/gpu
rm -rf "$target"
mkdir -p "$target/bin" "$target/lib" "$target/data"

# cpu_expsin is compiled for the building machine's processor and stays here.
for program in "$build"/bin/{kiln,device_tests,kiln_fuzz,elementwise,reductions,lengths,gather,stencil,call_cost,first_call,tuning,large,demo,host_contexts,c_operations,c_run,c_server} "$build"/bin/[0-9][0-9]_*; do
  [ -e "$program" ] || { echo "not built: $program" >&2; exit 1; }
  strip -o "$target/bin/$(basename "$program")" "$program"
done
for library in "$build"/lib/libkiln.so.0 "$build"/lib/libkiln_cpu.so*; do
  [ -e "$library" ] && strip --strip-unneeded -o "$target/lib/$(basename "$library")" "$(readlink -f "$library")"
done
# A custom call of XLA for tests/embed/gpu.sh, where a Python here has the headers that jaxlib brings.
for python in ~/.cache/kiln-clients/venv/bin/python build/venv/bin/python python3; do
  headers=$("$python" -c 'import jax; print(jax.ffi.include_dir())' 2>/dev/null) || continue
  g++ -std=c++17 -O2 -shared -fPIC -Iinclude -isystem "$headers" tests/embed/xla_ffi.cpp -o "$target/lib/libkiln_xla_call.so" \
    "$target/lib/libkiln.so.0" -Wl,-rpath,'$ORIGIN' -static-libstdc++ -static-libgcc
  break
done
# Libraries that a bare machine may lack.
ldd "$target"/bin/* "$target"/lib/libkiln.so.0 | awk '/libgtest|libfmt|libz\.|libzstd/ {print $3}' | sort -u |
  while read -r library; do cp -L "$library" "$target/lib/"; done
cp examples/data/*.npy "$target/data/"
du -sh "$target"
