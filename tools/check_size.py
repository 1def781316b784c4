#!/usr/bin/env python3
"""tools/check_size.py -- keeps files and functions small enough to read, and headers of files honest.

The rules: a file has at most 400 lines and a function at most 60; a C++ file begins with `// <path> -- <one line of purpose>`.
Functions are found by matching braces; a lambda counts as part of the function around it.

`check_size.py --self-test` checks the checker on small texts.
"""
import pathlib
import re
import sys

FOLDERS = ["include", "support", "codegen", "runtime", "dsl", "tools", "tests", "examples", "benchmarks"]
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

TOKEN = re.compile(
    r'R"(?P<delimiter>[^()\s\\]{0,16})\((?:.|\n)*?\)(?P=delimiter)"'  # raw string
    r'|//[^\n]*|/\*(?:.|\n)*?\*/'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"                          # character, not a digit separator
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
CONTROL = re.compile(r"^\s*(else\s+)?(if|for|while|switch|catch|do|else|try|return)\b")


def blank(match):
    """Comments, strings and directives become spaces; line breaks stay, so that positions keep their lines."""
    return re.sub(r"[^\n]", " ", match.group(0))


def is_function(head):
    return bool(re.search(r"\)", head)) and not CONTROL.match(head) and not re.search(r"=\s*$", head) and \
        not re.match(r"\s*(template\s*<[^{}]*>\s*)?(typedef\s+)?(class|struct|union|enum|namespace)\b", head)


def functions(text):
    """(name, first line, last line) of every function body outside other functions."""
    code = TOKEN.sub(blank, text)
    stack, head_start, result = [], 0, []
    for match in re.finditer(r"[{};]", code):
        at, symbol = match.start(), match.group(0)
        inside = any(kind == "function" for kind, *_ in stack)
        if symbol == "{":
            head = code[head_start:at]
            kind = "function" if not inside and is_function(head) else "block"
            lead = len(head) - len(head.lstrip())
            stack.append((kind, head_start + lead, " ".join(head.split())))
        elif symbol == "}" and stack:
            kind, start, head = stack.pop()
            if kind == "function":
                name = re.search(r"([~\w:]+)\s*\(", head)
                result.append((name.group(1) if name else head[:40], code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1))
        head_start = at + 1
    return result


def check_text(path, text):
    problems = []
    lines = text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    if lines > MAX_FILE_LINES:
        problems.append(f"{path}: {lines} lines, at most {MAX_FILE_LINES}")
    if not path.endswith((".h", ".cpp")):
        return problems
    shown = path.removeprefix("include/")
    if not re.match(rf"// {re.escape(shown)} -- \S", text):
        problems.append(f"{path}: the first line must be '// {shown} -- purpose'")
    for name, first, last in functions(text):
        if last - first + 1 > MAX_FUNCTION_LINES:
            problems.append(f"{path}:{first}: function {name} has {last - first + 1} lines, at most {MAX_FUNCTION_LINES}")
    return problems


def check(root):
    problems = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".py", ".sh"):
                problems += check_text(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    return problems


def self_test():
    head = "// a.cpp -- text of a test\n"
    body = "  x();\n" * 59
    cases = [
        ("function f has 61 lines", head + "int f(int a) {\n" + body + "}\n"),
        (None, head + "int f(int a) {\n" + body[:-7] + "}\n"),
        ("function A::A has 62 lines", head + "A::A()\n    : b(1) {\n" + body + "}\n"),
        (None, head + "namespace a {\nstruct B {\n" + "  int f() { return '{'; }\n" * 100 + "};\n}\n"),
        (None, head + 'void f() { g(R"(\n' + "{ \n" * 50 + ')"); }\nint h() { return 1\'000; }\n' * 40),
        ("402 lines, at most 400", head + "\n" * 401),
        ("first line must be", "int x;\n"),
        ("function TEST has 62 lines", head + "TEST(A, B) {\n" + body + "  auto f = [](int) { return 1; };\n}\n"),
    ]
    for expected, text in cases:
        problems = check_text("a.cpp", text)
        if expected is None and [p for p in problems if "function" in p]:
            return f"clean text was rejected: {problems}"
        if expected is not None and not any(expected in p for p in problems):
            return f"expected '{expected}', got {problems}"
    return None


def main():
    if sys.argv[1:] == ["--self-test"]:
        failure = self_test()
        print(failure or "self-tests passed")
        return 1 if failure else 0
    problems = check(pathlib.Path(__file__).resolve().parent.parent)
    for problem in problems:
        print(problem)
    print(f"check_size: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
