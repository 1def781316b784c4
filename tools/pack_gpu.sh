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
for program in "$build"/bin/{kiln,device_tests,kiln_fuzz,elementwise,reductions,lengths,gather,stencil,call_cost,first_call,tuning,large,demo} "$build"/bin/[0-9][0-9]_*; do
  [ -e "$program" ] || { echo "not built: $program" >&2; exit 1; }
  strip -o "$target/bin/$(basename "$program")" "$program"
done
for library in "$build"/lib/libkiln.so.0 "$build"/lib/libkiln_cpu.so*; do
  [ -e "$library" ] && strip --strip-unneeded -o "$target/lib/$(basename "$library")" "$(readlink -f "$library")"
done
# Libraries that a bare machine may lack.
ldd "$target"/bin/* | awk '/libgtest|libfmt|libz\.|libzstd/ {print $3}' | sort -u |
  while read -r library; do cp -L "$library" "$target/lib/"; done
cp examples/data/*.npy "$target/data/"
du -sh "$target"
