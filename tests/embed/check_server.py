#!/usr/bin/env python3
"""tests/embed/check_server.py KILN SERVER -- examples/c/server.c: recorded, bundled, served without a compiler.

On the GPU where there is one, and on the CPU. Exit 77 (skipped) where the CPU compiler is missing.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

kiln, server = sys.argv[1:3]


def run(folder, device, *words, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    environment |= {"KILN_CACHE_DIR": str(folder / "cache"), **settings}
    if device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=environment, timeout=240)
    print("$", *words, "\n" + result.stdout + result.stderr)
    return result


def main():
    for device in ("cpu", "any"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            trace, bundle = folder / "server.kiln", folder / "server.klb"
            first = run(folder, device, server, "--requests", "100", KILN_RECORD=str(trace))
            if "libkiln_cpu" in first.stderr:
                return 77
            if first.returncode != 0:
                return 1
            if device == "any" and "x86-64" in first.stdout.splitlines()[0]:
                return 0  # there is no GPU
            served = re.search(r"\((\S+)", first.stdout).group(1)
            targets = ("--cpu", "x86-64-v2,x86-64-v3,x86-64-v4" if os.uname().machine == "x86_64" else "aarch64")
            if served.startswith("sm_"):
                targets = ("--arch", served)
            if run(folder, device, kiln, "bundle", "build", trace, *targets, "-o", bundle).returncode != 0:
                return 1
            last = run(folder, device, server, "--bundle", bundle)
            if last.returncode != 0 or "0 wrong; without a compiler" not in last.stdout:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
