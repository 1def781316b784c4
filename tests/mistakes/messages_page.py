#!/usr/bin/env python3
# tests/mistakes/messages_page.py -- docs/messages.md from the tests of messages; without --write, fails if it differs.
"""The rows come from mistakes.cpp (run time), tests/fail (compile time) and the lists below. Numbers are not compared."""

import argparse
import os
import pathlib
import re
import subprocess
import sys

HEAD = """# What you wrote, what kiln says, what to write instead

Each row is a test: what kiln says is what it prints, and the last column compiles and runs. `x` and `y` are arrays of shape (3, 4),
`five` has 5 elements, `none` the shape (0, 4), `small` holds i8, `i` holds i32; `empty` was never assigned to, `moved` was moved from;
`host` is a `std::vector<float>` of 12 numbers; `f` adds two arguments. This page is made by `tests/mistakes/messages_page.py --write`.

Run-time mistakes throw a `kl::Error`: `ShapeError`, `TypeError`, `DeviceError`, `CompileError`, `OutOfMemory` or `IoError`. The message
names a line of yours: that of the operation at fault, or of the call; of a call of a compiled function, `f(x)`, which has no room for it, a line
of its lambda or the one where `f` was made (`f[{}](x)` knows its own). Only operators of two expressions alone, `v = w` of two variables
of one type of view or of structs that hold some, `kl::eval` of more than three expressions and `kl::tie` of more than four destinations name none. Where a container or an
algorithm of the C++ library assigns to a view, which writes its elements, the line is the library's, and the message says so. "…" leaves out
what depends on the machine. After any of them everything stays usable.
"""
COMPILE = "While compiling"
COMPILE_TEXT = """The compiler's error names your line and contains the text of the second column, in at most 15 lines: by g++ 12 as it
is, and by clang 19 without source excerpts (`-fno-caret-diagnostics`). An array where a number is wanted is the
compiler's own text, which names both types; an expression has advice."""
ENVIRONMENT = "In the environment"
ENVIRONMENT_TEXT = "Warnings are printed to stderr once, and the program goes on."
SYSTEM = "On the system"
SYSTEM_TEXT = "These need a machine without something; unit tests provoke them with a driver and files of their own."

# variables, message, advice. "…" stands for anything.
ENVIRONMENT_ROWS = [
    ({"KILN_DEVICE": "gpu"}, "KILN_DEVICE=gpu is not a device; use cpu, cuda or cuda:N", "`KILN_DEVICE=cuda`"),
    ({"KILN_THRED": "4"}, "environment variable KILN_THRED is not known to kiln and has no effect; did you mean KILN_THREADS?",
     "`KILN_THREADS=4`"),
    ({"KILN_DEBUG": "high"}, "KILN_DEBUG=high is not a level; the levels are 0 to 6", "`KILN_DEBUG=2`"),
    ({"KILN_CACHE": "maybe"}, "KILN_CACHE=maybe is none of on, ro and off; taking on", "`KILN_CACHE=off`"),
    ({"KILN_CACHE_LIMIT": "lots"}, "KILN_CACHE_LIMIT=lots is not a size such as 500M or 2G; taking 1G",
     "`KILN_CACHE_LIMIT=4G`"),
    ({"KILN_THREADS": "many"}, "KILN_THREADS=many is not a positive number; taking …, the cores of this process",
     "`KILN_THREADS=8`"),
    ({"KILN_CACHE_DIR": "/proc/none"}, "the kernel cache /proc/none is not used: …; kernels are kept in memory only "
     "(KILN_CACHE_DIR names another directory, KILN_CACHE=off silences this)", "a folder that you may write to"),
    ({"HOME": "/none", "XDG_CACHE_HOME": ""}, "no place for the kernel cache: HOME=/none is not a directory; kernels are kept in "
     "memory only (KILN_CACHE_DIR names a directory, KILN_CACHE=off silences this)", "`KILN_CACHE_DIR=/var/cache/app`"),
]
# situation, source file, message, advice. The message must stand in that file, but for what "…" stands for.
SYSTEM_ROWS = [
    ("a GPU is asked for, and there is none", "runtime/devices.cpp",
     "… cannot be used: …Without a GPU use the CPU device: KILN_DEVICE=cpu, or kl::Device::cpu()",
     "the reason stands in the middle: no driver, an old one, no GPU visible"),
    ("no NVIDIA driver", "runtime/cuda/driver_api.cpp",
     "the NVIDIA driver's library cannot be opened …. Is a driver installed, and visible in this container?",
     "install the driver, or start the container with GPUs"),
    ("the driver is too old", "runtime/cuda/driver_api.cpp",
     "the NVIDIA driver is too old: it supports …, and kiln needs CUDA 12.0 (driver 525) or later", "update the driver"),
    ("no CUDA compiler", "runtime/cuda/nvrtc_library.cpp",
     "NVRTC, the CUDA compiler, was not found, so no kernel can be compiled for a GPU. …",
     "the message lists the places searched; `KILN_NVRTC` adds one"),
    ("the GPU's memory is full", "runtime/cuda/memory.cpp", "out of memory on cuda:…: … were asked for; … of … are free…",
     "release arrays, or compute in parts"),
    ("the disk of the cache is full, or read only", "runtime/disk_cache.cpp",
     "the kernel cache … cannot be written (…); new kernels are kept in memory only", "make room, or `KILN_CACHE_DIR`"),
    ("something stands in the place of a cache entry", "runtime/disk_cache.cpp",
     "the kernel cache entry … cannot be written: …; its kernel is compiled by every process until that is removed",
     "remove it; other kernels are cached"),
    ("a process that used a GPU has forked", "runtime/cuda/backend.cpp",
     "… cannot be used in this process: it was forked from a process that had already used CUDA, …",
     "fork before the first use of a GPU"),
]


