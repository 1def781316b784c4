#!/usr/bin/env python3
"""tools/check_layers.py -- fails on includes that break the architecture.

The rules:
  1. the include matrix between layers (LAYERS below);
  2. no cycle between modules, where a module is a header together with its source file;
  3. third-party headers only where THIRD_PARTY allows them; public headers use the standard headers of PUBLIC_STD only;
  4. the backends under runtime/ do not know each other;
  5. the environment is read in support/env.cpp only;
  6. no file is named like a system header.

`check_layers.py --self-test` checks the checker on small trees, each of which breaks one rule.
"""
import pathlib
import re
import sys
import tempfile

LAYERS = {
    "include": {"include"},
    "support": {"include", "support"},
    "codegen": {"include", "support", "codegen"},
    "runtime": {"include", "support", "runtime"},
    "dsl": {"include", "support", "codegen", "runtime", "dsl"},
    "tools": {"include", "support", "codegen", "runtime", "dsl", "tools"},
    "examples": {"include", "examples"},
    "benchmarks": {"include", "benchmarks"},
    "tests": {"include", "support", "codegen", "runtime", "dsl", "tests"},
}
# Programs that look into the library, stage by stage, may include what tests may.
INSIDE = {"benchmarks/large.cpp"}
# Pattern of the included name -> path prefixes that may include it.
THIRD_PARTY = [
    (r"(cuda|nvrtc|cudart|nvJitLink|cuda_\w+)(\.h|/.*)$", ["runtime/cuda/", "tests/fake_driver/"]),
    (r"nvtx3/", ["runtime/cuda/", "tests/nvtx/"]),
    (r"llvm(-c)?/", ["runtime/cpu/jit/"]),
    (r"fmt/", ["support/", "codegen/", "runtime/", "dsl/", "tools/", "tests/"]),
    (r"gtest/|gmock/", ["tests/"]),
    (r"benchmark/", ["benchmarks/"]),
    (r"png\.h$", ["examples/"]),
]
PUBLIC_STD = {"cstddef", "cstdint", "type_traits", "utility", "exception", "vector", "span", "tuple", "initializer_list"}
# The C interface is C99.
PUBLIC_C = {"include/kiln/dlpack_types.h", "include/kiln/kiln_c.h", "include/kiln/kiln_c_graph.h",
            "include/kiln/kiln_c_run.h", "include/kiln/kiln_c_types.h"}
