#!/usr/bin/env python3
# tests/ladder/check_ladder.py -- each level of KILN_DEBUG prints what the README's table says, and no level before it.
"""The samples of the table are lines of real output: numbers stand for any number, an ellipsis for anything."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

NUMBER = r"\d+(?:\.\d+)*"
HIGHEST = 6


def documented(readme):
    """level -> samples."""
    samples = {}
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    table = text[text.index("| level | adds |"):].split("\n\n")[0]
    for row in table.splitlines()[2:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        samples[int(cells[0])] = re.findall(r"`(kiln[^`]*)`", cells[2])
    return samples


def pattern_of(sample):
    parts = re.split(f"({NUMBER}|…)", sample)
    return "".join(".*" if p == "…" else NUMBER if re.fullmatch(NUMBER, p) else re.escape(p) for p in parts)


def run(program, level):
    with tempfile.TemporaryDirectory() as cache:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
        environment |= {"KILN_DEBUG": str(level), "KILN_CACHE_DIR": cache, "KILN_THRED": "2"}
        done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"level {level}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", required=True)
    parser.add_argument("--workload", required=True)
    options = parser.parse_args()
    samples = documented(options.readme)
    failures = []
    if sorted(samples) != list(range(HIGHEST + 1)):
        failures.append(f"the table has the levels {sorted(samples)}")
    output = {level: run(options.workload, level) for level in range(HIGHEST + 1)}
    has_nvrtc = "no NVRTC" not in output[0][0]
    checked = 0
    for level, lines in samples.items():
        if not lines:
            failures.append(f"level {level} has no sample")
        for sample in lines:
            if "GPU" in sample or ("sm_" in sample or "NVRTC" in sample) and not has_nvrtc:
                continue
            pattern = re.compile(pattern_of(sample))
            checked += 1
            for ran in range(HIGHEST + 1):
                printed = any(pattern.fullmatch(line) for line in output[ran][1])
                if printed != (ran >= level):
                    failures.append(f"level {ran} {'prints' if printed else 'does not print'}: {sample}")
    if failures:
        print("\n".join(failures), "\nlevel 6 printed:\n", "\n".join(output[HIGHEST][1]), sep="")
    print(f"{checked} samples checked")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
