#!/usr/bin/env python3
"""tests/embed/check_copies.py PROGRAM LIBKILN LIBKILN_CPU -- two copies of kiln in one process, opened and closed in every order."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

program, library, compiler = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
failed = False
with tempfile.TemporaryDirectory() as folder:
    for file in (library, compiler):
        shutil.copy(file, folder)
    copy = pathlib.Path(folder) / library.name
    for opened in ("local", "global"):
        for closed in ("first", "second"):
            result = subprocess.run([program, library, copy, opened, closed], capture_output=True, text=True, timeout=120,
                                    env={**os.environ, "KILN_DEVICE": "cpu"})
            print(opened, closed, result.returncode, result.stdout, result.stderr)
            failed = failed or result.returncode != 0 or "all checks passed" not in result.stdout or bool(result.stderr)
sys.exit(failed)
