#!/usr/bin/env python3
"""tests/deploy/check_record.py KILN PROGRAM LIBKILN -- record, build, and run where no compiler can be found.

The program records itself on the CPU; `kiln bundle build` makes the same bundle twice; a copy of the program and libkiln.so alone,
without libkiln_cpu.so, NVRTC and cache, runs from the bundle and maps no compiler. A damaged bundle is one warning and a compile.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

kiln, program, library = sys.argv[1:4]
failures = []


def run(*words, status=0, **changes):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    result = subprocess.run(words, capture_output=True, text=True, env={**kept, **changes})
    output = result.stdout + result.stderr
    if result.returncode < 0 and "cannot load the CPU compiler" in output and status == 0:
        print(output)
        sys.exit(1)
    if status is not None and result.returncode != status:
        failures.append(f"{' '.join(words)}: status {result.returncode}, not {status}\n{output}")
    return output


def check(condition, text):
    if not condition:
        failures.append(text)


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    record, bundle, again = root / "trace.kiln", root / "app.klb", root / "again.klb"
    check("right" in run(program, KILN_RECORD=str(record), KILN_CACHE_DIR=str(root / "cache")), "the recording run is wrong")
    text = record.read_text()
    check(text.startswith("kiln record 1\n"), "the record has no first line")
    check("(warm_start.cpp:" in text, "the record names no line of the program")
    run(program, KILN_RECORD=str(record), KILN_CACHE_DIR=str(root / "cache"))
    check(record.read_text() == text, "a second run added to the record what it held")

    build = (kiln, "bundle", "build", str(record), "--cpu", "x86-64-v2,x86-64-v3")
    check("images of" in run(*build, "-o", str(bundle), "--jobs", "1"), "the build says nothing")
    run(*build, "-o", str(again), "--jobs", "4")
    check(bundle.read_bytes() == again.read_bytes(), "two builds differ")

    # A machine without compilers: the program and libkiln.so.
    (root / "bin").mkdir()
    (root / "lib").mkdir()
    shutil.copy(program, root / "bin" / "app")
    shutil.copy(library, root / "lib" / pathlib.Path(library).name)
    bare = {"KILN_CACHE": "off", "KILN_NVRTC": str(root / "nowhere"), "LD_LIBRARY_PATH": str(root / "lib")}
    app = str(root / "bin" / "app")
    output = run(app, KILN_BUNDLE=str(bundle), **bare)
    check(output == "right\n", f"from the bundle: {output!r}")
    output = run(app, status=None, **bare)
    check("cannot load the CPU compiler" in output, f"without a bundle: {output!r}")

    # Damage: one warning, then the compiler.
    bytes_of = bytearray(bundle.read_bytes())
    bytes_of[len(bytes_of) // 8] ^= 0x10
    (root / "damaged.klb").write_bytes(bytes_of)
    output = run(program, KILN_BUNDLE=str(root / "damaged.klb"), KILN_CACHE="off")
    check("right" in output, f"with a damaged bundle: {output!r}")
    check(output.count("kiln warning") == 1, f"warnings of a damaged bundle: {output!r}")

    output = run(kiln, "info", status=1, KILN_BUNDLE=str(root / "none.klb"), KILN_CACHE_DIR=str(root / "cache"))
    check("a bundle of KILN_BUNDLE is not used" in output, f"kiln info on a missing bundle: {output!r}")

    # Mistakes.
    check("KILN_RECORD" in run(kiln, "bundle", "build", "-o", str(again), "--cpu", "x86-64-v3", status=2), "no record")
    check("-o app.klb" in run(kiln, "bundle", "build", str(record), "--cpu", "x86-64-v3", status=2), "no output")
    check("cannot be read" in run(kiln, "bundle", "build", str(root / "none"), "--cpu", "x86-64-v3", "-o", str(again),
                                  status=1), "a missing record")
    check("no GPU architecture" in run(kiln, "bundle", "build", str(record), "--arch", "x", "-o", str(again), status=1),
          "an unknown architecture")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
