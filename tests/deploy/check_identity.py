#!/usr/bin/env python3
"""tests/deploy/check_identity.py PROGRAM LIBKILN LIBKILN_CPU -- kernels of another build are never found in the cache (case C08).

A copy of the program runs beside copies of both libraries, whose build ids are then changed one after the other, as another version
of kiln, or of the LLVM that is linked into libkiln_cpu.so, changes them: each compiles again, and the first ones' kernels are still
found when they come back. Libraries without a build id are told apart by size and time.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

program, library, compiler = map(pathlib.Path, sys.argv[1:4])
failures = []


def build_id_place(data):
    """Offset of the note's name and of the id among the ELF notes; the note's header is 12 bytes before the name."""
    headers, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for k in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", data, headers + k * size)
        at = start
        while kind == 4 and at + 12 <= start + length:  # PT_NOTE
            name, value, note = struct.unpack_from("<III", data, at)
            if note == 3 and data[at + 12:at + 16] == b"GNU\0":  # NT_GNU_BUILD_ID
                return at + 12, at + 12 + name + (-name) % 4
            at += 12 + name + (-name) % 4 + value + (-value) % 4
    raise SystemExit("no build id: link with --build-id")


def changed(path, byte):
    """The file with another byte of its build id; with None, without a build id."""
    data = bytearray(path.read_bytes())
    name, identity = build_id_place(data)
    if byte is None:
        data[name:name + 3] = b"XXX"
    else:
        data[identity + byte] ^= 0x01
    return bytes(data)


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    cache, app, lib = root / "cache", root / "app", root / "lib"
    lib.mkdir()
    shutil.copy(program, app)
    kiln_file, cpu_file = lib / library.name, lib / "libkiln_cpu.so"

    def install(path, data):
        path.unlink(missing_ok=True)  # a new file, as an upgrade makes one
        path.write_bytes(data)
        path.chmod(0o755)

    def entries():
        return {str(path) for path in cache.rglob("*.kernel")}

    def expect(what, compiled):
        before = entries()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
        result = subprocess.run([app], capture_output=True, text=True,
                                env={**kept, "KILN_CACHE_DIR": str(cache), "LD_LIBRARY_PATH": str(lib)})
        output = result.stdout + result.stderr
        new = entries() - before
        if result.returncode < 0 and "cannot load the CPU compiler" in output:
            print(output)
            sys.exit(1)
        if result.returncode or "right" not in output:
            failures.append(f"{what}: status {result.returncode}\n{output}")
        elif (bool(new), "mapped libkiln_cpu" in output) != (compiled, compiled):
            failures.append(f"{what}: {len(new)} new entries, {'a' if 'mapped' in output else 'no'} compiler in use")
        if before - entries():
            failures.append(f"{what}: entries of the other builds are gone")

    kiln_data, cpu_data = library.read_bytes(), compiler.read_bytes() if compiler.exists() else b""
    install(kiln_file, kiln_data)
    if cpu_data:
        install(cpu_file, cpu_data)
    expect("the first process", True)
    expect("the second process", False)
    for byte in (0, 19):
        install(cpu_file, changed(compiler, byte))
        expect(f"another libkiln_cpu.so, byte {byte} of its build id", True)
        expect("the same again", False)
    install(cpu_file, cpu_data)
    expect("the first libkiln_cpu.so again", False)
    for byte in (0, 19):
        install(kiln_file, changed(library, byte))
        expect(f"another libkiln.so, byte {byte} of its build id", True)
        expect("the same again", False)
    install(kiln_file, kiln_data)
    expect("the first libkiln.so again", False)
    for path, original in ((cpu_file, compiler), (kiln_file, library)):
        install(path, changed(original, None))
        os.utime(path, (1_000_000_000, 1_000_000_000))
        expect(f"{path.name} without a build id", True)
        expect("the same again", False)
        os.utime(path, (1_000_000_060, 1_000_000_060))
        expect(f"{path.name} of another time", True)
        install(path, original.read_bytes())
    expect("both as in the beginning", False)

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
