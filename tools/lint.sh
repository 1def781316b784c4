#!/usr/bin/env bash
# tools/lint.sh -- clang-tidy 19 over the library's sources (see .clang-tidy), headers alone, then the layer and size checks.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build/lint
# Analysed as clang compiles it: its own compilation database, without ccache or precompiled headers.
if ! cmake -S . -B build/lint/configured -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++-19 \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER_LAUNCHER= -DKILN_TESTS=OFF -DKILN_EXAMPLES=OFF -DKILN_BENCHMARKS=OFF \
  >build/lint/configure.log 2>&1; then
  cat build/lint/configure.log >&2
  exit 1
fi

git ls-files -z --cached --others --exclude-standard 'support/*.cpp' 'codegen/*.cpp' 'runtime/*.cpp' 'dsl/*.cpp' 'tools/*.cpp' |
  sort -z | xargs -0 python3 tools/tidy.py build/lint/configured

python3 tools/check_layers.py
python3 tools/check_size.py
