#!/usr/bin/env python3
# tools/measure_headers.py -- what kiln's headers cost a user's compile: the include, and each further expression.
"""Compiles generated translation units and prints a table of CPU milliseconds. Fails above the limits given."""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OPERATORS = ["+", "-", "*", "/"]
FUNCTIONS = ["exp", "sin", "tanh", "sqrt", "abs"]


def expression(rng):
    """A random expression of five operations over three arrays and two numbers."""
    text = "x"
    for _ in range(5):
        leaf = rng.choice(["x", "y", "z", "2.5f", "s"])
        choice = rng.random()
        if choice < 0.25:
            text = f"kl::{rng.choice(FUNCTIONS)}({text})"
        elif choice < 0.6:
            text = f"({text} {rng.choice(OPERATORS)} {leaf})"
        else:
            text = f"({leaf} {rng.choice(OPERATORS)} {text})"
    return text


def inline_source(count):
    rng = random.Random(7)
    lines = ["#include <kiln/kiln.h>", "namespace kl = kiln;", "using A = kl::Array<float>;"]
    for i in range(count):
        lines.append(f"void f{i}(A& r, const A& x, const A& y, const A& z, float s) "
                     f"{{ (void)y, (void)z, (void)s; r = {expression(rng)}; }}")
    return "\n".join(lines) + "\n"


def jit_source(count):
    rng = random.Random(7)
    lines = ["#include <kiln/kiln.h>", "namespace kl = kiln;", "using A = kl::Array<float>;"]
    for i in range(count):
        lines.append(f"A f{i}(const A& x, const A& y, const A& z, float s) {{ static const auto g = kl::jit("
                     f"[](auto x, auto y, auto z, auto s) {{ (void)y, (void)z, (void)s; return {expression(rng)}; }});"
                     f" return g(x, y, z, s); }}")
    return "\n".join(lines) + "\n"


def milliseconds(compiler, flags, source, repeats):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "unit.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        best = None
        for _ in range(repeats):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([compiler, *flags, "-I", os.path.join(ROOT, "include"), "-c", path, "-o", os.devnull],
                                  capture_output=True, text=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                sys.exit(f"{compiler} failed:\n{done.stderr[:4000]}")
            spent = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
            best = spent if best is None else min(best, spent)
        return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", action="append", help="default: g++")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--expressions", type=int, default=40)
    parser.add_argument("--include-limit", type=float, default=500.0, help="ms for the include")
    parser.add_argument("--expression-limit", type=float, default=25.0, help="ms for each further inline expression")
    options = parser.parse_args()
    flags = ["-std=c++20", "-O2"]
    failed = False
    print(f"{'compiler':<14}{'include ms':>12}{'first ms':>10}{'inline ms each':>16}{'jit ms each':>13}")
    for compiler in options.compiler or ["g++"]:
        empty = milliseconds(compiler, flags, "#include <kiln/kiln.h>\n", options.repeats)
        one = milliseconds(compiler, flags, inline_source(1), options.repeats)
        many = milliseconds(compiler, flags, inline_source(options.expressions), options.repeats)
        jit_one = milliseconds(compiler, flags, jit_source(1), options.repeats)
        jit_many = milliseconds(compiler, flags, jit_source(options.expressions), options.repeats)
        inline_each = (many - one) / (options.expressions - 1)
        jit_each = (jit_many - jit_one) / (options.expressions - 1)
        print(f"{compiler:<14}{empty:>12.0f}{one - empty:>10.0f}{inline_each:>16.1f}{jit_each:>13.1f}")
        failed = failed or empty > options.include_limit or inline_each > options.expression_limit
    if failed:
        print(f"above the limit: include {options.include_limit:.0f} ms, expression {options.expression_limit:.0f} ms")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
