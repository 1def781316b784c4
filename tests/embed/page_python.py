#!/usr/bin/env python3
"""tests/embed/page_python.py PAGE -- runs the ```python blocks of a page of docs/ in order; ```python torch needs PyTorch.

Exits with 77 without NumPy.
"""
import importlib.util
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
if importlib.util.find_spec("numpy") is None:
    print("skipped: this Python has no NumPy")
    sys.exit(77)
names, page = {}, pathlib.Path(sys.argv[1])
for block in re.finditer(r"^```python(?: (\w+))?\n(.*?)^```$", page.read_text(), re.M | re.S):
    needed, code = block.groups()
    line = page.read_text()[:block.start()].count("\n") + 1
    if needed and importlib.util.find_spec(needed) is None:
        print(f"{page.name}:{line}: skipped, this Python has no {needed}")
        continue
    exec(compile("\n" * line + code, str(page), "exec"), names)
    print(f"{page.name}:{line}: ran")
