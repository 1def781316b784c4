#!/usr/bin/env python3
"""tests/deploy/check_readme.py SETTINGS_TABLE [--update] -- the README says what is.

Its table of environment variables is what the library's own table prints, every C++ block is part of an example that is
built and run (lines compared up to white space), every file that it links to exists, and it names the oldest compilers
that the headers take and what CMake needs to find the package.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SETTINGS = re.compile(r"(<!-- settings:[^\n]*-->\n\| variable [^\n]*\n\|-[^\n]*\n)(.*?)(<!-- end of settings -->)", re.S)


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def appears(block, program):
    """Each line of the block is in the program, in the same order (the program may have more between them)."""
    remaining = iter(lines_of(program))
    return all(line in remaining for line in lines_of(block))


def main():
    readme_path = ROOT / "README.md"
    readme = readme_path.read_text(encoding="utf-8")
    table = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    if "--update" in sys.argv:
        readme_path.write_text(SETTINGS.sub(lambda m: m.group(1) + table + m.group(3), readme), encoding="utf-8")
        return 0
    problems = []
    found = SETTINGS.search(readme)
    if not found or found.group(2) != table:
        problems.append(f"the table of settings is not that of support/env.cpp; run {sys.argv[0]} {sys.argv[1]} --update")
    header = (ROOT / "include/kiln/detail/compiler.h").read_text(encoding="utf-8")
    for compiler, macro in (("clang", "__clang_major__"), ("g++", "__GNUC__")):
        oldest = re.search(macro + r" < (\d+)", header)[1]
        if f"{compiler} {oldest}" not in readme:
            problems.append(f"headers take {compiler} {oldest} and later, and the README does not say so")
    script = (ROOT / "tests/deploy/package_test.sh").read_text(encoding="utf-8")
    for variable in set(re.findall(r"-D(CMAKE_\w+)", script)) - {"CMAKE_CXX_COMPILER", "CMAKE_BUILD_TYPE"}:
        if variable not in readme:
            problems.append(f"a program that uses the package needs {variable}, which the README does not name")
    programs = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.cpp"))]
    blocks = re.findall(r"```cpp\n(.*?)```", readme, re.S)
    for block in blocks:
        if not any(appears(block, program) for program in programs):
            problems.append("no example contains this block:\n" + block)
    for target in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", readme, flags=re.S)):
        if not (ROOT / target).exists():
            problems.append(f"link to {target}, which does not exist")
    for problem in problems:
        print(problem)
    print(f"README: {len(blocks)} C++ blocks, {table.count(chr(10))} settings, {len(problems)} problems")
    return 1 if problems or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
