#!/usr/bin/env python3
"""tests/deploy/check_command.py KILN WARM_START -- the kiln command and a warm start, as a user sees them.

Exit statuses (0 good, 1 a problem, 2 misuse), JSON that parses and says the same as the text, entries that programs made, and
that a program with a warm cache maps no compiler.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

kiln, program = sys.argv[1:3]
failures = []


def environment(**changes):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    return {**kept, **{k: v for k, v in changes.items() if v is not None}}


def run(*words, status=0, **changes):
    result = subprocess.run(words, capture_output=True, text=True, env=environment(**changes))
    if result.returncode != status:
        failures.append(f"{' '.join(words)}: status {result.returncode}, not {status}\n{result.stdout}{result.stderr}")
    return result.stdout


def check(condition, text):
    if not condition:
        failures.append(text)


def without_cpu_compiler(output):
    """A build without the CPU compiler cannot run the program: the test skips, visibly."""
    if "cannot load the CPU compiler" in output:
        print(output)
        sys.exit(1)


def check_cache(cache):
    place = {"KILN_CACHE_DIR": str(cache)}
    check(json.loads(run(kiln, "cache", "stats", "--json", **place))["entries"] == 0, "a cache that is not there yet is empty")
    cold = run(program, **place)
    check(cold == "mapped libkiln_cpu\nright\n", f"a cold start loads the CPU compiler alone: {cold}")
    warm = run(program, **place)
    check(warm == "right\n", f"a warm start maps no compiler: {warm}")
    entries = json.loads(run(kiln, "cache", "ls", "--json", **place))
    check(len(entries) == 2, f"the program uses two kernels: {entries}")
    for entry in entries:
        check(entry["language"] == "llvm" and entry["compiler"].startswith("LLVM ") and entry["kernel"], str(entry))
        check(entry["bytes"] > 0 and entry["created"] <= entry["used"] + 5 and "damage" not in entry, str(entry))
    listing = run(kiln, "cache", "ls", **place).splitlines()
    check(len(listing) == 3 and listing[0].startswith("KERNEL"), f"a heading and two rows: {listing}")
    check("2 entries" in run(kiln, "cache", "stats", **place), "stats counts them")
    check("2 entries, 0 damaged" in run(kiln, "cache", "verify", **place), "verify finds no damage")
    check_damage(entries, place)
    run(kiln, "cache", "prune", "--limit", "1G", **place)
    check("removed 2 entries" in run(kiln, "cache", "prune", "--limit=0", **place), "prune removes what is above the limit")
    run(program, **place)
    check("removed 2 entries" in run(kiln, "cache", "clear", **place), "clear removes all")
    check(list(cache.rglob("*")) == [], "and nothing is left")


def check_damage(entries, place):
    path = pathlib.Path(entries[0]["path"])
    contents = bytearray(path.read_bytes())
    contents[-1] ^= 1
    path.write_bytes(contents)
    report = run(kiln, "cache", "verify", status=1, **place)
    check(f"{path}: its checksum is wrong" in report and "2 entries, 1 damaged" in report, report)
    damaged = json.loads(run(kiln, "cache", "verify", "--json", status=1, **place))["damaged"]
    check([d["path"] for d in damaged] == [str(path)], str(damaged))
    check("right" in run(program, **place), "the program compiles that kernel again")
    check("2 entries, 0 damaged" in run(kiln, "cache", "verify", **place), "and has replaced the entry")


def check_info(cache):
    place = {"KILN_CACHE_DIR": str(cache)}
    report = json.loads(run(kiln, "info", "--json", **place))
    check(report["ok"] and report["version"] in run(kiln, "--version"), "version")
    check(pathlib.Path(report["library"]).name.startswith("libkiln.so"), report["library"])
    check(report["cpu"]["arch"] and report["cpu"]["multiprocessors"] >= 1, str(report["cpu"]))
    origins = {s["name"]: s["origin"] for s in report["environment"]}
    check(origins["KILN_CACHE_DIR"] == "environment" and origins["KILN_DEBUG"] == "default", str(origins))
    text = run(kiln, "info", **place)
    for part in ("NVRTC", "driver", "cpu ", "compiler", "cache: " + str(cache), "KILN_THREADS", "default device"):
        check(part in text, f"info does not speak of {part}:\n{text}")
    run(kiln, "info", status=1, KILN_DEVICE="gpu", **place)
    misspelt = run(kiln, "info", status=1, KILN_CASH="on", **place)
    check("did you mean KILN_CACHE" in misspelt, misspelt)
    check_cures(cache)
    cache.mkdir(mode=0o700, exist_ok=True)
    cache.chmod(0o777)
    shared = run(kiln, "info", status=1, **place)
    check("others may write it" in shared and "cure:" in shared, shared)
    run(kiln, "cache", "clear", status=1, **place)
    cache.chmod(0o700)
    homeless = json.loads(run(kiln, "info", "--json", status=1))  # nothing says where a cache may be
    check("HOME" in homeless["cache"]["problem"], str(homeless["cache"]))


def check_cures(cache):
    """Whatever is wrong, what is said of it ends with what to do."""
    for name, value in {"KILN_DEVICE": "cuda:99", "KILN_CASH": "on", "KILN_CACHE": "of", "KILN_CACHE_LIMIT": "much", "KILN_DEBUG": "loud",
                        "KILN_TUNE": "maybe", "KILN_BUNDLE": "/nowhere.klb", "KILN_NVRTC": "/nowhere", "KILN_THREADS": "-1", "KILN_RECORD": "/nowhere/trace.kiln"}.items():
        place = {"KILN_CACHE_DIR": str(cache), name: value}
        result = subprocess.run([kiln, "info", "--json"], capture_output=True, text=True, env=environment(**place))
        problems = json.loads(result.stdout)["problems"]
        if name == "KILN_NVRTC" and any("without the CUDA backend" in p["what"] for p in problems):
            continue  # such a build never looks for NVRTC
        serious = [p for p in problems if p["serious"]]
        check(result.returncode == (1 if serious else 0), f"{name}={value}: status {result.returncode}")
        check(any(name in p["what"] or value in p["what"] for p in serious), f"{name}={value} is no problem: {problems}")
        check(all(p["cure"] not in ("", "see above") for p in problems), f"{name}={value}: a problem without a cure: {problems}")


def check_misuse():
    check("info" in run(kiln, "help") and "cache" in run(kiln, "--help"), "help lists the commands")
    check("prune" in run(kiln, "help", "cache") and "prune" in run(kiln, "cache", "--help"), "help of one command")
    for words in ([], ["inform"], ["cache"], ["cache", "eat"], ["info", "--yaml"], ["cache", "prune", "--limit", "lots"],
                  ["cache", "prune", "--limit"], ["cache", "ls", "more"], ["help", "inform"]):
        run(kiln, *words, status=2)


def main():
    with tempfile.TemporaryDirectory() as folder:
        probe = subprocess.run([program], capture_output=True, text=True, env=environment(KILN_CACHE="off"))
        without_cpu_compiler(probe.stdout + probe.stderr)
        check_cache(pathlib.Path(folder) / "cache é")
        os.environ.pop("HOME", None)
        os.environ.pop("XDG_CACHE_HOME", None)
        check_info(pathlib.Path(folder) / "other")
        check_misuse()
    for failure in failures:
        print(failure)
    print(f"kiln command: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
