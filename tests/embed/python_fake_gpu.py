#!/usr/bin/env python3
"""tests/embed/python_fake_gpu.py FAKE_CUDA -- examples/python/kiln.py on the tests' CUDA driver, which computes nothing: which addresses
and streams CuPy's arrays give to a launch, and when JAX's tensors are let go. Both libraries are stand-ins with their attributes.

LIBKILN names libkiln.so. Exits with 77 without NumPy or NVRTC.
"""
import ctypes as C
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

if "FAKE_GPU_OF_TESTS" not in os.environ:  # the driver is found by its name when the process starts
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "libcuda.so.1").symlink_to(pathlib.Path(sys.argv[1]).resolve())
        changed = {"LD_LIBRARY_PATH": folder + ":" + os.environ.get("LD_LIBRARY_PATH", ""), "FAKE_GPU_OF_TESTS": "1",
                   "KILN_DEVICE": "cuda:0", "KILN_TUNE": "off"}
        sys.exit(subprocess.run([sys.executable, __file__], env={**os.environ, **changed}).returncode)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)
import kiln
from kiln_arrays import CUDA, TENSOR, check, lib, new_capsule

GPU = C.c_int64(CUDA)


def memory(shape, dtype, managed_tensors=[]):
    """A tensor of kiln's on the GPU; kept."""
    managed, extents = C.c_void_p(), (C.c_int64 * len(shape))(*shape)
    check(lib.kiln_tensor_create(GPU, None, C.c_int32(kiln.DTYPES.index(np.dtype(dtype).name)), extents, C.c_int32(len(shape)),
                                 C.byref(managed)))
    managed_tensors.append(managed)
    return TENSOR.unpack(C.string_at(managed.value + 32, TENSOR.size))[0]


# ------------------------------------------------------------------ a stand-in of CuPy
class ndarray:
    made = 0

    def __init__(self, shape, dtype=np.float32, ptr=None, strides=None):
        host = np.empty(shape, dtype)
        self.shape, self.dtype, self.strides = host.shape, host.dtype, strides or host.strides
        self.data = types.SimpleNamespace(ptr=memory(host.shape, dtype) if ptr is None else ptr, device_id=0)
        self.device = types.SimpleNamespace(id=0)
        ndarray.made += ptr is None

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "shape": self.shape, "strides": self.strides, "typestr": self.dtype.str,
                "data": (self.data.ptr, False), "stream": None}


ndarray.__module__ = "cupy"
stream, current = types.SimpleNamespace(ptr=0), [0]  # of the thread: stream, device
cupy = types.ModuleType("cupy")
cupy.ndarray = ndarray
cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: stream, runtime=types.SimpleNamespace(getDevice=lambda: current[0]))
cupy.from_dlpack = lambda result: ndarray(result.__cuda_array_interface__["shape"], result.__cuda_array_interface__["typestr"],
                                          result.__cuda_array_interface__["data"][0])
sys.modules["cupy"] = cupy


def state_of(function, *classes):
    plan = function._plans[classes]
    (home,) = plan.states.values()
    return plan, home[0][0]


