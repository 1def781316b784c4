#!/usr/bin/env python3
"""benchmarks/side_by_side.py -- kiln and every installed peer on the same cases, in turns, on one GPU in one run.

  side_by_side.py BIN [--only PART,...] [--peers torch,torch.compile,jax,cupy] [--rounds 3] [--seconds 400] [--out FOLDER]

BIN has kiln's programs elementwise and reductions. In each round of a case every library is measured once, one after the other, in
processes that stay alive; a measurement is the median of 15 launches, what is reported is the median of the rounds and their spread.
Prints a table and writes side_by_side.md, side_by_side.json and side_by_side.svg (the part of the limit that kiln and the best peer
reach, a row per case) into the folder. The limits are the device's copy and read, the fastest that anybody reached here.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import side_plot
from peer_cases import CASES, PEERS
from peers import Peer
from table import TITLES as PEER_TITLES

LINE = re.compile(r"^(?P<case>\S+)(?: \(\w+\))?\s+(?P<us>[\d.]+) us\s+(?P<rate>[\d.]+) GB/s")
TITLES = {"kiln": "kiln"} | PEER_TITLES


class Kiln:
    """elementwise and reductions, each of which answers for the cases that it knows."""

    name = "kiln"

    def __init__(self, folder):
        self.programs = [subprocess.Popen([os.path.join(folder, program), "--serve"], text=True, bufsize=1, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE) for program in ("elementwise", "reductions")]
        for program in self.programs:
            self.lines(program)

    @staticmethod
    def lines(program):
        found = []
        for line in program.stdout:
            if line.strip() == "done":
                return found
            found.append(line)
        raise SystemExit("a program of kiln ended early")

    def wait_until_ready(self):
        return ""

    def ask(self, case, _seconds):
        for program in self.programs:
            program.stdin.write(case.name + "\n")
            times = [float(match["us"]) for line in self.lines(program) if (match := LINE.match(line)) and match["case"] == case.name]
            if times:
                return min(times), ""  # a limit is reached by several ways
        return None, "kiln has no such case"

    def stop(self):
        for program in self.programs:
            program.stdin.close()
            program.wait()


def measure(case, libraries, arguments, end):
    """Microseconds of every round, by library."""
    times = {}
    for _ in range(arguments.rounds):
        for library in list(libraries):
            if library.name in case.skip or time.monotonic() > end or (library.name in times and not times[library.name]):
                continue
            us, reason = library.ask(case, arguments.case_seconds)
            if us is None and reason:
                print(f"{case.name}: {library.name}: {reason}", file=sys.stderr)
            times.setdefault(library.name, [])
            if us is not None:
                times[library.name].append(us)
    return {name: values for name, values in times.items() if values}


def summary(case, times, limits):
    rates = {name: 1e-3 * case.bytes / statistics.median(values) for name, values in times.items()}
    spread = {name: (max(values) - min(values)) / statistics.median(values) for name, values in times.items()}
    best = max((name for name in rates if name != "kiln"), key=rates.get, default=None)
    return {"case": case.name, "limit": case.limit, "bytes": case.bytes, "microseconds": times, "gigabytes_per_second": rates,
            "spread": spread, "best_peer": best, "of_limit": {name: rate / limits[case.limit] for name, rate in rates.items()}}


def table(rows, limits, names):
    out = [", ".join(f"{name}: {rate:.0f} GB/s" for name, rate in limits.items()), "",
           "| case | " + " | ".join(TITLES[name] for name in names) + " | of the limit | kiln ÷ best peer | spread |",
           "|---|" + "---:|" * (len(names) + 3)]
    for row in rows:
        rates = row["gigabytes_per_second"]
        cells = [f"{rates[name]:.0f}" if name in rates else "–" for name in names]
        ratio = f"{rates['kiln'] / rates[row['best_peer']]:.2f}" if row["best_peer"] else "–"
        out.append(f"| {row['case']} | " + " | ".join(cells) + f" | {row['of_limit']['kiln']:.3f} of {row['limit']} | {ratio} | "
                   f"{row['spread']['kiln']:.3f} |")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--case-seconds", type=float, default=25)
    parser.add_argument("--out", default=".")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    parts = [part for part in arguments.only.split(",") if part]
    limits, rows = {}, []
    with open(os.path.join(arguments.out, "side_by_side.log"), "w", encoding="utf-8") as log:
        libraries = [Kiln(arguments.bin)] + [Peer(name, log) for name in arguments.peers.split(",") if name]
        for library in list(libraries):
            if reason := library.wait_until_ready():
                print(f"{library.name}: {reason}", file=sys.stderr)
                libraries.remove(library)
        for case in CASES:
            if parts and not case.is_limit and not any(part in case.name for part in parts):
                continue
            times = measure(case, libraries, arguments, end)
            if "kiln" not in times:
                continue
            if case.is_limit:
                limits[case.limit] = 1e-3 * case.bytes / min(min(values) for values in times.values())
            else:
                rows.append(summary(case, times, limits))
                print(table(rows[-1:], limits, [library.name for library in libraries])[-1], flush=True)
        for library in libraries:
            library.stop()
    lines = table(rows, limits, [library.name for library in libraries])
    print("\n".join(["", *lines]))
    for name, text in (("md", "\n".join(lines) + "\n"), ("json", json.dumps({"limits": limits, "rows": rows}, indent=1) + "\n"),
                       ("svg", side_plot.svg(rows, TITLES))):
        with open(os.path.join(arguments.out, "side_by_side." + name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
