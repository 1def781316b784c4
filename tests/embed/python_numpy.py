#!/usr/bin/env python3
"""tests/embed/python_numpy.py -- examples/python/kiln.py beside NumPy, operation by operation: takes, shifts, coordinates, random numbers,
scans, functions of functions; and arrays of every layout and type, in and out.

LIBKILN names libkiln.so. References are NumPy's own, of random numbers the definition. Exits with 77 without NumPy.
"""
import itertools
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
os.environ.setdefault("KILN_DEVICE", "cpu")
try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy; ./run deps installs it into build/venv")
    sys.exit(77)
import kiln

TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def small(shape, dtype=np.float32):
    """Different small numbers, exact in every type."""
    return (np.arange(np.prod(shape, dtype=int)) % 97).reshape(shape).astype(dtype)


class Operations(unittest.TestCase):
    def test_take(self):
        x, missing = small((4, 5)), lambda got, at: np.testing.assert_array_equal(np.isnan(got), at)
        for at in (np.array([3, 0, -1, 3]), np.array([[0, 1], [2, -4]]), np.array(2), np.empty(0, np.int64), np.array([1], np.uint8)):
            for axis in (0, 1, -1, None):
                got = kiln.jit(lambda v, i, a=axis: kiln.take(v, i, a))(x, at)
                np.testing.assert_array_equal(got, np.take(x, at, axis))
        far = np.array([7, -9, 1])
        for mode in ("clip", "wrap"):
            for axis in (0, 1, None):
                got = kiln.jit(lambda v, i, a=axis, m=mode: kiln.take(v, i, a, m))(x, far)
                want = np.take(x, np.clip(far, 0, x.size if axis is None else x.shape[axis]), axis, mode="clip") if mode == "clip" \
                    else np.take(x, far, axis, mode="wrap")
                np.testing.assert_array_equal(got, want)
        missing(kiln.jit(lambda v, i: kiln.take(v, i, 1))(x, far), np.broadcast_to([True, True, False], (4, 3)))
        integers = kiln.jit(lambda v, i: kiln.take(v, i, 0))(small(4, np.int16), far)
        np.testing.assert_array_equal(integers, np.array([0, 0, 1], np.int16))
        at = np.argsort(-x, 1)
        np.testing.assert_array_equal(kiln.jit(lambda v, i: kiln.take_along_axis(v, i, 1))(x, at), np.take_along_axis(x, at, 1))
        lazy = kiln.take(kiln.array(x) * 2 + 1, np.array([1, 0]), 0) - 1
        np.testing.assert_array_equal(lazy.eval(), np.take(x * 2, [1, 0], 0))
        for call in (lambda: kiln.take(kiln.array(x), far, 0, "nearest"), lambda: kiln.take(kiln.array(x), far, 5).eval(),
                     lambda: kiln.take(kiln.array(x), np.array([0.5]), 0).eval(), lambda: kiln.take(x, far)):
            self.assertRaises((ValueError, TypeError, kiln.Error), call)

    def test_shift(self):
        x = small((5, 6))
        pads = {"clamp": "edge", "wrap": "wrap", "reflect": "reflect", "symmetric": "symmetric"}
        for by, (mode, pad) in itertools.product(((1, 0), (0, -2), (2, 3), (-4, 4), (0, 0)), pads.items()):
            got = kiln.jit(lambda v, b=by, m=mode: kiln.shift(v, b, m))(x)
            room = [(max(d, 0), max(-d, 0)) for d in by]
            want = np.pad(x, room, mode=pad)
            want = want[tuple(slice(after, after + n) for (_, after), n in zip(room, x.shape))]
            np.testing.assert_array_equal(got, want, err_msg=f"{by} {mode}")
        filled = kiln.jit(lambda v: kiln.shift(v, (1, -1), fill=-5))(x)
        want = np.full_like(x, -5)
        want[1:, :-1] = x[:-1, 1:]
        np.testing.assert_array_equal(filled, want)
        np.testing.assert_array_equal(kiln.shift(kiln.array(x[0]), 2, "wrap").eval(), np.roll(x[0], 2))
        for call in (lambda: kiln.shift(kiln.array(x), (1, 2, 3)).eval(), lambda: kiln.shift(kiln.array(x), 1, "fill"),
                     lambda: kiln.shift(kiln.array(x), 1, "edge"), lambda: kiln.shift(kiln.array(x), (0.5, 1))):
            self.assertRaises((ValueError, TypeError, kiln.Error), call)

    def test_index(self):
        x = np.zeros((3, 4, 2), np.float32)
        for axis in range(-3, 3):
            got = kiln.jit(lambda v, a=axis: kiln.index(v, a))(x)
            self.assertEqual(got.dtype, np.int64)
            np.testing.assert_array_equal(got, np.indices(x.shape)[axis])
        lower = kiln.jit(lambda v: kiln.where(kiln.index(v, 0) >= kiln.index(v, 1), v, 0))(small((5, 5)))
        np.testing.assert_array_equal(lower, np.tril(small((5, 5))))
        for axis in (3, -4, 2**40):
            self.assertRaises((kiln.Error, OverflowError), kiln.jit(lambda v, a=axis: kiln.index(v, a)), x)

    def test_random_numbers(self):
        like, draw = np.empty((100, 200), np.float32), kiln.jit(lambda v, key: (kiln.uniform(v, key), kiln.normal(v, key, "float64")))
        uniform, normal = draw(like, 7)
        again, other = draw(np.empty(20000, np.float32), 7), draw(like, 8)
        np.testing.assert_array_equal(uniform.ravel(), again[0])  # the number of an element counts, not the shape
        np.testing.assert_array_equal(normal.ravel(), again[1])
        self.assertEqual((uniform.dtype, normal.dtype), (np.float32, np.float64))
        self.assertTrue((uniform >= 0).all() and (uniform < 1).all())
        self.assertLess((uniform == other[0]).mean(), 0.001)
        n = like.size  # five standard errors
        self.assertLess(abs(uniform.mean(dtype=float) - 0.5), 5 / np.sqrt(12 * n))
        self.assertLess(abs(normal.mean()), 5 / np.sqrt(n))
        self.assertLess(abs(normal.var() - 1), 5 * np.sqrt(2 / n))
        self.assertRaises(kiln.Error, kiln.jit(lambda v: kiln.uniform(v, 1, "int32")), like)
        self.assertRaises(kiln.Error, kiln.jit(lambda v: kiln.normal(v, 0.5)), like)

    def test_scans(self):
        x = small((3, 4, 5), np.float64) - 40
        for name, ufunc in {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}.items():
            for axis in (-3, -1, 0, 1, 2):
                got = kiln.jit(lambda v, a=axis, n=name: getattr(kiln, n)(v, a))(x)
                np.testing.assert_allclose(got, ufunc.accumulate(x, axis), rtol=1e-13)
            got = kiln.jit(lambda v, n=name: getattr(kiln, n)(v))(x)
            np.testing.assert_allclose(got, ufunc.accumulate(x.ravel()), rtol=1e-13)
        for dtype in ("int8", "uint16", "bool", "int64"):
            values = small(50, dtype)
            got = kiln.jit(lambda v: kiln.cumsum(v, 0))(values)
            self.assertEqual(got.dtype, np.cumsum(values).dtype)
            np.testing.assert_array_equal(got, np.cumsum(values))
        self.assertEqual(kiln.jit(lambda v: kiln.cumsum(v, 1))(np.empty((3, 0))).shape, (3, 0))

    def test_functions_of_functions(self):
        """A loop of the traced function runs when it is traced; functions call functions."""
        def newton(v, n):
            root = v * 0 + 1
            for _ in range(n):
                root = 0.5 * (root + v / root)
            return root
        x = np.linspace(0.5, 3, 40)
        np.testing.assert_allclose(kiln.jit(newton)(x, n=6), np.sqrt(x), rtol=1e-12)
        inner = kiln.jit(lambda a, b: a * b + 1)
        outer = kiln.jit(lambda a: inner._function(a, a) - inner._function(a, 2.0))
        np.testing.assert_allclose(outer(x), x * x - 2 * x, rtol=1e-12, atol=1e-15)
        many = kiln.jit(lambda a: [a + i for i in range(20)])(x)
        self.assertEqual(len(many), 20)
        for i, result in enumerate(many):
            np.testing.assert_array_equal(result, x + i)

    def test_reductions_of_every_axis(self):
        x = small((2, 3, 4), np.float64) - 5
        for name in "sum prod max min mean var std any all argmax argmin count_nonzero".split():
            for axis in (None, 0, -1, 1):
                want = getattr(np, name)(x, axis)
                got = kiln.jit(lambda v, a=axis, n=name: getattr(kiln, n)(v, a))(x)
                np.testing.assert_allclose(got, want, rtol=1e-13, err_msg=f"{name} {axis}")
        np.testing.assert_allclose(kiln.jit(lambda v: kiln.sum(v, (0, 2), keepdims=True))(x), x.sum((0, 2), keepdims=True))