class CuPy(unittest.TestCase):
    def setUp(self):
        self.axpy = kiln.jit(lambda a, x, y: a * x + y)
        pointer = C.c_void_p()
        check(lib.kiln_stream_create(GPU, C.byref(pointer)))
        stream.ptr = pointer.value

    def quickly(self, *arguments, **how):
        """The call must not take the long way."""
        long_way, kiln._step_by_step = kiln._step_by_step, None
        try:
            return self.axpy(*arguments, **how)
        finally:
            kiln._step_by_step = long_way

    def test_later_calls_give_their_own_addresses_numbers_and_stream(self):
        for make in (lambda: ndarray((6, 4)), lambda: ndarray((6, 4), strides=(4, 24)), lambda: ndarray((6, 4), strides=(32, 8))):
            self.axpy = kiln.jit(lambda a, x, y: a * x + y)
            self.axpy(1.0, make(), make(), out=make())
            x, y, z = make(), make(), make()
            first, stream.ptr = stream.ptr, 1
            self.assertIs(self.quickly(2.5, x, y, out=z), z)
            plan, words = state_of(self.axpy, ndarray, float, ndarray, ndarray)
            self.assertEqual([words[22 * i] for i in range(3)], [t.data.ptr for t in (x, y, z)])
            self.assertEqual(words[plan.record + 2], 1)
            self.assertEqual(C.c_double.from_buffer(words, 8 * 66).value, 2.5)
            for i in range(3):  # what the first call found out: shapes, and strides in elements
                rank, shape, strides = C.c_int32.from_buffer(words, 176 * i + 16).value, words[22 * i + 3], words[22 * i + 4]
                self.assertEqual(list((C.c_int64 * 2).from_address(shape)), [6, 4])
                self.assertEqual(rank, 2)
                self.assertEqual([4 * s for s in (C.c_int64 * 2).from_address(strides)], list(x.strides))
            self.quickly(1.0, x, y, out=z, stream=first)
            self.assertEqual(words[plan.record + 2], first)

    def test_results_come_from_cupys_memory_once_they_are_known(self):
        x = ndarray((5, 3))
        self.assertEqual(self.axpy(1.0, x, x).shape, (5, 3))  # kiln's memory
        made = ndarray.made
        result = self.quickly(3.0, x, x)
        self.assertEqual((result.shape, result.dtype, ndarray.made), ((5, 3), np.float32, made + 1))
        plan, words = state_of(self.axpy, type(None), float, ndarray, ndarray)
        self.assertEqual(words[44], result.data.ptr)
        current[0] = 1  # a new array would be on another device than the arguments
        try:
            self.assertRaises(TypeError, self.quickly, 3.0, x, x)
        finally:
            current[0] = 0

    def test_other_layouts_types_and_numbers_go_the_long_way_once(self):
        x, y = ndarray((8,)), ndarray((8,))
        self.axpy(1.0, x, x, out=y)
        for other in ((1.0, ndarray((9,)), ndarray((9,))), (1.0, ndarray((8,), np.float64), ndarray((8,), np.float64)),
                      (2**64 - 1, x, x), (1, x, x), (True, x, x), (2j, ndarray((8,), np.complex64), ndarray((8,), np.complex64))):
            out = ndarray(other[1].shape, other[1].dtype)
            self.assertRaises(TypeError, self.quickly, *other, out=out)
            self.axpy(*other, out=out)
            if other[0] != 2**64 - 1:  # which is not what other integers are
                self.quickly(*other, out=out)
        self.assertRaises(TypeError, self.quickly, 2**64 - 1, x, x, out=y)
        self.assertRaises(OverflowError, self.axpy, 2**64, x, x, out=y)

    def test_threads_have_states_of_their_own(self):
        arrays = [[ndarray((16,)) for _ in range(3)] for _ in range(8)]
        self.axpy(1.0, *arrays[0][:2], out=arrays[0][2])

        def work(mine):
            for i in range(300):
                self.axpy(float(i), mine[0], mine[1], out=mine[2])
        threads = [threading.Thread(target=work, args=(mine,)) for mine in arrays]
        [t.start() for t in threads], [t.join() for t in threads]
        (home,) = self.axpy._plans[ndarray, float, ndarray, ndarray].states.values()
        self.assertLessEqual(len(home), 9)
        self.assertEqual(len({id(state[0]) for state in home}), len(home))


# ------------------------------------------------------------------ a stand-in of JAX
_deleter_type = C.CFUNCTYPE(None, C.c_void_p)


class Array:
    """Gives tensors whose deleters count."""
    def __init__(self, shape, versioned=True):
        self.shape, self.versioned, self.deleted, self._given = shape, versioned, 0, []
        self.pointer = memory(shape, np.float32)

        def delete(_):
            self.deleted += 1
        self._delete = _deleter_type(delete)

    def __dlpack_device__(self): return CUDA, 0

    def __dlpack__(self, stream=None, max_version=None):
        self.stream, address = stream, C.cast(self._delete, C.c_void_p).value
        self._extents = (C.c_int64 * len(self.shape))(*self.shape)
        tensor = TENSOR.pack(self.pointer, CUDA, 0, len(self.shape), 2, 32, 1, C.addressof(self._extents), 0, 0)
        before = np.array([1 | 1 << 32, 0, address, 0], np.uint64).tobytes() if self.versioned else b""
        after = b"" if self.versioned else np.array([0, address], np.uint64).tobytes()
        self._given.append(C.create_string_buffer(before + tensor + after))
        return new_capsule(C.addressof(self._given[-1]), b"dltensor_versioned" if self.versioned else b"dltensor", None)

    def wait(self):
        end = time.monotonic() + 5
        while self.deleted == 0 and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(0.02)
        return self.deleted


Array.__module__ = "jaxlib.stand_in"
jax = types.ModuleType("jax")
jax.dlpack = types.SimpleNamespace(from_dlpack=lambda result: result)
sys.modules["jax"] = jax


class Jax(unittest.TestCase):
    def test_tensors_are_let_go_once_and_after_the_launch(self):
        twice = kiln.jit(lambda v: v * 2)
        for versioned in (True, False):
            for _ in range(3):
                x = Array((64,), versioned)
                result = twice(x)
                self.assertEqual(result.__dlpack_device__(), (CUDA, 0))
                self.assertEqual(x.stream, 1)
                self.assertEqual(x.wait(), 1)

    def test_they_are_let_go_where_the_call_fails(self):
        plus = kiln.jit(lambda a, b: a + b)
        x, y = Array((64,)), Array((63,), False)
        self.assertRaises(kiln.Error, plus, x, y)
        self.assertEqual([x.wait(), y.wait()], [1, 1])
        out = Array((64,))
        self.assertRaisesRegex(kiln.Error, "JAX's", plus, x, x, out=out)  # never written
        self.assertEqual(out.wait(), 1)


if __name__ == "__main__":
    try:
        kiln.jit(lambda v: v + 1)(ndarray((4,)))
    except kiln.Error as error:
        if "NVRTC" in str(error):
            print("skipped: no NVRTC here")
            sys.exit(77)
        raise
    unittest.main()
