#!/usr/bin/env bash
# tests/sanitize_gpu.sh [FOLDER] -- compute-sanitizer's four tools over device tests of a folder made by tools/pack_gpu.sh (default
# build/gpu; build/release will do), on the GPU only. Small cases of every schedule, in groups of one process each; a tool that has used
# its share of time leaves out the remaining groups and says so. One line per tool; logs in $OUT (default /tmp). Less than 400 s.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
folder=${1:-build/gpu}
seconds_per_tool=${SECONDS_PER_TOOL:-85}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
[ -n "$sanitizer" ] || { echo "sanitize: no compute-sanitizer here"; exit 1; }
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || { echo "sanitize: no NVIDIA GPU here"; exit 1; }
logs=${OUT:-/tmp}/sanitize
mkdir -p "$logs"
KILN_CACHE_DIR=$(mktemp -d)
export KILN_CACHE_DIR KILN_DEVICE=cuda:0

# Names are tests of tests/device without "Device/" and "/cuda". Left out: sums of 10^8 and more elements, and what launches nothing.
groups=(
  "rows Normalisation.of_bf16 Normalisation.of_f32 Normalisation.in_place Normalisation.special_rows"
  "reductions Reductions.of_every_axis_of_a_cube Reductions.of_views Reductions.write_in_place_and_into_views Reductions.views_of_results"
  "columns Normalisation.inline_and_along_columns Reductions.of_columns_of_every_width Reductions.in_double_of_rows_and_columns"
  "scans Scans.along_every_axis_of_a_cube Scans.of_every_length Scans.in_place Scans.a_linear_recurrence_keeps_the_order"
  "elementwise Interleaved.* Overlap.* Expressions.saxpy_in_place Expressions.several_outputs Expressions.views_of_expressions"
  "lengths Reductions.of_rows_of_every_length Reductions.reductions_of_reductions Reductions.shared_and_stored_expressions"
  "types ReductionTypes.complex ReductionTypes.ties_take_the_lowest_index ReductionTypes.welford_written_by_a_user ReductionTypes.of_no_elements
   ReductionCases.logsumexp_and_softmax_of_special_rows Scans.complex Scans.by_a_function_of_the_user Scans.half_and_bfloat16_run_in_f32"
  "random Reductions.of_random_shapes_axes_and_views Normalisation.of_f16 Normalisation.of_f64 Normalisation.cross_entropy_of_rows"
)
filter_of() {  # filter_of NAME... -- gtest's filter for these tests on the GPU
  local name filter=
  for name in "${@:2}"; do filter+="Device/$name/cuda:"; done
  echo "${filter%:}"
}
run_group() {  # run_group SECONDS LOG GROUP COMMAND...
  local words
  read -r -d '' -a words <<<"$3"
  timeout -k 5 "$1" "${@:4}" "$folder/bin/device_tests" --gtest_brief=1 --gtest_filter="$(filter_of "${words[@]}")" >"$2" 2>&1
}
name_of() { echo "${1%% *}"; }

# Without a tool first: kernels are compiled here and found in the cache later, and a failing test is seen for what it is.
status=0
for group in "${groups[@]}"; do
  log=$logs/plain-$(name_of "$group").txt
  set -f  # names hold patterns
  if ! run_group 60 "$log" "$group" || grep -q 'SKIPPED' "$log"; then
    echo "plain: group $(name_of "$group") fails or skips:"
    tail -n 15 "$log"
    status=1
  fi
  set +f
done

for tool in memcheck racecheck synccheck initcheck; do
  begin=$SECONDS errors=0 ran=0 bad=() late=()
  for group in "${groups[@]}"; do
    name=$(name_of "$group") left=$((seconds_per_tool - SECONDS + begin)) log=$logs/$tool-$(name_of "$group").txt
    if [ "$left" -lt 5 ]; then late+=("$name"); continue; fi
    set -f
    run_group "$left" "$log" "$group" "$sanitizer" --tool "$tool" --error-exitcode 86 --print-limit 20
    result=$?
    set +f
    # Findings are printed as they are made: a group that was stopped has clean results as far as it came.
    found=$(grep -cE '^=+ (Invalid|Error:|Warning:|Uninitialized|Barrier|Misaligned|Program hit)|[Dd]ivergent|hazard detected' "$log")
    if [ "$result" -eq 124 ] || [ "$result" -eq 137 ]; then late+=("$name (stopped)"); else ran=$((ran + 1)); fi
    case $result in
      0 | 124 | 137) [ "$found" -eq 0 ] || bad+=("$name") ;;
      *) bad+=("$name"); [ "$found" -gt 0 ] || found=1 ;;
    esac
    errors=$((errors + found))
  done
  echo "$tool: $ran of ${#groups[@]} groups, $errors findings, $((SECONDS - begin)) s${late[*]:+; not finished: ${late[*]}}"
  for name in "${bad[@]}"; do
    status=1
    echo "$tool: group $name:"
    grep -E '^=========|FAILED' "$logs/$tool-$name.txt" | head -n 12
  done
  [ "$ran" -gt 0 ] || { status=1; tail -n 5 "$log"; }
done
rm -rf "$KILN_CACHE_DIR"
exit $status
