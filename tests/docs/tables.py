#!/usr/bin/env python3
"""tests/docs/tables.py DOCS_TABLES [--update] -- tables of docs/ that are made from tables of the code.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`; the program prints it. Links of all pages are
checked too.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end of table -->)", re.S)
WANTED = {"operations", "promotion", "types", "weak_numbers"}


def printed(program, name):
    return subprocess.run([program, name], check=True, capture_output=True, text=True).stdout


def main():
    program, update = sys.argv[1], "--update" in sys.argv
    problems, seen = [], set()
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        made = TABLE.sub(lambda m: m.group(1) + printed(program, m.group(2)) + m.group(4), text)
        seen |= {match.group(2) for match in TABLE.finditer(text)}
        if made != text and update:
            page.write_text(made, encoding="utf-8")
        elif made != text:
            problems.append(f"{page.name}: a table is not that of the code; run {sys.argv[0]} {program} --update")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)):
            if not (page.parent / target).exists():
                problems.append(f"{page.name}: link to {target}, which does not exist")
    problems += [f"no page shows the table {name}" for name in sorted(WANTED - seen)]
    for problem in problems:
        print(problem)
    print(f"docs: {len(seen)} tables, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
