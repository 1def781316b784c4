#!/usr/bin/env bash
# benchmarks/gpu.sh [FOLDER] -- runs the GPU benchmarks of a folder made by tools/pack_gpu.sh (default build/gpu) on a machine
# with an NVIDIA driver and NVRTC; no compiler is needed there.
set -uo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/gpu}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader || { echo "no NVIDIA GPU here"; exit 1; }
status=0
for name in elementwise reductions lengths stencil gather call_cost first_call tuning large; do
  echo "== $name"
  KILN_DEVICE=cuda:0 timeout 240 "$folder/bin/$name" || status=1
done
exit $status
