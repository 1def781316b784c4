#!/usr/bin/env python3
"""tests/deploy/check_bundle.py KILN MAKE_BUNDLE -- the kiln command on bundles: what it prints, and what it exits with."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

kiln, make_bundle = sys.argv[1:3]
failures = []


def run(*words, status=0):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=environment)
    if result.returncode != status:
        failures.append(f"{' '.join(map(str, words))}: status {result.returncode}, not {status}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def check(condition, text):
    if not condition:
        failures.append(text)


def expect(printed, expected, what):
    check(printed == expected, f"{what} prints\n{printed}instead of\n{expected}")


# A cubin has 20 bytes of header and its text, a CPU image 64; the file 128 of header, 5 * (48 + 84) + 12 of records, 14 texts of 109 bytes with
# a length of 4 bytes each, which makes 965, hence 1024, and 4 images of 64 and one of 128.
LISTING = """\
NAME         TARGET     SIZE  REGISTERS  SPILLS  SHARED  COMPILER     KERNEL
kiln_kernel  sm_90      35 B  32         0       0       NVRTC 13.0   gelu f32[n]
kiln_kernel  ptx_80     48 B                     0       NVRTC 13.0   saxpy f32[n]
kiln_kernel  sm_80      36 B  32         0       0       NVRTC 13.0   saxpy f32[n]
kiln_kernel  sm_90a     37 B  32         0       0       NVRTC 13.0   saxpy f32[n]
kiln_kernel  x86-64-v3  84 B                     0       LLVM 19.1.7  saxpy f32[n]
tuned for NVIDIA H200, 132 multiprocessors: 2 lines
2 kernels, 5 images, 1.4 KiB
"""


def check_ls(folder, bundle):
    expect(run(kiln, "bundle", "ls", bundle), LISTING, "ls")
    report = json.loads(run(kiln, "bundle", "ls", "--json", bundle))
    check(report["bytes"] == bundle.stat().st_size and report["format"] == 1 and report["kernels"] == 2, str(report))
    check(len(report["images"]) == 5 and report["tuned"] == [{"device": "NVIDIA H200", "multiprocessors": 132, "lines": 2}],
          str(report))
    first = report["images"][0]
    check(first["title"] == "gelu f32[n]" and first["target"] == "sm_90" and first["kind"] == "cubin" and
          len(first["identity"]) == 64 and len(first["image_digest"]) == 64 and first["registers"] == 32 and
          first["options"] == "contract", str(first))
    strange = folder / 'a"b\\c\n\udcff.klb'  # JSON is UTF-8, whatever files are called
    strange.write_bytes(bundle.read_bytes())
    path = json.loads(run(kiln, "bundle", "ls", "--json", strange))["path"]
    check(path.endswith('/a"b\\c\n\ufffd.klb'), f"a path as JSON: {path!r}")
    strange.unlink()
    empty = folder / "empty.klb"
    run(make_bundle, empty)
    check(run(kiln, "bundle", "ls", empty).endswith("0 kernels, 0 images, 128 B\n"), "an empty bundle")


def check_verify(folder, bundle):
    expect(run(kiln, "bundle", "verify", bundle), "5 images, 0 damaged\n", "verify")
    contents = bytearray(bundle.read_bytes())
    at = contents.find(b"saxpy for sm_90a")
    contents[at] ^= 1
    damaged = folder / "damaged.klb"
    damaged.write_bytes(contents)
    expect(run(kiln, "bundle", "verify", damaged, status=1),
           "saxpy f32[n] for sm_90a: its checksum is wrong\n"
           "5 images, 1 damaged; copy the file again, or build it again\n", "verify")
    report = json.loads(run(kiln, "bundle", "verify", "--json", damaged, status=1))
    check(report["images"] == 5 and len(report["problems"]) == 1, str(report))
    run(kiln, "bundle", "ls", damaged)
    check("is damaged" in run(kiln, "bundle", "merge", damaged, "-o", folder / "out.klb", status=1), "merge reads images")
    foreign = folder / "foreign.klb"
    run(make_bundle, foreign, "saxpy:sm_80:foreign", "tanh:ptx_80:foreign", "gelu:aarch64:foreign", "saxpy:sm_90")
    expect(run(kiln, "bundle", "verify", foreign, status=1),
           "gelu f32[n] for aarch64: its image is not a CPU kernel of this kiln\n"
           "saxpy f32[n] for sm_80: its image is not a cubin\ntanh f32[n] for ptx_80: its image is not PTX\n"
           "4 images, 3 damaged; copy the file again, or build it again\n", "verify")
    contents = bytearray(bundle.read_bytes())
    contents[200] ^= 1
    damaged.write_bytes(contents)
    for action in ("verify", "ls"):
        check("the checksum of its manifest is wrong" in run(kiln, "bundle", action, damaged, status=1), action)
    damaged.write_bytes(contents[:1000])
    check("it has 1000 bytes and says" in run(kiln, "bundle", "verify", damaged, status=1), "a truncated bundle")
    check("cannot read the bundle" in run(kiln, "bundle", "verify", folder / "none.klb", status=1), "no such file")
    check("it is an ELF file" in run(kiln, "bundle", "ls", kiln, status=1), "another kind of file")


def check_merge(folder, bundle):
    one, two, both = folder / "one.klb", folder / "two.klb", folder / "both.klb"
    run(make_bundle, one, "saxpy:sm_80", "saxpy:ptx_80", "gelu:sm_90", "=NVIDIA H200:132:b\n")
    run(make_bundle, two, "saxpy:sm_90a", "saxpy:x86-64-v3", "saxpy:sm_80", "=NVIDIA H200:132:a")
    expect(run(kiln, "bundle", "merge", one, two, "-o", both), f"{both}: 2 kernels, 5 images, 1.4 KiB\n", "merge")
    check(both.read_bytes() == bundle.read_bytes(), "merging gives what one build gives")
    run(kiln, "bundle", "merge", two, one, two, "-o", both)
    check(both.read_bytes() == bundle.read_bytes(), "in any order")
    run(kiln, "bundle", "merge", one, two, "-o", one)
    check(one.read_bytes() == bundle.read_bytes(), "over one of the inputs")
    report = json.loads(run(kiln, "bundle", "merge", "--json", one, "-o", both))
    check(report["images"] == 5 and report["conflicts"] == [] and report["bytes"] == both.stat().st_size, str(report))
    other = folder / "other.klb"
    run(make_bundle, other, "saxpy:sm_80:x", "gelu:sm_80")
    both.unlink()
    expect(run(kiln, "bundle", "merge", bundle, other, "-o", both, status=1),
           f"conflict: saxpy f32[n] for sm_80 in {bundle} and {other}: registers 32 to 33, image 36 to 37 bytes\n"
           "1 conflict; nothing was written: build these kernels again with one compiler and one kiln\n", "merge")
    check(not both.exists(), "a conflict writes nothing")
    check("make the directory first" in run(kiln, "bundle", "merge", one, "-o", folder / "none" / "x.klb", status=1), "no folder")


DIFFERENCES = """\
CHANGE   KERNEL          TARGET                            DETAILS
added    gelu f32[n]     sm_80                             image of 35 bytes
removed  gelu f32[n]     sm_90                             image of 35 bytes
changed  saxpy f32[n]    sm_80                             registers 32 to 33, image 36 to 37 bytes
added    tuned launches  NVIDIA A100, 108 multiprocessors  1 line
changed  tuned launches  NVIDIA H200, 132 multiprocessors  2 lines to 1 line
"""


def check_diff(folder, bundle):
    other = folder / "other.klb"
    run(make_bundle, other, "saxpy:sm_80:x", "saxpy:ptx_80", "saxpy:sm_90a", "saxpy:x86-64-v3", "gelu:sm_80",
        "=NVIDIA H200:132:a\n", "=NVIDIA A100:108:a\n")
    expect(run(kiln, "bundle", "diff", bundle, other, status=1), DIFFERENCES, "diff")
    expect(run(kiln, "bundle", "diff", bundle, bundle), "no differences\n", "diff")
    changes = json.loads(run(kiln, "bundle", "diff", "--json", bundle, other, status=1))
    check([c["change"] for c in changes] == ["added", "removed", "changed", "added", "changed"], str(changes))
    check(json.loads(run(kiln, "bundle", "diff", "--json", bundle, bundle)) == [], "no differences as JSON")


def check_misuse(bundle):
    check("merge" in run(kiln, "help", "bundle") and "bundle" in run(kiln, "help"), "help")
    for words in ([], ["eat", bundle], ["ls"], ["verify"], ["merge", bundle], ["merge", "-o", "x.klb"], ["diff", bundle],
                  ["ls", bundle, "more"], ["ls", bundle, "--yaml"], ["diff", bundle, bundle, bundle]):
        run(kiln, "bundle", *words, status=2)


def check_full_output(folder, bundle):
    """What cannot be written is an error, and not a short listing: of each subcommand, on a full disk."""
    if not os.access("/dev/full", os.W_OK):
        return
    other = folder / "full.klb"
    record = folder / "full.kiln"
    record.write_text("kiln record 1\n")
    place = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")} | {"KILN_CACHE_DIR": str(folder / "cache")}
    for words in (["info"], ["info", "--json"], ["help"], ["help", "bundle"], ["--version"], ["cache", "stats"], ["cache", "ls"],
                  ["cache", "verify"], ["cache", "prune"], ["cache", "clear"], ["bundle", "ls", bundle],
                  ["bundle", "ls", "--json", bundle], ["bundle", "verify", bundle], ["bundle", "diff", bundle, bundle],
                  ["bundle", "merge", bundle, "-o", other], ["tune", "ls"], ["tune", "ls", "--json"], ["tune", "forget"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run([kiln, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True, env=place)
        check(result.returncode == 1 and "the output cannot be written: No space left on device" in result.stderr,
              f"{words} on a full disk: status {result.returncode}, {result.stderr}")
    closed = subprocess.run(["bash", "-c", 'exec "$0" bundle ls "$1" >&-', kiln, str(bundle)], stderr=subprocess.PIPE, text=True)
    check(closed.returncode == 1 and "the output cannot be written" in closed.stderr, f"a closed output: {closed}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bundle = folder / "app é.klb"
        run(make_bundle, bundle, "saxpy:sm_80", "saxpy:sm_90a", "saxpy:ptx_80", "saxpy:x86-64-v3", "gelu:sm_90",
            "=NVIDIA H200:132:a\nb\n")
        check_ls(folder, bundle)
        check_verify(folder, bundle)
        check_merge(folder, bundle)
        check_diff(folder, bundle)
        check_misuse(bundle)
        check_full_output(folder, bundle)
    for failure in failures:
        print(failure)
    print(f"kiln bundle: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
