#!/usr/bin/env python3
"""benchmarks/table.py -- one Markdown table out of what elementwise, reductions and peers.py print.

  table.py OUTPUT...       the outputs, in any number of files and any order
  table.py --self-test

A row per case: kiln's GB/s, the part of a copy or read of the device that is, each library's GB/s, and kiln's GB/s by the best of them.
"""
import re
import sys

LINE = re.compile(r"^(?P<case>\w+)\s+(?:(?P<peer>[a-z][\w.]*)\s+)?(?P<us>[\d.]+) us\s+(?P<rate>[\d.]+) GB/s"
                  r"(?:\s+(?P<part>[\d.]+) of (?P<limit>copy|read))?\s*$")
LIMIT = re.compile(r"^(?P<what>(?:copy|read) \(\w+\))\s+[\d.]+ us\s+(?P<rate>[\d.]+) GB/s")
PEERS = ("torch", "torch.compile", "jax", "cupy")
TITLES = {"torch": "PyTorch", "torch.compile": "torch.compile", "jax": "JAX", "cupy": "CuPy"}


def read(lines):
    """Limits by name; rates[case][who], who being "kiln" or a library; parts[case] of kiln."""
    limits, rates, parts = {}, {}, {}
    for line in lines:
        limit, match = LIMIT.match(line), LINE.match(line)
        if limit:
            limits[limit["what"]] = float(limit["rate"])
        elif match and match["case"] not in ("copy", "read"):
            who = match["peer"] or "kiln"
            rates.setdefault(match["case"], {})[who] = float(match["rate"])
            if who == "kiln" and match["part"]:
                parts[match["case"]] = f"{float(match['part']):.2f} of {match['limit']}"
    return limits, rates, parts


def table(lines):
    limits, rates, parts = read(lines)
    peers = [peer for peer in PEERS if any(peer in row for row in rates.values())]
    out = [", ".join(f"{what}: {rate:.0f} GB/s" for what, rate in limits.items()), ""] if limits else []
    out.append("| case | kiln, GB/s | of the limit | " + " | ".join(TITLES[peer] for peer in peers) + " | kiln ÷ best |")
    out.append("|---|" + "---|" * (len(peers) + 3))
    for case, row in rates.items():
        if "kiln" not in row:
            continue
        best = max((row[peer] for peer in peers if peer in row), default=None)
        others = [f"{row[peer]:.0f}" if peer in row else "–" for peer in peers]
        ratio = f"{row['kiln'] / best:.2f}" if best else "–"
        out.append("| " + " | ".join([case, f"{row['kiln']:.0f}", parts.get(case, "–"), *others, ratio]) + " |")
    return out


def self_test():
    lines = """device: NVIDIA H200
copy (driver)                     502.0 us     4278 GB/s
saxpy_f32                         739.1 us     4358 GB/s  1.019 of copy
sum_f32                           240.0 us     4474 GB/s  0.990 of read
copy                         torch               503.0 us     4269 GB/s
saxpy_f32                    torch              1245.0 us     2587 GB/s  0.606 of copy
saxpy_f32                    torch.compile       736.0 us     4373 GB/s  1.024 of copy
sum_f32                      jax            no answer within 25 s
argmax_f32                   jax                 251.0 us     4278 GB/s  0.950 of read
""".splitlines()
    expected = ["copy (driver): 4278 GB/s", "",
                "| case | kiln, GB/s | of the limit | PyTorch | torch.compile | JAX | kiln ÷ best |", "|---|---|---|---|---|---|---|",
                "| saxpy_f32 | 4358 | 1.02 of copy | 2587 | 4373 | – | 1.00 |", "| sum_f32 | 4474 | 0.99 of read | – | – | – | – |"]
    actual = table(lines)
    assert actual == expected, "\n".join(actual)
    print("table: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return
    lines = []
    for path in sys.argv[1:]:
        try:
            with open(path) as file:
                lines += file.read().splitlines()
        except OSError as error:
            sys.exit(f"table.py: {path}: {error.strerror}")
    print("\n".join(table(lines)))


if __name__ == "__main__":
    main()
