# tests/numpy/npy_numpy.py -- NumPy writes .npy files of every kind, kiln reads and writes them, NumPy compares every bit.
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    import numpy as np
except ImportError:
    print(f"SKIPPED: {sys.executable} cannot import numpy; run `./run deps`, or: {sys.executable} -m pip install numpy")
    sys.exit(SKIPPED)

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "V2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (1,), (0,), (7,), (3, 5), (3, 0, 2), (2, 3, 4), (1, 2, 1, 2, 1, 2, 1, 3)]


def random_array(generator, letters, shape):
    """Random bits: every NaN payload and subnormal must survive."""
    dtype = np.dtype("u2") if letters == "V2" else np.dtype(letters)
    count = int(np.prod(shape, dtype=np.int64))
    if letters == "?":
        return (generator.integers(0, 2, count) > 0).reshape(shape)
    bits = np.frombuffer(generator.bytes(count * dtype.itemsize), dtype=dtype)
    return bits.view("V2" if letters == "V2" else dtype).reshape(shape)


def bits(array):
    array = np.asarray(array, order="C")
    return array.astype(array.dtype.newbyteorder("=")).tobytes()


def write_inputs(folder):
    """Returns file name -> the array it holds."""
    generator = np.random.default_rng(20260)
    expected = {}
    for letters in TYPES:
        for number, shape in enumerate(SHAPES):
            for order in "CF":
                array = np.asarray(random_array(generator, letters, shape), order=order)
                expected[f"{letters.replace('?', 'b1')}_{number}_{order}.npy"] = array
        if np.dtype(letters).itemsize > 1 and letters != "V2":
            array = random_array(generator, letters, (4, 3))
            swapped = array.view(array.dtype.newbyteorder(">"))
            expected[f"{letters}_big.npy"] = swapped
            expected[f"{letters}_bigF.npy"] = np.asfortranarray(swapped)
    for name, array in expected.items():
        np.save(folder / name, array)
    for version in [(1, 0), (2, 0), (3, 0)]:
        name = f"version_{version[0]}.npy"
        expected[name] = np.arange(6, dtype="f4").reshape(2, 3)
        with open(folder / name, "wb") as file:
            np.lib.format.write_array(file, expected[name], version=version)
    return expected


def compare(name, got, want):
    problems = []
    if got.shape != want.shape:
        problems.append(f"shape {got.shape}, expected {want.shape}")
    if got.dtype != want.dtype.newbyteorder("="):
        problems.append(f"dtype {got.dtype}, expected {want.dtype}")
    if not problems and bits(got) != bits(want):
        problems.append("elements differ")
    return [f"{name}: {problem}" for problem in problems]


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as temporary:
        source, target = pathlib.Path(temporary, "in"), pathlib.Path(temporary, "out")
        source.mkdir()
        target.mkdir()
        expected = write_inputs(source)
        subprocess.run([program, str(source), str(target)], check=True)
        failures, compared = [], 0
        devices = sorted(folder.name for folder in target.iterdir())
        for device in devices:
            for name, want in expected.items():
                got = np.load(target / device / name, mmap_mode="r" if want.size else None)
                failures += compare(f"{device}/{name}", got, want)
                transposed = np.load(target / device / f"transposed_{name}")
                failures += compare(f"{device}/transposed_{name}", transposed, want.T)
                compared += 2
        print("\n".join(failures))
        print(f"NumPy {np.__version__}: {compared} files compared on {', '.join(devices)}, {len(failures)} failures")
        sys.exit(1 if failures or not devices else 0)


main()
