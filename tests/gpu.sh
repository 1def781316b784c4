#!/usr/bin/env bash
# tests/gpu.sh [FOLDER] -- runs the device tests, the examples and the demo of a folder made by tools/pack_gpu.sh (default
# build/gpu) on a machine with an NVIDIA driver and NVRTC; no compiler is needed there. Ends with a count of passes and failures.
set -uo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/gpu}
nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader || { echo "no NVIDIA GPU here"; exit 1; }
ldd "$folder/bin/device_tests" "$folder/lib/libkiln.so.0" | grep 'not found' && { echo "a library is missing (above)"; exit 1; }

KILN_CACHE_DIR=$(mktemp -d)
export KILN_CACHE_DIR KILN_DEVICE=cuda:0
passed=0 failed=()
check() {  # check NAME COMMAND...
  local name=$1 begin=$SECONDS
  shift
  echo "== $name"
  if timeout 500 "$@"; then passed=$((passed + 1)); else failed+=("$name"); fi
  echo "== $name: $((SECONDS - begin)) s"
}
# The simplest program first: when it fails, the log of every step says why, and nothing else is tried.
if ! KILN_DEBUG=2 timeout 120 "$folder/bin/01_vector_add"; then
  echo "01_vector_add failed: see the steps above"
  exit 1
fi
for example in "$folder"/bin/0[2-9]*; do check "$(basename "$example")" "$example"; done
check demo "$folder/bin/demo" --output "${OUT:-/tmp}/demo.png" "$folder/data/astronaut.npy"
check device_tests "$folder/bin/device_tests" --gtest_brief=1 "${@:2}"
rm -rf "$KILN_CACHE_DIR"
echo "failed: ${failed[*]:-none}"
echo "$passed passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ]
