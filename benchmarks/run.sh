#!/usr/bin/env bash
# benchmarks/run.sh BIN [ARGS] -- runs every benchmark program of a build's bin folder; ARGS go to Google Benchmark.
set -euo pipefail
bin=$1
shift
for name in elementwise call_cost; do
  echo "== $name"
  "$bin/$name" "$@"
done
for name in first_call cpu_expsin; do
  [ -x "$bin/$name" ] || continue
  echo "== $name"
  "$bin/$name"
done