def run(command, variables=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    environment |= {"KILN_CACHE": "off", **(variables or {})}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def code(text):
    return f"`{text}`".replace("|", "\\|")


def plain(text):
    text = re.sub(r"\(mistakes\.cpp:\d+\)", "(app.cpp:12)", text.replace("\n", " ")).replace("kiln-mistakes/", "")
    for symbol in "|*_<>":
        text = text.replace(symbol, "\\" + symbol)
    return text.replace("](", "]\\(")  # which would be a link


def table(title, text, rows):
    lines = [f"## {title}", ""] + ([text, ""] if text else [])
    lines += ["| you wrote | kiln says | write instead |", "|---|---|---|"]
    return lines + [f"| {wrote} | {says} | {instead} |" for wrote, says, instead in rows] + [""]


def run_time_sections(program):
    sections = {}
    for line in run([program, "--table"])[0].splitlines():
        section, wrote, says, instead = line.split("\t")
        sections.setdefault(section, []).append((code(wrote), plain(says), code(instead)))
    return sections


def compile_time_rows(folder):
    rows = []
    for path in sorted(folder.glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        wrote = re.search(r"// wrote: (.*)", text) or re.search(r"(.*?)\s*// error", text)
        fix, instead = re.search(r"// fix: (.*)", text), re.search(r"// instead: (.*)", text)
        advice = code(instead[1].strip()) if instead else ""
        if fix:
            advice = code(fix[1].strip()) if "(" in fix[1] else fix[1].strip()
        rows.append((code(wrote[1].strip()), plain(re.search(r"// expect: (.*)", text)[1].strip()), advice))
    return rows


def parts_of(message):
    return [part for part in message.split("…") if part]


def environment_rows(program, failures):
    rows = []
    for variables, message, advice in ENVIRONMENT_ROWS:
        settings = {"KILN_DEVICE": "cpu", "KILN_CACHE": "on", **variables}
        printed = run([program, "--probe"], settings)[1]
        if not all(part in printed for part in parts_of(message)):
            failures.append(f"{variables}: expected '{message}', printed:\n{printed}")
        wrote = " ".join(f"{name}={value}" for name, value in variables.items())
        rows.append((code(wrote), plain(message), advice))
    return rows


def system_rows(root, failures):
    rows = []
    for situation, source, message, advice in SYSTEM_ROWS:
        text = re.sub(r'"\s*\n\s*"', "", (root / source).read_text(encoding="utf-8"))
        for part in parts_of(message):
            if part.strip(" ,.:;()") and part.strip(" ,.:;()") not in text.replace("\\n", ""):
                failures.append(f"{source} does not say '{part}'")
        rows.append((situation, plain(message), advice))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    failures, lines = [], [HEAD]
    for section, rows in run_time_sections(options.program).items():
        lines += table(section, "", rows)
    lines += table(COMPILE, COMPILE_TEXT, compile_time_rows(options.root / "tests" / "fail"))
    lines += table(ENVIRONMENT, ENVIRONMENT_TEXT, environment_rows(options.program, failures))
    lines += table(SYSTEM, SYSTEM_TEXT, system_rows(options.root, failures))
    text = "\n".join(lines).rstrip("\n") + "\n"
    page = options.root / "docs" / "messages.md"
    if options.write:
        page.write_text(text, encoding="utf-8")
    known = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    digits = re.compile(r"\d+")
    fresh = text.splitlines()
    if [digits.sub("0", line) for line in known] != [digits.sub("0", line) for line in fresh]:
        stale = next((i for i, (a, b) in enumerate(zip(known, fresh)) if digits.sub("0", a) != digits.sub("0", b)), len(known))
        failures.append(f"docs/messages.md differs from line {stale + 1}; run this script with --write. Now:\n" +
                        "\n".join(fresh[stale:stale + 2]))
    print("\n".join(failures) if failures else f"{len(fresh)} lines agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
