#!/usr/bin/env python3
"""tests/deploy/check_record.py KILN PROGRAM LIBKILN MAKE_BUNDLE -- record, build, and run where no compiler can be found.

The program records itself on the CPU; `kiln bundle build` makes the same bundle twice; a copy of the program and libkiln.so alone,
without libkiln_cpu.so, NVRTC and cache, runs from the bundle and maps no compiler. A damaged bundle is one warning and a compile.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

kiln, program, library, make_bundle = sys.argv[1:5]
failures = []


def run(*words, status=0, stderr=True, **changes):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    result = subprocess.run(words, capture_output=True, text=True, env={**kept, **changes})
    output = result.stdout + result.stderr
    if result.returncode < 0 and "cannot load the CPU compiler" in output and status == 0:
        print(output)
        sys.exit(1)
    if status is not None and result.returncode != status:
        failures.append(f"{' '.join(words)}: status {result.returncode}, not {status}\n{output}")
    return output if stderr else result.stdout


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
    said = run(*build, "-o", str(bundle), "--jobs", "1").splitlines()[-1]
    listed = json.loads(run(kiln, "bundle", "ls", "--json", str(bundle)))
    report = json.loads(run(*build, "-o", str(again), "--jobs", "4", "--json", stderr=False))
    recorded = text.count("\nkernel ")
    check(report["path"] == str(again) and report["kernels"] == listed["kernels"] and report["images"] == len(listed["images"]) and
          report["records"] == recorded and report["bytes"] == listed["bytes"] and report["notes"] == [] and
          report["unfinished_records"] == 0, f"{report} of {recorded} records")
    check(said.startswith(f"{bundle}: {report['kernels']} kernels, {report['images']} images, ") and
          said.endswith(f"; from {recorded} records"), f"the build says {said!r}, and {report}")
    check(run(kiln, "bundle", "ls", str(bundle)).endswith(said[len(str(bundle)) + 2:said.index(";")] + "\n"), "ls says the same")
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
    output = run(app, KILN_BUNDLE=str(bundle), KILN_DEBUG="1", **bare)
    suits = [line for line in output.splitlines() if f"bundle {bundle}: " in line]
    expected = f"{report['images']} images of {report['kernels']} kernels, {report['kernels']} for cpu (x86-64)"
    check(len(suits) == 1 and expected in suits[0], f"what suits the devices here: {suits}, not {expected}")
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
    for words, said in ((("--arch", "x"), "no GPU architecture"), (("--ptx", "sm_x"), "no GPU architecture"),
                        (("--cpu", "z80"), "is no CPU"), ((), "nothing to build a bundle for")):
        output = run(kiln, "bundle", "build", str(record), *words, "-o", str(again), status=2)
        check(said in output and "usage:" in output, f"{words}: {output}")
    before = record.read_bytes()
    (root / "link").symlink_to(record)
    for output in (record, root / "link"):
        check("would overwrite" in run(*build, "-o", str(output), status=2), f"{output} is read and written")
    check(record.read_bytes() == before, "the record was overwritten")

    # What tuning found goes into the bundle; what is none of that does not.
    tuned, more = root / "tuned.txt", root / "more.txt"
    line = run(make_bundle, "--tuning", "saxpy", "NVIDIA H200", "132")
    tuned.write_text(line + run(make_bundle, "--tuning", "gelu", "NVIDIA H200", "132"))
    more.write_text(line + "\n" + run(make_bundle, "--tuning", "gelu", "NVIDIA A100", "108") + "of another version\n")
    output = run(*build, "--tuning", f"{tuned},{more}", "-o", str(again))
    check(f"note: {more}: 1 line of tuning not understood" in output, output)
    check(again.read_bytes().count(line.encode()) == 1 and b"choice=block=512 vector=4" in again.read_bytes(),
          "the bundle does not hold the choice")
    output = run(kiln, "bundle", "ls", str(again))
    check("tuned for NVIDIA A100, 108 multiprocessors: 1 line\ntuned for NVIDIA H200, 132 multiprocessors: 2 lines\n" in output,
          f"tuned launches: {output}")
    check("nothing that `kiln tune export` wrote" in run(*build, "--tuning", str(record), "-o", str(again), status=1), "no tuning")
    check("cannot be read" in run(*build, "--tuning", str(root / "none"), "-o", str(again), status=1), "no such tuning")
    output = run(program, KILN_BUNDLE=str(again), KILN_CACHE="off")
    check("right" in output, f"with a bundle of tuned launches: {output!r}")

    # kiln tune import: lines that are none are a problem, and do not keep the others out.
    place = {"KILN_CACHE_DIR": str(root / "tuning")}
    check("2 taken, 0 known, 0 not understood" in run(kiln, "tune", "import", str(tuned), **place), "import")
    output = run(kiln, "tune", "import", str(more), status=1, **place)
    check("1 taken, 1 known, 1 not understood" in output and "problem: 1 line is not" in output, output)
    run(kiln, "tune", "import", program, status=1, **place)
    run(kiln, "tune", "import", str(root / "none"), status=1, **place)
    check(len(json.loads(run(kiln, "tune", "ls", "--json", **place))) == 3, "what was taken stays")
    run(kiln, "tune", "import", str(tuned), status=1, KILN_CACHE="ro", KILN_CACHE_DIR=str(root / "elsewhere"))

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