PUBLIC_C_STD = {"stddef.h", "stdint.h"}
# Fallback for C++ libraries in which std::complex cannot be declared ahead.
PUBLIC_STD_EXCEPTIONS = {("include/kiln/detail/element.h", "complex")}
SYSTEM_NAMES = {
    "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h", "limits.h", "locale.h", "math.h",
    "regex.h", "sched.h", "setjmp.h", "signal.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h",
    "stdlib.h", "string.h", "strings.h", "thread.h", "threads.h", "time.h", "unistd.h", "uchar.h", "wchar.h", "cuda.h",
    "nvrtc.h", "png.h", "zlib.h",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def sources(root):
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in (".h", ".cpp", ".def"):
                yield path.relative_to(root).as_posix()


def resolve(name, includer, known):
    """The repository file that an include names, or None for a foreign header."""
    folder = includer.rsplit("/", 1)[0]
    for candidate in (name, "include/" + name, folder + "/" + name):
        if candidate in known:
            return candidate
    return None


def module_of(path):
    return re.sub(r"\.(h|cpp|def)$", "", path)


def third_party_problem(path, name):
    for pattern, allowed in THIRD_PARTY:
        if re.match(pattern, name):
            if not any(path.startswith(prefix) for prefix in allowed):
                return f"{path}: <{name}> may be included only by {', '.join(allowed)}"
            return None
    allowed = PUBLIC_C_STD if path in PUBLIC_C else PUBLIC_STD
    if path.startswith("include/") and name not in allowed and (path, name) not in PUBLIC_STD_EXCEPTIONS:
        return f"{path}: public headers may use only <{'> <'.join(sorted(allowed))}>, not <{name}>"
    return None


def backend_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "runtime" and len(parts) > 2 else None


def edge_problem(path, target):
    layer, wanted = path.split("/")[0], target.split("/")[0]
    if wanted not in LAYERS["tests" if path in INSIDE else layer]:
        return f"{path}: includes {target}, but {layer} may include only {', '.join(sorted(LAYERS[layer]))}"
    ours, theirs = backend_of(path), backend_of(target)
    if ours and theirs and ours != theirs:
        return f"{path}: includes {target}, but the backends under runtime/ do not include each other"
    return None


def cycles(edges):
    """Strongly connected components of more than one module (Tarjan's algorithm with an explicit stack)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for start in sorted(edges):
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        work = [(start, iter(sorted(edges[start])))]
        while work:
            node, successors = work[-1]
            advanced = False
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(sorted(edges.get(successor, ())))))
                    advanced = True
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            if advanced:
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                component = []
                while not component or component[-1] != node:
                    component.append(stack.pop())
                    on_stack.discard(component[-1])
                if len(component) > 1:
                    found.append(sorted(component))
    return found


def check(root):
    known = set(sources(root))
    problems, edges = [], {}
    for path in sorted(known):
        text = (root / path).read_text(encoding="utf-8")
        code = re.sub(r"//[^\n]*", "", text)
        edges.setdefault(module_of(path), set())
        if path.rsplit("/", 1)[-1] in SYSTEM_NAMES:
            problems.append(f"{path}: has the name of a system header")
        if re.search(r"\b(secure_)?getenv\s*\(", code) and path != "support/env.cpp" and not path.startswith("tests/"):
            problems.append(f"{path}: reads the environment; only support/env.cpp may")
        for _, name in INCLUDE.findall(text):
            target = resolve(name, path, known)
            problem = edge_problem(path, target) if target else third_party_problem(path, name)
            if problem:
                problems.append(problem)
            if target and module_of(target) != module_of(path):
                edges[module_of(path)].add(module_of(target))
    for component in cycles(edges):
        problems.append("cycle between modules: " + " <-> ".join(component))
    return problems


SELF_TESTS = [
    ("codegen may include only codegen, include, support", {"codegen/a.cpp": '#include "runtime/b.h"\n', "runtime/b.h": ""}),
    ("cycle between modules: support/a <-> support/b",
     {"support/a.h": "", "support/a.cpp": '#include "support/b.h"\n', "support/b.h": '#include "support/a.h"\n'}),
    ("may be included only by runtime/cuda/", {"dsl/a.cpp": "#include <cuda.h>\n"}),
    ("may be included only by runtime/cpu/jit/", {"codegen/a.cpp": "#include <llvm/IR/IRBuilder.h>\n"}),
    ("public headers may use only", {"include/kiln/a.h": "#include <string>\n"}),
    ("backends under runtime/", {"runtime/cpu/a.cpp": '#include "runtime/cuda/b.h"\n', "runtime/cuda/b.h": ""}),
    ("reads the environment", {"dsl/a.cpp": 'auto x = std::getenv("HOME");\n'}),
    ("name of a system header", {"support/math.h": ""}),
    (None, {"support/a.h": "#include <string>\n", "dsl/a.cpp": '#include "support/a.h"\n#include <kiln/b.h>\n',
            "include/kiln/b.h": "#include <cstdint>\n", "runtime/cuda/c.cpp": "#include <cuda.h>\n"}),
]


def self_test():
    for expected, files in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            problems = check(root)
        if expected is None and problems:
            return f"a clean tree was rejected: {problems}"
        if expected is not None and not (len(problems) == 1 and expected in problems[0]):
            return f"expected one problem with '{expected}', got {problems}"
    return None


def main():
    if sys.argv[1:] == ["--self-test"]:
        failure = self_test()
        print(failure or f"{len(SELF_TESTS)} self-tests passed")
        return 1 if failure else 0
    problems = check(pathlib.Path(__file__).resolve().parent.parent)
    for problem in problems:
        print(problem)
    print(f"check_layers: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
