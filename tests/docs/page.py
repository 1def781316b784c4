#!/usr/bin/env python3
"""tests/docs/page.py -- the C++ blocks of a page of docs/ as a program, and its output against what the page shows.

  page.py generate PAGE PROGRAM.cpp   each section (## heading) becomes a function, its ```cpp blocks the statements in
                                      order; ```cpp file blocks stand at file scope
  page.py check PAGE PROGRAM          runs the program; every ```text and ```cuda block must appear in the output of its
                                      section, line by line in order up to white space; a line "..." skips any number, and
                                      " ..." at the end of a line stands for any end

A block that must not be run has no language. Exit 77 (skipped) where a page needs a compiler that is not there.
"""
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^```(\w*)(?: +(\w+))?\s*$")
PREAMBLE = """// made from {page} by tests/docs/page.py
#include <kiln/kiln.h>
#include <kiln/profile.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace kl = kiln;
"""
MAIN = """
int main() {
  try {
%s  } catch (const kl::DeviceError& error) {
    std::cerr << error.what() << '\\n';
    const std::string text = error.what();
    const bool lacks = text.find("libkiln_cpu") != std::string::npos || text.find("NVRTC") != std::string::npos;
    return lacks ? 77 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\\n';
    return 1;
  }
}
"""


class Block:
    def __init__(self, language, kind, line):
        self.language, self.kind, self.line, self.lines = language, kind, line, []


def sections_of(page):
    """Lists of blocks, one per section; the text before the first heading is a section too."""
    sections, block = [[]], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if block is not None:
            if line.strip() == "```":
                sections[-1].append(block)
                block = None
            else:
                block.lines.append(line)
        elif fence:
            block = Block(fence.group(1), fence.group(2) or "", number + 1)
        elif line.startswith("## "):
            sections.append([])
    if block is not None:
        sys.exit(f"{page}:{block.line}: a block that never ends")
    return sections


def generate(page, program):
    files, functions, calls = [], [], []
    for index, blocks in enumerate(sections_of(page)):
        body = []
        for block in blocks:
            if block.language != "cpp":
                continue
            text = [f'#line {block.line} "{page.name}"'] + block.lines
            (files if block.kind == "file" else body).append("\n".join(text))
        if body:
            functions.append(f"static void section_{index}() {{\n" + "\n".join(body) + "\n}\n")
            calls.append(f'    std::cout << "@@ {index}" << std::endl, section_{index}(), std::fflush(stdout);\n')
    text = [PREAMBLE.format(page=page.name)] + files + functions + [MAIN % "".join(calls)]
    program.write_text("\n".join(text), encoding="utf-8")


def squeezed(line):
    return " ".join(line.split())


def matches(wanted, printed):
    return printed.startswith(wanted[:-3]) if wanted.endswith(" ...") else printed == wanted


def appears(block, output):
    """What of the block is missing from the output: a line, or nothing."""
    position, skips = 0, True
    for line in map(squeezed, block.lines):
        if not line:
            continue
        if line == "...":
            skips = True
            continue
        limit = len(output) if skips else min(position + 1, len(output))
        found = next((i for i in range(position, limit) if matches(line, output[i])), None)
        if found is None:
            return line
        position, skips = found + 1, False
    return None


def check(page, program):
    run = subprocess.run([program], capture_output=True, text=True, check=False)
    if run.returncode == 77:
        print(run.stderr)
        return 77
    outputs = {}
    for part in re.split(r"^@@ ", run.stdout, flags=re.M)[1:]:
        number, _, text = part.partition("\n")
        outputs[int(number)] = [squeezed(line) for line in text.splitlines() if line.strip()]
    problems, shown = [], 0
    for index, blocks in enumerate(sections_of(page)):
        for block in blocks:
            if block.language not in ("text", "cuda"):
                continue
            shown += 1
            missing = appears(block, outputs.get(index, []))
            if missing is not None:
                problems.append(f"{page}:{block.line}: the section does not print: {missing}")
    if run.returncode:
        problems.append(f"{page}: the program ended with {run.returncode}: {run.stderr.strip()}")
    for problem in problems:
        print(problem)
    if problems:
        print(run.stdout[-6000:])
    print(f"{page.name}: {len(outputs)} sections run, {shown} outputs shown, {len(problems)} problems")
    return 1 if problems or not outputs else 0


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("generate", "check"):
        sys.exit(__doc__)
    page = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "generate":
        generate(page, pathlib.Path(sys.argv[3]))
        return 0
    return check(page, sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
