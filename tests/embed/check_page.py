#!/usr/bin/env python3
"""tests/embed/check_page.py PAGE EXAMPLE.c PROGRAM LIBRARY -- the page shows the example as it is, and what it prints; the
graph that it shows as text is one."""
import ctypes
import pathlib
import re
import subprocess
import sys

page, example = (pathlib.Path(p).read_text() for p in sys.argv[1:3])
result = subprocess.run([sys.argv[3]], capture_output=True, text=True)
if "libkiln_cpu" in result.stderr:
    sys.exit(77)
shown = dict(re.findall(r"^```(c|text|graph)\n(.*?)^```$", page, re.S | re.M))
problems = []
if shown["c"].strip() != example.strip():
    problems.append(f"the page does not show {sys.argv[2]} as it is")
if result.returncode != 0 or shown["text"].strip() != result.stdout.strip():
    problems.append(f"the program prints\n{result.stdout}{result.stderr}instead of\n{shown['text']}")
library = ctypes.CDLL(sys.argv[4])
library.kiln_last_error.restype = ctypes.c_char_p
graph, text = ctypes.c_void_p(), shown["graph"].encode()
if library.kiln_graph_parse(text, ctypes.c_size_t(len(text)), ctypes.byref(graph)) != 0:
    problems.append(f"the graph of the page is refused: {library.kiln_last_error().decode()}")
headers = [(pathlib.Path(sys.argv[1]).parent.parent / "include/kiln" / name).read_text()
           for name in ("kiln_c.h", "kiln_c_graph.h", "kiln_c_run.h")]
functions = set(re.findall(r"\b(kiln_[a-z_]+)\(", " ".join(re.findall(r"KILN_C_API.*?;", "".join(headers), re.S))))
types = {name for pair in re.findall(r"^typedef struct \w+ (kiln_\w+);|^\} (kiln_\w+);", "".join(headers), re.M) for name in pair}
for name in set(re.findall(r"`(kiln_[a-z_]+)`", page)) - functions - types:
    if not name.endswith("_t") and name not in ("kiln_status", "kiln_dl_tensor"):
        problems.append(f"the page names {name}, which is not declared")
print("\n".join(problems))
sys.exit(1 if problems else 0)