def layouts(dtype):
    """One array in every layout that NumPy makes; elements differ."""
    a = small((4, 6), dtype)
    yield "C order", a
    yield "Fortran order", np.asfortranarray(a)
    yield "transposed", a.T
    yield "every second", small((8, 12), dtype)[::2, 1::2]
    yield "backwards", a[::-1, ::-1]
    yield "backwards along one axis", a[:, ::-1]
    yield "broadcast rows", np.broadcast_to(a[0], (4, 6))
    yield "broadcast element", np.broadcast_to(a[1, 1], (3, 2))
    yield "no axes", np.array(a[1, 2])
    yield "one element", a[1:2, 2:3]
    yield "empty", a[:0]
    yield "empty inside", a[:, 3:3]
    yield "empty backwards", a[:0][::-1]
    yield "eight axes", small((1, 2, 1, 3, 1, 2, 1, 2), dtype).transpose(7, 0, 5, 3, 1, 2, 4, 6)
    frozen = a.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    yield "field of records", np.rec.fromarrays([a, a], names="p,q").view(np.ndarray)["q"]


class Layouts(unittest.TestCase):
    same = staticmethod(kiln.jit(lambda v: kiln.where(v == v, v, v)))

    def test_arrays_in(self):
        for dtype in TYPES:
            for name, x in layouts(dtype):
                for _ in range(2):  # the first call, and one that goes the short way
                    got = self.same(x)
                    self.assertEqual((got.dtype, got.shape), (x.dtype, x.shape), f"{name} {dtype}")
                    np.testing.assert_array_equal(got, x, err_msg=f"{name} {dtype}")

    def test_arrays_out(self):
        for dtype in TYPES:
            for name, out in layouts(dtype):
                x = np.array(out)
                base = out
                while base.base is not None and isinstance(base.base, np.ndarray):
                    base = base.base
                if "broadcast" in name or not out.flags.writeable:
                    before = base.copy()
                    self.assertRaises(kiln.Error, self.same, x, out=out)
                    np.testing.assert_array_equal(base, before)
                    continue
                outside = base.copy() if name == "every second" else None
                out[...] = 0
                for _ in range(2):
                    self.assertIs(self.same(x, out=out), out)
                    np.testing.assert_array_equal(out, x, err_msg=f"{name} {dtype}")
                if outside is not None:
                    np.testing.assert_array_equal(base, outside)  # what lies between is the caller's

    def test_out_that_overlaps_an_argument(self):
        room = small(20, np.float64)
        room_before = room.copy()
        double = kiln.jit(lambda v: v * 2)
        double(room[:-1], out=room[1:])
        np.testing.assert_array_equal(room[1:], room_before[:-1] * 2)
        square = small((5, 5), np.float64)
        before = square.copy()
        kiln.jit(lambda v: v + 1)(square.T, out=square)
        np.testing.assert_array_equal(square, before.T + 1)

    def test_types_that_kiln_has_not(self):
        refused = {"<M8[s]": "M8", "<m8[ns]": "m8", ">f4": ">f4", ">i8": ">i8", "O": "O", "<U3": "U3", "S4": "S4", "V8": "V8"}
        for typestr, named in refused.items():
            for x in (np.zeros(3, typestr), np.zeros((), typestr), np.zeros((0, 2), typestr)):
                with self.assertRaises((kiln.Error, TypeError)) as caught:
                    self.same(x)
                self.assertIn(named, str(caught.exception), typestr)
        record = np.zeros(3, [("a", "f4"), ("b", "i4")])
        self.assertRaises((kiln.Error, TypeError), self.same, record)
        long_double = np.zeros(3, np.longdouble)
        if long_double.dtype.itemsize > 8:
            with self.assertRaisesRegex(kiln.Error, "128 bits"):
                self.same(long_double)
            with self.assertRaisesRegex(kiln.Error, "256 bits|c32"):
                self.same(np.zeros(3, np.clongdouble))
        self.assertRaises((kiln.Error, TypeError), self.same, np.zeros(3), out=np.zeros(3, ">f8"))
        with self.assertRaisesRegex(kiln.Error, "type"):
            self.same(np.zeros(3), out=np.zeros(3, np.complex64))

    def test_arrays_that_no_kernel_reads(self):
        unaligned = np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float64)
        self.assertFalse(unaligned.flags.aligned)
        packed = np.zeros(3, np.dtype([("a", "i1"), ("b", "f8")]))["b"]  # 9 bytes from one to the next
        for x in (unaligned, packed, np.zeros((1,) * 9)):
            self.assertRaises(kiln.Error, self.same, x)
            self.assertRaises(kiln.Error, self.same, np.zeros(x.shape), out=x)
        np.testing.assert_array_equal(self.same(np.ascontiguousarray(packed)), np.zeros(3))

    def test_numpy_scalars_and_lists(self):
        add = kiln.jit(lambda a, b: a + b)
        for dtype in TYPES:
            got = add(np.dtype(dtype).type(1), np.ones((), dtype))
            self.assertEqual((got.shape, got.dtype), ((), np.dtype(dtype)), dtype)
        for other in ([1.0, 2.0], (1, 2), None, "x", b"x", {}, object()):
            with self.assertRaisesRegex(TypeError, type(other).__name__):
                add(np.ones(2), other)


if __name__ == "__main__":
    unittest.main()
