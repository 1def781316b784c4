#!/usr/bin/env bash
# tools/format.sh -- clang-format 19 over the C++ sources; with --check it changes nothing and fails on a difference.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
if [ "${1:-}" = --check ]; then mode=(--dry-run -Werror); fi
git ls-files -z --cached --others --exclude-standard '*.h' '*.cpp' | xargs -0 -r -n 40 -P "$(nproc)" clang-format-19 "${mode[@]}"
