#!/usr/bin/env python3
# tools/check_header_cost.py -- what kiln's headers ask of a user's compiler, in counts that no load of the machine changes.
"""Counts the tokens that <kiln/kiln.h> is after preprocessing and the functions that an expression and a compiled
function instantiate, and fails above the limits below. These go with the times (0.5 s for the include, 25 ms for an
expression by g++ 12 -O2) that tools/measure_headers.py measures on demand: whoever raises a limit measures first."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import measure_headers

INCLUDE = os.path.join(measure_headers.ROOT, "include")
EXPRESSIONS = 40
# name: (limit, what is counted)
LIMITS = {
    "own tokens": (150_000, "tokens of kiln's headers"),
    "tokens": (400_000, "tokens with those of the standard library, of whose headers each costs more than all of kiln's"),
    "inline": (33, "functions that one more inline expression of five operations instantiates"),
    "jit": (21, "functions that one more kl::jit of five operations instantiates"),
}
TOKEN = re.compile(r"[A-Za-z_0-9.]+|\"(?:[^\"\\]|\\.)*\"|[^\sA-Za-z_0-9.]")


def count_tokens(preprocessed, folder):
    """All tokens, and those of files in `folder`, of text with line markers."""
    every = own = 0
    is_own = False
    for line in preprocessed.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            is_own = marker.group(1).startswith(folder)
            continue
        found = len(TOKEN.findall(line))
        every += found
        own += found if is_own else 0
    return every, own


def compile_text(compiler, text, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path, result = os.path.join(folder, "unit.cpp"), os.path.join(folder, "result")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        command = [compiler, "-std=c++20", "-I", INCLUDE, *flags, path, "-o", result]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}:\n{done.stderr[:4000]}")
        if "-E" in flags:
            with open(result, encoding="utf-8") as file:
                return file.read()
        return subprocess.run(["nm", result], capture_output=True, text=True, check=True).stdout


def count_functions(symbols):
    """Those of an object file that was not optimised."""
    return sum(1 for line in symbols.splitlines() if re.search(r" [TtWw] _Z", line))


def functions_of_each(compiler, source):
    one, many = (count_functions(compile_text(compiler, source(n), "-O0", "-c")) for n in (1, 1 + EXPRESSIONS))
    return (many - one) / EXPRESSIONS


def measure(compiler):
    every, own = count_tokens(compile_text(compiler, "#include <kiln/kiln.h>\n", "-E"), INCLUDE)
    return {
        "own tokens": own,
        "tokens": every,
        "inline": functions_of_each(compiler, measure_headers.inline_source),
        "jit": functions_of_each(compiler, measure_headers.jit_source),
    }


def faults_of(measured):
    return [f"{measured[name]:g} {what}: at most {limit:g} are wanted" for name, (limit, what) in LIMITS.items()
            if measured[name] > limit]


def self_test():
    text = '# 1 "/a/kiln/x.h"\nint f(a.b, "c d");\n# 1 "/usr/y.h"\nint g;\n'
    assert count_tokens(text, "/a/kiln") == (11, 8), count_tokens(text, "/a/kiln")
    assert count_functions("0 W _Z1fv\n0 T main\n0 V _Z1x\n  U _Z1g\n0 t _Z1gv\n") == 2
    assert not faults_of({name: limit for name, (limit, _) in LIMITS.items()})
    assert len(faults_of({name: limit + 1 for name, (limit, _) in LIMITS.items()})) == len(LIMITS)
    print("self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++", help="a g++: others leave other symbols")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        return 0
    measured = measure(options.compiler)
    for name, (limit, what) in LIMITS.items():
        print(f"{measured[name]:>10.6g} of {limit:>8g}  {what}")
    faults = faults_of(measured)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
