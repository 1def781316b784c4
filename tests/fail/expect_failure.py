#!/usr/bin/env python3
# tests/fail/expect_failure.py -- a program that must be refused, with the stated phrase and in few lines.
"""The source holds `// expect: PHRASE`, `// flags: FLAG` where it is refused because of one, and `// lines: N` where
g++ 12 cannot be brought below LINE_LIMIT (docs/messages.md says so). g++ prints as it does by itself, source excerpts
included; clang without excerpts, which it adds to every note. Without that flag, without the lines marked `// error`, and with the code of the lines marked
`// instead: CODE` in their place, it must compile: so nothing else is wrong, and the advice is right."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

LINE_LIMIT = 15


def use_of_precompiled(compiler, folder):
    """Flags with which the compiler reads <kiln/kiln.h> precompiled: clang is told, g++ finds it before the header."""
    at = os.path.join(folder, os.path.basename(compiler))
    return ["-include-pch", os.path.join(at, "kiln/kiln.h.gch")] if "clang" in compiler else ["-I", at]


def compile_text(compiler, include, text, flags=()):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        command = [compiler, "-std=c++20", "-fsyntax-only", "-fno-diagnostics-color", *flags, "-I", include, file.name]
        if "clang" in compiler:
            command.append("-fno-caret-diagnostics")
        return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--precompiled", required=True, help="folder with COMPILER/kiln/kiln.h.gch for each compiler")
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    with open(options.source, encoding="utf-8") as file:
        text = file.read()
    phrase = re.search(r"// expect: (.*)", text).group(1).strip()
    flags = [match.group(1).strip() for match in re.finditer(r"// flags: (.*)", text)]
    correct = "".join(line for line in text.splitlines(True) if "// error" not in line).replace("// instead: ", "")
    stated = re.search(r"// lines: (.*)", text)
    limit = int(stated.group(1)) if stated else LINE_LIMIT
    failures = []
    for compiler in options.compilers:
        good = compile_text(compiler, options.include, correct, use_of_precompiled(compiler, options.precompiled))
        if good.returncode:
            failures.append(f"{compiler}: does not compile without the lines marked '// error':\n{good.stderr}")
            continue
        bad = compile_text(compiler, options.include, text, flags)
        lines = bad.stderr.splitlines()
        if bad.returncode == 0:
            failures.append(f"{compiler}: compiled, but must not")
        elif phrase not in bad.stderr:
            failures.append(f"{compiler}: the error does not say '{phrase}':\n{bad.stderr}")
        elif len(lines) > limit:
            failures.append(f"{compiler}: {len(lines)} lines, at most {limit} are wanted:\n{bad.stderr}")
        else:
            print(f"{compiler}: refused in {len(lines)} lines")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
