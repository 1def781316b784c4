#!/usr/bin/env python3
# tests/threads/compare.py PROGRAM -- the same digests with 1, 2, 3, 7 and 16 threads, of every result and however often.
import os
import subprocess
import sys
import tempfile

COUNTS = (1, 2, 3, 7, 16)


def digests(program, threads, cache):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    environment |= {"KILN_DEVICE": "cpu", "KILN_THREADS": str(threads), "KILN_CACHE_DIR": cache}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"with {threads} threads: status {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def main():
    with tempfile.TemporaryDirectory() as cache:
        runs = {count: digests(sys.argv[1], count, cache) for count in COUNTS}
        again = digests(sys.argv[1], COUNTS[-1], cache)
    first = runs[COUNTS[0]]
    if len(first) < 300 or len(set(first)) != len(first):
        sys.exit(f"{len(first)} results, {len(set(first))} different lines: the program does not do its work")
    wrong = [(count, a, b) for count, lines in [*runs.items(), (COUNTS[-1], again)] for a, b in zip(first, lines, strict=True) if a != b]
    for count, want, got in wrong[:10]:
        print(f"1 thread: {want}; {count} threads: {got}")
    print(f"{len(first)} results with {', '.join(map(str, COUNTS))} threads, {len(wrong)} of them different")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
