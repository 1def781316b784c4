#!/usr/bin/env python3
"""tests/exit/check_exits.py EXIT_TUNING UNLOADED PLUGIN EXIT_LATE FAKE_CUDA -- processes end well while kiln compiles in the background.

The cache holds the kernels of the program and none of their candidates: the first compile of the process, which loads the compiler,
is one in the background. The process ends before, during and after, in every way; it must be silent and give status 0.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

program, unloaded, plugin, late, fake_cuda = sys.argv[1:6]
SKIPPED = 77
modes = {"main": 8, "worker": 12, "worker_exit": 12, "other_exit": 12, "busy": 8, "quick_exit": 4, "pthread_exit": 1}
delays = [0, 1000, 2000, 4000, 6000, 8000, 11000, 15000, 20000, 30000, 60000, 120000]
MOST_HANDLERS = 100  # of exit, by a first compile; NVRTC alone would register 3,000, and a process may end between any two
failures = []

with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "libcuda.so.1").symlink_to(pathlib.Path(fake_cuda).resolve())
    path = str(root) + ":" + os.environ.get("LD_LIBRARY_PATH", "")

    def run(*words, **changes):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
        return subprocess.run(words, capture_output=True, text=True, errors="replace",
                              env={**kept, "KILN_DEVICE": "cuda:0", "LD_LIBRARY_PATH": path, **changes})

    def check(result, what):
        if result.returncode != 0 or result.stdout or result.stderr:
            failures.append(f"{what}: status {result.returncode}\n{result.stdout}{result.stderr}")

    def entries(directory):
        return sum(1 for file in directory.rglob("*") if file.is_file() and len(file.name) > 30)

    known, cache = root / "known", root / "cache"
    first = run(program, "main", "0", KILN_TUNE="off", KILN_CACHE_DIR=str(known))
    if "NVRTC, the CUDA compiler, was not found" in first.stderr:
        print("skipped: no NVRTC here")
        sys.exit(SKIPPED)
    check(first, "filling the cache")
    for mode, count in modes.items():
        for delay in delays[:count]:
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(known, cache)
            check(run(program, mode, str(delay), KILN_CACHE_DIR=str(cache)), f"{mode} after {delay} us")
            if mode == "pthread_exit":
                compiled = entries(cache) - entries(known)
                if compiled < 8:
                    failures.append(f"the end of the main thread stopped tuning: {compiled} candidates were compiled")
    for device in ("cuda:0", "cpu"):
        shutil.rmtree(cache, ignore_errors=True)
        result = run(late, "handlers", KILN_DEVICE=device, KILN_CACHE_DIR=str(cache))
        if "cannot load the CPU compiler" in result.stderr:
            continue
        if result.returncode != 0 or int(result.stdout) > MOST_HANDLERS:
            failures.append(f"handlers of exit of a first compile for {device}: {result.stdout}{result.stderr}")
        shutil.rmtree(cache)
        result = run(late, "destructor", KILN_DEVICE=device, KILN_CACHE_DIR=str(cache))
        if result.returncode != 0 or result.stdout.split() != ["known", "refused"] or result.stderr:
            failures.append(f"a static object's destructor on {device}: status {result.returncode}\n{result.stdout}{result.stderr}")
    for start in ("warm", "cold"):
        shutil.rmtree(cache, ignore_errors=True)
        if start == "warm":
            shutil.copytree(known, cache)
        check(run(unloaded, plugin, KILN_CACHE_DIR=str(cache)), f"dlclose, {start}")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
