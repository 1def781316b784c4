#!/usr/bin/env bash
# benchmarks/run.sh BIN [PART OF A NAME] ... -- runs every benchmark program of a build's bin folder; with parts of names, those
# cases of elementwise and reductions only.
set -euo pipefail
bin=$1
shift
for name in elementwise reductions; do
  echo "== $name"
  "$bin/$name" "$@"
done
[ $# -eq 0 ] || exit 0
for name in call_cost first_call cpu_expsin; do
  [ -x "$bin/$name" ] || continue
  echo "== $name"
  "$bin/$name"
done
