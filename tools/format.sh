#!/usr/bin/env bash
# tools/format.sh -- clang-format 19 over the C++ sources; with --check it changes nothing and fails on a difference.
set -euo pipefail
cd "$(dirname "$0")/.."

sources() { git ls-files -z --cached --others --exclude-standard '*.h' '*.cpp'; }
if [ "${1:-}" != --check ]; then
  sources | xargs -0 -r -n 40 -P "$(nproc)" clang-format-19 -i
  exit
fi
different=$(sources | xargs -0 -r -n 40 -P "$(nproc)" clang-format-19 --dry-run 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:.*clang-format-violations.*/\1/p' | sort -u)
if [ -n "$different" ]; then
  echo "not formatted (./run format does it):"
  echo "$different"
  exit 1
fi
