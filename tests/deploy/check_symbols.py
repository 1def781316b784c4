#!/usr/bin/env python3
"""tests/deploy/check_symbols.py -- what the shared libraries export, and what they need.

    check_symbols.py kiln libkiln.so          only names of namespace kiln and kiln_* functions
    check_symbols.py kiln_cpu libkiln_cpu.so  only kiln_cpu_* functions

A symbol of LLVM, fmt or the C++ library would be merged with the host program's own; a needed libcuda, libnvrtc or libLLVM
would stop the program from starting where they are missing.
"""
import re
import subprocess
import sys

ALLOWED = {
    "kiln": r"(kiln::|(typeinfo|typeinfo name|vtable) for kiln::|kiln_)",
    "kiln_cpu": r"kiln_cpu_",
}
# libtinfo, which a shell needs too, comes with LLVM 16 and 17.
NEEDED = re.compile(r"lib(stdc\+\+|m|c|gcc_s|pthread|dl|rt|z|zstd|tinfo|asan|ubsan|tsan)\.so|ld-linux")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    kind, library = sys.argv[1:3]
    lines = output("nm", "-D", "-C", "--defined-only", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in lines]
    # The symbol of a version node is absolute ("A"); functions and data are what counts.
    exported = [n for n, line in zip(names, lines) if line.split()[1] != "A"]
    foreign = [n for n in exported if not re.match(ALLOWED[kind], n)]
    needed = re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", library))
    unexpected = [n for n in needed if not NEEDED.match(n)]
    for name in foreign:
        print(f"exported but not kiln's: {name}")
    for name in unexpected:
        print(f"needed at start-up: {name}")
    print(f"{library}: {len(exported)} exported symbols, {len(foreign)} foreign; needs {' '.join(needed)}")
    return 1 if foreign or unexpected or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
