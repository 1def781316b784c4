#!/usr/bin/env bash
# tests/embed/gpu.sh [FOLDER] -- what embeds kiln, on a machine with a GPU: host contexts, the C interface and its server,
# PyTorch, CuPy, JAX and Numba, whichever Python there has, then the host time of a call. FOLDER is made by tools/pack_gpu.sh (default build/gpu).
set -uo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath "${1:-build/gpu}")
export LIBKILN=$folder/lib/libkiln.so.0 KILN_DEVICE=cuda:0
[ -e "$folder/lib/libkiln_xla_call.so" ] && export LIBKILN_XLA_CALL=$folder/lib/libkiln_xla_call.so
export LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}  # what a bare machine lacks of ours
python=${PYTHON:-python3}
"$python" -c 'import sys
for name in ("numpy", "torch", "cupy", "jax", "numba"):
    try: print(name, __import__(name).__version__)
    except Exception as error: print(name, "cannot be imported:", error)'
KILN_CACHE_DIR=$(mktemp -d)
export KILN_CACHE_DIR
status=0
timeout 120 "$folder/bin/host_contexts" || status=1
for program in c_operations c_run; do timeout 300 "$folder/bin/$program" --gtest_brief=1 || status=1; done
timeout 300 "$python" tests/embed/check_server.py "$folder/bin/kiln" "$folder/bin/c_server" || [ $? -eq 77 ] || status=1
timeout 300 "$python" tests/embed/gpu_clients.py || status=1
timeout 120 "$python" benchmarks/python_call.py || status=1
rm -rf "$KILN_CACHE_DIR"
exit $status
