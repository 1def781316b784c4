#!/usr/bin/env bash
# tests/sanitize_gpu.sh [FOLDER] -- compute-sanitizer's four tools over the device tests of a folder made by tools/pack_gpu.sh (default
# build/gpu; build/release will do), on the GPU only, in as many processes as there are cores. Left out are tests of 10^8 and more
# elements, and one that asks for more memory than there is. A process that has used a tool's share of time is stopped: how many tests
# ran to their end is said. One line per tool; logs in $OUT (default /tmp). TOOLS and SECONDS_PER_TOOL choose less.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
folder=${1:-build/gpu}
seconds_per_tool=${SECONDS_PER_TOOL:-150}
tools=${TOOLS:-memcheck racecheck synccheck initcheck}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
[ -n "$sanitizer" ] || { echo "sanitize: no compute-sanitizer here"; exit 1; }
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || { echo "sanitize: no NVIDIA GPU here"; exit 1; }
logs=${OUT:-/tmp}/sanitize
mkdir -p "$logs"
cache=${CACHE:-$(mktemp -d)}  # CACHE: a folder with kernels that an earlier run compiled; it stays
export KILN_DEVICE=cuda:0

too_large="*beyond_2_3*:*beyond_32_bits*:*more_than_2_*:*more_than_2_to*:Device/SumsAccuracy.*:Device/Large.*:*long_sums*"
too_large+=":Device/RuntimeCases.MemoryThatIsNotThereSpoilsNothing/*:Device/ColumnCases.a_row_of_a_million/*:Device/ShiftExpressions.large_planes_and_volumes/*"
cores=$(nproc)
shards=$((cores > 14 ? 14 : cores))
export GTEST_TOTAL_SHARDS=$shards

run_shard() {  # run_shard TOOL NUMBER: one process; its exit status and its log are looked at below
  local log=$logs/$1-$2.txt
  KILN_CACHE_DIR=$cache GTEST_SHARD_INDEX=$2 timeout -k 5 "$seconds_per_tool" "$sanitizer" --tool "$1" --error-exitcode 86 \
    --print-limit 20 "$folder/bin/device_tests" --gtest_filter="*/cuda:-$too_large" >"$log" 2>&1
  echo $? >"$log.status"
}

status=0
for tool in $tools; do
  begin=$SECONDS
  for ((i = 0; i < shards; ++i)); do run_shard "$tool" "$i" & done
  wait
  ran=0 errors=0 late=0 bad=()
  for ((i = 0; i < shards; ++i)); do
    log=$logs/$tool-$i.txt result=$(cat "$logs/$tool-$i.txt.status")
    ran=$((ran + $(grep -c '^\[       OK \]' "$log")))
    # Findings are printed as they are made: a process that was stopped has clean results as far as it came.
    found=$(grep -cE '^=+ (Invalid|Error:|Warning:|Uninitialized|Barrier|Misaligned|Program hit)|[Dd]ivergent|hazard detected' "$log")
    errors=$((errors + found))
    case $result in
      0) ;;
      124 | 137) late=$((late + 1)) ;;
      *) [ "$found" -gt 0 ] || errors=$((errors + 1)) ;;
    esac
    if [ "$found" -gt 0 ] || { [ "$result" -ne 0 ] && [ "$result" -ne 124 ] && [ "$result" -ne 137 ]; }; then bad+=("$i"); fi
  done
  echo "$tool: $ran tests, $errors findings, $((SECONDS - begin)) s$([ "$late" -eq 0 ] || echo "; $late of $shards processes were stopped")"
  for i in "${bad[@]}"; do
    status=1
    echo "$tool: process $i:"
    grep -E '^=========|FAILED|^\[ RUN' "$logs/$tool-$i.txt" | grep -B1 -A6 -E '^=========.*(Invalid|Error|Warning|hazard|hit)|FAILED' | head -n 16
  done
  [ "$ran" -gt 0 ] || { status=1; tail -n 5 "$logs/$tool-0.txt"; }
done
[ -n "${CACHE:-}" ] || rm -rf "$cache"
exit $status
