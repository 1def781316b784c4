#!/usr/bin/env python3
# tools/tidy.py -- clang-tidy over sources in batches, and a check that every header compiles alone.
"""usage: tools/tidy.py BUILD_DIRECTORY SOURCE...

Several sources are analysed as one translation unit, for most of the time goes into the standard headers that all include. Where
a batch is not clean, or two of its sources disturb each other, it is halved, down to single sources: what is reported is always
what clang-tidy says of the source alone. What depends on a source being the main file (unused functions, missing #includes) the
builds check, which compile each source by itself. A source whose text, headers and configuration are unchanged since it last
passed is not analysed again.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PASSED = os.path.join(ROOT, "build/lint/passed")
BATCHES = os.path.join(ROOT, "build/lint/batches")
LARGEST_BATCH = 12
NOISE = re.compile(r"warnings? generated|Suppressed|Use -header-filter|warnings? treated as error")


def digest(*parts):
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:40]


def read(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        return file.read()


def tracked(*patterns):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in names if name and os.path.exists(os.path.join(ROOT, name)))


def commands_by_source(build_directory):
    """Per source its compile command, without the source and the output."""
    found = {}
    for entry in json.loads(read(os.path.join(build_directory, "compile_commands.json"))):
        words = shlex.split(entry["command"])
        for option in ("-o", "-c"):
            del words[words.index(option):words.index(option) + 2]
        found[os.path.relpath(entry["file"], ROOT)] = (entry["directory"], words)
    return found


def names_of(source):
    """What the source defines at namespace scope, which clang-format puts at the start of a line."""
    text = read(source).decode()
    defined = re.findall(r"^(?![\s#/}]|namespace|template|using|static_assert)[^=({;\n]*?(\w+)\s*(?:\[[^\]\n]*\])*[=({;]", text, re.MULTILINE)
    return set(defined) | set(re.findall(r"^(?:struct|class|enum class|enum|union|using)\s+(\w+)(?!::|\w)", text, re.MULTILINE))


def batches_of(sources, commands):
    """Groups of sources with one command in which no two define the same name."""
    groups = {}
    for source in sources:
        batches = groups.setdefault(str(commands[source]), [])
        names = names_of(source)
        for members, taken in batches:
            if len(members) < LARGEST_BATCH and not names & taken:
                members.append(source)
                taken |= names
                break
        else:
            batches.append(([source], names))
    return [members for batches in groups.values() for members, _ in batches]


def run_tidy(database, source):
    # std::stable_sort of g++ 12's library uses a function that the same library deprecates: not ours to mend.
    command = ["clang-tidy-19", "--quiet", "-p", database, "--extra-arg=-Wno-deprecated-declarations", source]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    notes = "\n".join(line for line in result.stderr.splitlines() if line and not NOISE.search(line))
    return result.returncode == 0, result.stdout + notes


def write_batch(batch, commands):
    """Writes a source that includes the batch, with a compilation database of its own; returns both paths."""
    folder = os.path.join(BATCHES, digest("\0".join(batch).encode()))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "batch.cpp")
    with open(path, "w") as file:
        file.writelines(f'#include "{os.path.join(ROOT, source)}"  // NOLINT\n' for source in batch)
    directory, words = commands[batch[0]]
    with open(os.path.join(folder, "compile_commands.json"), "w") as file:
        json.dump([{"directory": directory, "file": path, "arguments": [*words, "-c", path]}], file)
    return folder, path


def analyse(batch, commands, build_directory):
    """The sources of the batch that are clean, and what to print."""
    passed, reports, waiting = [], [], [batch]
    while waiting:
        part = waiting.pop()
        if len(part) == 1:
            clean, report = run_tidy(build_directory, part[0])
            reports += [] if clean else [report]
        else:
            clean, report = run_tidy(*write_batch(part, commands))
            if not clean:
                waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
        if clean:
            passed += part
    return passed, "\n".join(reports)


def compiles_alone(header, words):
    alone = ["-Wno-pragma-once-outside-header", "-Wno-pragma-system-header-outside-header"]
    command = [*words, "-x", "c++-header", "-fsyntax-only", *alone, os.path.join(ROOT, header)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return ([header], "") if result.returncode == 0 else ([], f"{header} does not compile alone:\n{result.stderr}")


def headers_never_first(sources):
    """Headers that no source includes before all else: the build of the others shows that they compile alone."""
    first = set()
    for source in sources:
        include = re.search(rb'^#include [<"]([^>"]+)', read(source), re.MULTILINE)
        if include:
            first.add(include[1].decode())
    for header in tracked("include/*.h", "support/*.h", "codegen/*.h", "runtime/*.h", "dsl/*.h"):
        if header.removeprefix("include/") not in first:
            yield header


def main(build_directory, sources):
    os.makedirs(PASSED, exist_ok=True)
    commands = commands_by_source(build_directory)
    sources = [source for source in sources if source in commands]  # runtime/no_cuda and runtime/cuda exclude each other
    surroundings = digest(*(digest(name.encode(), read(name)).encode() for name in tracked("*.h", "*.def", ".clang-tidy")),
                          read(__file__)).encode()
    stamps = {name: os.path.join(PASSED, digest(name.encode(), read(name), surroundings))
              for name in [*sources, *headers_never_first(sources)]}
    waiting = [name for name in stamps if not os.path.exists(stamps[name])]
    batches = sorted(batches_of([name for name in waiting if name in commands], commands), key=len, reverse=True)
    plain = next((commands[name][1] for name in sources if name.startswith("runtime/cuda/")), commands[sources[0]][1])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(analyse, batch, commands, build_directory) for batch in batches]
        jobs += [pool.submit(compiles_alone, name, plain) for name in waiting if name not in commands]
        for job in concurrent.futures.as_completed(jobs):
            passed, report = job.result()
            for name in passed:
                open(stamps[name], "w").close()
            if report:
                print(report, flush=True)
    return int(any(not os.path.exists(stamps[name]) for name in stamps))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
