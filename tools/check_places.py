#!/usr/bin/env python3
# tools/check_places.py -- every public function that takes the user's place is in the test of places.
"""Functions of include/kiln whose last parameter is `Where ... = Where::current()`, and constructors whose conversion
notes it, must each stand in a PLACE(...) or expect(...) of tests/device/every_place*_test.cpp, or below with a reason."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXEMPT = {
    "at": "Inspectable::at and Into::at are for the library; ufunc.at is in the test",
    "id": "the parameter of the macros that declare the named functions",
    "order": "throws inside a capture on a GPU only",
    "clone": "of an array without elements gives another; copies have no other error than memory",
    "to_host": "of an array without elements gives none; the other errors need a full host or a capture",
    "to_dlpack": "throws for a device that went away only",
    "size": "of a traced value, which always has one",
    "jit": "its place is named by calls, which the test makes",
    "ufunc": "as jit",
    "gufunc": "as jit",
}
DECLARED = re.compile(r"(\w+)\((?:[^()]|\([^()]*\))*\bWhere \w+ = (?:detail::)?Where::current\(\)")


def declared_names():
    names = {}
    for path in sorted((ROOT / "include" / "kiln").rglob("*.h")):
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")).replace("\\\n", "\n")
        for match in DECLARED.finditer(text):
            names.setdefault(match[1], path.name)
    return names


def missing_of(names, test):
    tested = " ".join(line for line in test.splitlines() if re.search(r"\b(PLACE|expect)\(", line))
    return [name for name in names if name not in EXEMPT and not re.search(rf"\b{name}\b", tested)]


def main():
    names = declared_names()
    if len(names) < 60:
        print(f"only {len(names)} functions with a place were found in the headers: this check does not see them")
        return 1
    tests = sorted((ROOT / "tests" / "device").glob("every_place*_test.cpp"))
    test = "\n".join(path.read_text(encoding="utf-8") for path in tests)
    if "--self-test" in sys.argv:
        return 0 if "arange" in missing_of(names, test.replace("arange", "range")) else 1
    missing = missing_of(names, test)
    unused = [name for name in EXEMPT if name not in names]
    for name in missing:
        print(f"{name} ({names[name]}) takes the user's place, and tests/device/every_place*_test.cpp do not call it in error")
    for name in unused:
        print(f"{name} is exempt in tools/check_places.py, and no header declares it")
    return 1 if missing or unused else 0


if __name__ == "__main__":
    sys.exit(main())
