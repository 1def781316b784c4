#!/usr/bin/env bash
# tools/lint.sh -- clang-tidy 19 over the library's sources (see .clang-tidy), then the layer and size checks.
#
# A file whose text, headers and configuration are unchanged since it last passed is not analysed again (build/lint).
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build/lint/passed
# Analysed as clang compiles it: its own compilation database, without ccache or precompiled headers.
if ! cmake -S . -B build/lint/configured -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++-19 \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER_LAUNCHER= -DKILN_TESTS=OFF -DKILN_EXAMPLES=OFF -DKILN_BENCHMARKS=OFF \
  >build/lint/configure.log 2>&1; then
  cat build/lint/configure.log >&2
  exit 1
fi

check_one() {
  local file=$1 stamp
  # std::stable_sort of g++ 12's library uses a function that the same library deprecates: not ours to mend.
  # What the analysis depends on: the preprocessed text would cost as much as the analysis, so all headers count.
  stamp=build/lint/passed/$(cat "$file" build/lint/headers | sha256sum | cut -c1-40)
  [ -e "$stamp" ] && return 0
  clang-tidy-19 --quiet -p build/lint/configured --extra-arg=-Wno-deprecated-declarations "$file" 2> >(grep -v -E 'warnings? generated|Suppressed|Use -header-filter' >&2) &&
    touch "$stamp"
}
export -f check_one

git ls-files -z --cached --others --exclude-standard '*.h' '*.def' .clang-tidy | sort -z | xargs -0 sha256sum >build/lint/headers
git ls-files -z --cached --others --exclude-standard 'support/*.cpp' 'codegen/*.cpp' 'runtime/*.cpp' 'dsl/*.cpp' 'tools/*.cpp' |
  sort -z | while IFS= read -r -d '' file; do
    # Only what this configuration compiles: runtime/no_cuda and runtime/cuda exclude each other.
    if grep -q -F "\"$PWD/$file\"" build/lint/configured/compile_commands.json; then printf '%s\0' "$file"; fi
  done | xargs -0 -r -n 1 -P "$(nproc)" bash -c 'check_one "$0"'

python3 tools/check_layers.py
python3 tools/check_size.py
