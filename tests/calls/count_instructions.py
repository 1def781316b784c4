#!/usr/bin/env python3
# tests/calls/count_instructions.py -- a cached call costs no more instructions of kiln than stated, on a driver that does nothing.
"""Counts with valgrind's callgrind, whose counts repeat: those of a run with more calls less those of one with fewer, in libkiln.so
and the program only. What the driver, malloc and the C library do is not kiln's to bound."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

FEW, MANY = 200, 1200
# Instructions of one call by form. At two a cycle and 3 GHz 1,800 instructions are 0.3 microseconds.
LIMITS = {"into": 1800, "expression": 2100, "result": 2150}
SKIPPED = 77


def counted(text, objects):
    """Own instructions of all functions in `objects`, from a callgrind file without compressed names."""
    total, is_inclusive, name = 0, False, ""
    for line in text.splitlines():
        if line.startswith("ob="):
            name = line[3:]
        elif line.startswith("calls="):
            is_inclusive = True  # the next line counts what was called
        elif re.match(r"^[+\-*\d]", line):
            if not is_inclusive and any(part in name for part in objects):
                total += int(line.split()[-1])
            is_inclusive = False
    return total


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--driver", required=True, help="a libcuda.so that does nothing")
    options = parser.parse_args()
    valgrind = shutil.which("valgrind")
    if not valgrind:
        print("SKIPPED: no valgrind here")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(options.driver), os.path.join(folder, "libcuda.so.1"))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
        environment |= {"LD_LIBRARY_PATH": folder, "KILN_DEVICE": "cuda:0", "KILN_CACHE_DIR": os.path.join(folder, "cache")}
        failed = False
        for form, limit in LIMITS.items():
            # Compiled here; below the kernel comes from the disk.
            first = subprocess.run([options.program, form, "1"], env=environment, capture_output=True, text=True, check=False)
            if first.returncode and "NVRTC" in first.stderr:
                print("SKIPPED: no NVRTC here")
                return SKIPPED
            if first.returncode:
                sys.exit(f"{form}: status {first.returncode}\n{first.stderr}")
            counts = []
            for calls in (FEW, MANY):
                out = os.path.join(folder, "counts")
                run([valgrind, "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={out}", options.program, form,
                     str(calls)], environment)
                with open(out, encoding="utf-8") as file:
                    counts.append(counted(file.read(), ("libkiln.so", os.path.basename(options.program))))
            each = (counts[1] - counts[0]) / (MANY - FEW)
            verdict = "ok" if 0 < each <= limit else "TOO MANY" if each > 0 else "NOT COUNTED"
            failed = failed or verdict != "ok"
            print(f"{form:12} {each:7.0f} instructions per call, at most {limit}: {verdict}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
