#!/usr/bin/env python3
"""tests/embed/check_c_abi.py -- the C interface keeps its promises: symbols, numbers and structures.

    check_c_abi.py INCLUDE_DIR LIBRARY LIST            fails on anything of LIST that is gone or changed, or not yet in LIST
    check_c_abi.py --update INCLUDE_DIR LIBRARY LIST   writes LIST, for additions

LIST has a line for each exported function (`function NAME(TYPES)`) and function of the host (`callback`), each number of the headers (`number NAME VALUE`) and
each member of a structure (`member STRUCT TYPE NAME`, in order). Lines may be added; one that changes breaks programs.
"""
import pathlib
import re
import subprocess
import sys

HEADERS = ["dlpack_types.h", "kiln_c_types.h", "kiln_c_graph.h", "kiln_c_run.h", "kiln_c.h"]


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def numbers(text):
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", text):
        for name, value in re.findall(r"\b(KILN_\w+)\s*=\s*(-?\w+)", body):
            yield f"number {name} {value}"
    for name, value in re.findall(r"^#define (KILN_[A-Z_]+) (\S.*)$", text, re.M):
        if name not in ("KILN_C_API", "KILN_C_NOEXCEPT", "KILN_DL_ASSERT"):
            yield f"number {name} {' '.join(value.split())}"


def members(text):
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, re.S):
        for member in body.split(";"):
            member = " ".join(member.split())
            if member:
                yield f"member {name} {member}"


def functions(text):
    for declaration in re.findall(r"^KILN_C_API\s+(.*?)\s*KILN_C_NOEXCEPT;", text, re.S | re.M):
        yield "function " + " ".join(declaration.split())
    for declaration in re.findall(r"^typedef (\w+ \(\*kiln_\w+\)\(.*?\));", text, re.S | re.M):
        yield "callback " + " ".join(declaration.split())


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    include, library, path = pathlib.Path(arguments[0]), arguments[1], pathlib.Path(arguments[2])
    text = without_comments("\n".join((include / "kiln" / name).read_text() for name in HEADERS))
    found = list(numbers(text)) + list(members(text)) + list(functions(text))
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = set(re.findall(r" T (kiln_\w+)$", symbols, re.M))
    declared = set(re.search(r"(kiln_\w+)\(", line).group(1) for line in found if line.startswith("function "))
    problems = [f"declared but not exported: {name}" for name in sorted(declared - exported)]
    problems += [f"exported but not declared: {name}" for name in sorted(exported - declared - {"kiln_register_bundle"})]
    values = [line.split()[1:] for line in found if line.startswith("number KILN_OP_")]
    if len(set(value for _, value in values)) != len(values):
        problems.append("two operations have the same number")
    if "--update" in sys.argv:
        path.write_text("\n".join(found) + "\n")
    known = path.read_text().splitlines()
    problems += [f"gone or changed: {line}" for line in known if line not in found]
    problems += [f"new, to be added by --update: {line}" for line in found if line not in known]
    order = [line for line in found if line.startswith("member ") and line in known]
    if order != [line for line in known if line.startswith("member ") and line in found]:
        problems.append("the members of a structure have changed their order")
    for problem in problems:
        print(problem)
    print(f"{len(declared)} functions, {len(found)} lines, {len(problems)} problems")
    return 1 if problems or len(declared) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
