#!/usr/bin/env python3
"""tests/embed/python_clients.py -- examples/python/kiln.py on the CPU, with NumPy, PyTorch and JAX, whichever can be imported.

LIBKILN names libkiln.so. References are the libraries' own float64. Exits with 77 without NumPy; classes skip and say why.
"""
import array as standard_array
import concurrent.futures
import copy
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
os.environ.setdefault("KILN_DEVICE", "cpu")
try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy; ./run deps installs it into build/venv")
    sys.exit(77)
import kiln


def optional(name):
    try:
        return __import__(name)
    except ImportError:
        return None


torch, jax = optional("torch"), optional("jax")


@kiln.jit
def softmax(x):
    e = kiln.exp(x - kiln.max(x, -1, keepdims=True))
    return e / kiln.sum(e, -1, keepdims=True)


@kiln.jit
def axpy(a, x, y):
    return a * x + y


def reference_softmax(x):
    e = np.exp(np.float64(x) - np.float64(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class NumPy(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32)

    def test_python_numbers_keep_their_value(self):
        times = kiln.jit(lambda x, k: x * k)
        self.assertEqual(times(np.ones(2, np.uint64), 2**63).tolist(), [2**63] * 2)
        self.assertEqual(times(np.ones(2, np.int64), -(2**63)).tolist(), [-(2**63)] * 2)
        for number in (2**64, -(2**63) - 1, 2**70):
            with self.assertRaises(OverflowError):
                times(np.ones(3, np.float32), number)

    def test_constants_of_other_types_and_signs_are_other_traces(self):
        scaled = kiln.jit(lambda x, k=1: x * k)
        types = [scaled(np.arange(3), k=k).dtype for k in (1, 1.0, True, 1)]
        self.assertEqual(types, [np.int64, np.float64, np.int64, np.int64])
        self.assertEqual([bool(np.signbit(scaled(np.ones(1), k=k))[0]) for k in (0.0, -0.0, 0.0)], [False, True, False])

    def test_what_would_lose_something_is_refused(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        twice = kiln.jit(lambda v, k=1: v * 2)
        for call in (lambda: twice(np.ma.masked_array(x, mask=x > 2)), lambda: list(kiln.array(x)), lambda: twice(x, k=x),
                     lambda: kiln.jit(lambda v: sum(v))(x), lambda: kiln.jit(lambda v: 3)(x), lambda: kiln.array(x).astype("f128")):
            with self.assertRaises(TypeError):
                call()

    def test_scans_without_an_axis_and_types_by_their_names(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(kiln.cumsum(kiln.array(x)).eval(), np.cumsum(x))
        np.testing.assert_array_equal(kiln.cumsum(kiln.array(x), 1).eval(), np.cumsum(x, 1))
        for dtype in (np.float64, np.int32, int, float, bool, "float16", x.dtype):
            self.assertEqual(kiln.array(x).astype(dtype).eval().dtype, np.dtype(dtype))

    def test_traced_functions_and_views(self):
        for x in (self.x, self.x.T, self.x[::-1, ::2], self.x[:, None, :], np.broadcast_to(self.x[0], (3, 7))):
            result = softmax(x)
            self.assertIsInstance(result, np.ndarray)
            np.testing.assert_allclose(result, reference_softmax(x), rtol=1e-5)

    def test_numbers_are_run_time_parameters(self):
        for a in (2.0, -0.5, 3):
            np.testing.assert_allclose(axpy(a, self.x, self.x), a * self.x + self.x, rtol=1e-6)
        self.assertEqual(len([k for k in axpy._kernels if k[0] == 12 and k[1] == (2, 2, 32)]), 1, "one trace for all floats")

    def test_out_and_in_place(self):
        y = np.ones((5, 7), np.float32)
        self.assertIs(axpy(2.0, self.x, y, out=y), y)
        np.testing.assert_allclose(y, 2 * self.x + 1, rtol=1e-6)
        with self.assertRaisesRegex(kiln.Error, "shape"):
            axpy(2.0, self.x, self.x, out=np.empty((4, 4), np.float32))

    def test_read_only_arrays_are_read_and_not_written(self):
        self.x.flags.writeable = False
        np.testing.assert_allclose(axpy(1.0, self.x, self.x), 2 * self.x)
        with self.assertRaisesRegex(kiln.Error, "read-only"):
            axpy(1.0, self.x, self.x, out=self.x)

    def test_lazy_expressions(self):
        x = kiln.array(self.x)
        np.testing.assert_allclose((x * 2 + self.x).eval(), 3 * self.x, rtol=1e-6)
        np.testing.assert_allclose((self.x[0] - kiln.sqrt(abs(x))).eval(), self.x[0] - np.sqrt(abs(self.x)), rtol=1e-5)
        np.testing.assert_allclose(kiln.mean(x.T[1:, ::2] * x.T[1:, ::2], axis=0).eval(), (self.x.T[1:, ::2] ** 2).mean(0), rtol=1e-5)
        np.testing.assert_array_equal(x.eval(), self.x)
        np.testing.assert_array_equal((x > 0).astype("int32").eval(), (self.x > 0).astype(np.int32))

    def test_every_type_there_and_back(self):
        for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split():
            x = np.array([0, 1, 1, 0], name)
            result = kiln.jit(lambda v: kiln.where(v == v, v, v))(x)
            self.assertEqual(result.dtype, x.dtype)
            np.testing.assert_array_equal(result, x)

    def test_several_results_reductions_scans_and_constants(self):
        @kiln.jit
        def moments(x, axis=0):
            return kiln.mean(x, axis), kiln.var(x, axis, ddof=1), kiln.cumsum(x, axis=axis), kiln.argmax(x, axis)
        for axis in (0, 1):
            mean, var, cumsum, argmax = moments(self.x, axis=axis)
            wide = np.float64(self.x)
            np.testing.assert_allclose(mean, wide.mean(axis), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(var, wide.var(axis, ddof=1), rtol=1e-5)
            np.testing.assert_allclose(cumsum, wide.cumsum(axis), rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(argmax, self.x.argmax(axis))

    def test_scalars_empty_arrays_and_mistakes(self):
        self.assertEqual(float(axpy(2.0, np.float32(3), np.array(4, np.float32))), 10)
        self.assertEqual(axpy(2.0, np.empty((0, 3), np.float32), np.empty((0, 3), np.float32)).shape, (0, 3))
        with self.assertRaisesRegex(kiln.Error, "shape|broadcast"):
            axpy(1.0, self.x, np.ones(4, np.float32))
        for other in ("1", standard_array.array("f", [1, 2])):
            self.assertRaisesRegex(TypeError, "not (str|array)", axpy, other, self.x, self.x)
        with self.assertRaisesRegex(kiln.Error, ">f4"):
            axpy(1.0, self.x.astype(">f4"), self.x)
        with self.assertRaisesRegex(TypeError, "kiln.where"):
            kiln.jit(lambda v: v if v > 0 else -v)(self.x)
        np.testing.assert_allclose(axpy(1.0, self.x, self.x), 2 * self.x)

    def test_results_outlive_their_calls_and_are_freed_once(self):
        results = [axpy(float(i), self.x, self.x) for i in range(50)]
        for i, result in enumerate(results):
            np.testing.assert_allclose(result, (i + 1) * self.x, rtol=1e-5)
        axpy._plans.clear()  # so that results are of kiln's memory again
        raw = kiln.results.Result  # dropped unconsumed, as a capsule that nobody takes, and in the form before 1.0
        give, kept = kiln.calls.give, []
        try:
            kiln.calls.give = lambda result, like: kept.append(result) or result
            for _ in range(3):
                axpy(1.0, self.x, self.x), axpy._plans.clear()
        finally:
            kiln.calls.give = give
        self.assertIsInstance(kept[0], raw)
        del kept[0]
        kept.pop().__dlpack__(max_version=(1, 0))
        kept.pop().__dlpack__()
        kiln.results.sweep()
        self.assertEqual(kiln.results._legacy, {})

    def test_many_threads_call_one_function(self):
        function = kiln.jit(lambda x, a: kiln.tanh(x) * a)

        def work(seed):
            x = np.random.default_rng(seed).standard_normal((40, 30)).astype(np.float32)
            return all(np.allclose(function(x, float(i)), np.tanh(x) * i, rtol=1e-5, atol=1e-5) for i in range(100))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(work, range(8))), [True] * 8)

    def test_numpy_scalars_and_subclasses(self):
        minus = kiln.jit(lambda a, b: a - b)
        for kind in (np.float32, np.float64, np.int64, np.complex64):
            self.assertEqual(minus(kind(5), kind(3)), kind(2))
        lazy = np.float32(2) * kiln.array(self.x) + np.float32(5)
        np.testing.assert_allclose(lazy.eval(), 2 * self.x + 5, rtol=1e-6)
        self.assertIs(type(axpy(1.0, self.x.view(type("Mine", (np.ndarray,), {})), self.x)), np.ndarray)

    def test_refused_copied_and_late_results(self):
        brain = kiln.jit(lambda v: v.astype("bfloat16"))
        with unittest.mock.patch.object(kiln.results, "_delete", wraps=kiln.results._delete) as delete:
            for number in (1, 2):
                self.assertRaises((BufferError, RuntimeError), lambda: np.from_dlpack(brain(2.0)))
                self.assertEqual(delete.call_count, number)
            with unittest.mock.patch.dict(sys.modules, {"ml_dtypes": None}):
                self.assertRaisesRegex(kiln.Error, "NumPy has no bfloat16", brain, self.x)
            self.assertEqual(delete.call_count, 3)
        if optional("ml_dtypes"):
            self.assertEqual(brain(brain(self.x)).dtype.name, "bfloat16")
        for copied in (copy.copy, copy.deepcopy):
            self.assertRaisesRegex(TypeError, "not copied", copied, brain(2.0))
        late = ("import sys, numpy, kiln; r = kiln.jit(lambda v: v * 2)(2.0); old = lambda self, **_: r.__dlpack__()\n"
                "old = type('Old', (), {'__dlpack__': old, '__dlpack_device__': lambda self: (1, 0)})()\n"
                "sys.keep = numpy.kept = numpy.from_dlpack(old)")
        subprocess.run([sys.executable, "-c", late], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})

    def test_settings(self):
        x, s = np.ones((2, 3)), kiln.array(np.ones((2, 3)))
        self.assertEqual([kiln.sum(s, 1, True).eval().shape, kiln.sum(s, axis=[0]).eval().shape], [(2, 1), (3,)])
        self.assertEqual(kiln.jit(lambda v, axes: kiln.sum(v, axes))(x, axes=[0, 1]).shape, ())
        for error, call in ((TypeError, lambda: kiln.exp(s, axis=1)), (TypeError, lambda: kiln.cumsum(s, axis=(0, 1))),
                            (ValueError, lambda: kiln.sum(s, axis=())), (OverflowError, lambda: kiln.sum(s, 2**32 + 1).eval()),
                            (OverflowError, lambda: s[2**64 + 1:].eval()), (OverflowError, lambda: s.reshape(2**64 + 6).eval())):
            self.assertRaises(error, call)
        twice, destroyed = kiln.jit(functools.partial(lambda v, k: v * k, k=2)), []
        np.testing.assert_array_equal(twice(x), kiln.jit(twice)(x))
        self.assertIs(copy.deepcopy(twice), twice)
        twice.__del__(destroyed.append)
        self.assertEqual(len(destroyed), 1)


@unittest.skipUnless(torch, "this Python has no torch: pip install torch into ~/.cache/kiln-clients/venv")
class PyTorch(unittest.TestCase):
    def test_results_are_tensors(self):
        x = torch.randn(4, 6).t()
        result = axpy(0.5, x, x)
        self.assertIsInstance(result, torch.Tensor)
        torch.testing.assert_close(result, 1.5 * x)
        half = torch.randn(33).to(torch.bfloat16)
        doubled = kiln.jit(lambda v: v * 2)(half)
        self.assertEqual(doubled.dtype, torch.bfloat16)
        torch.testing.assert_close(doubled, half * 2)
        torch.testing.assert_close(axpy(2.0, x, x.clone(), out=torch.empty(6, 4)), 3 * x)

    def test_backward_in_kiln(self):
        torch.manual_seed(1)
        forward = kiln.jit(lambda x, b: kiln.sigmoid(x + b) * x)

        @kiln.jit
        def backward(x, b, gradient):
            s = kiln.sigmoid(x + b)
            db = gradient * x * s * (1 - s)
            return db + gradient * s, kiln.sum(db, 0)

        class Gate(torch.autograd.Function):
            @staticmethod
            def forward(context, x, b):
                context.save_for_backward(x, b)
                return forward(x, b)

            @staticmethod
            def backward(context, gradient):
                return backward(*context.saved_tensors, gradient.contiguous())

        x = torch.randn(8, 5, dtype=torch.float64, requires_grad=True)
        b = torch.randn(5, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(Gate.apply, (x, b)))
        Gate.apply(x, b).square().sum().backward()
        got = x.grad.clone(), b.grad.clone()
        x.grad = b.grad = None
        (torch.sigmoid(x + b) * x).square().sum().backward()
        torch.testing.assert_close(got, (x.grad, b.grad))
        with self.assertRaisesRegex(kiln.Error, "autograd.Function"):
            forward(x, b)


    def test_views_that_conjugate_or_negate_and_versions(self):
        z, same = torch.tensor([1 + 2j, 3 - 4j]), kiln.jit(lambda v: v * 1)
        for view in (z.conj(), z.conj().imag):
            torch.testing.assert_close(same(view), view.resolve_conj().resolve_neg())
            self.assertRaisesRegex(kiln.Error, "view", same, view.clone(), out=view)
        y = torch.ones(3, requires_grad=True).exp()
        same(torch.zeros(3), out=y.detach())
        self.assertRaisesRegex(RuntimeError, "inplace operation", y.sum().backward)


@unittest.skipUnless(jax, "this Python has no jax: pip install jax into ~/.cache/kiln-clients/venv")
class Jax(unittest.TestCase):
    def test_arrays_there_and_back(self):
        x = jax.numpy.arange(12, dtype=jax.numpy.float32).reshape(3, 4)
        result = axpy(0.5, x, x)
        self.assertIsInstance(result, jax.Array)
        np.testing.assert_allclose(result, 1.5 * np.asarray(x))
        self.assertRaisesRegex(kiln.Error, "JAX", axpy, 0.5, x, x, out=x)
        np.testing.assert_allclose(jax.jit(lambda v: v + 1)(softmax(x)), reference_softmax(np.asarray(x)) + 1, rtol=1e-5)

    @unittest.skipUnless(shutil.which("g++") and hasattr(jax, "ffi"), "needs g++ and a jax with jax.ffi")
    def test_custom_call_inside_of_jit(self):
        import xla_call
        xla_call.register(jax)
        fused = kiln.jit(lambda x, y, a: kiln.tanh(x * a) + y)
        x = jax.numpy.arange(12, dtype=jax.numpy.float32).reshape(3, 4)

        @jax.jit
        def program(x, y):
            like = jax.ShapeDtypeStruct(x.shape, x.dtype)
            return xla_call.operation(jax, fused, like, x * 2, y, scalars=(0.25,)) - 1
        np.testing.assert_allclose(program(x, x[0]), np.tanh(np.asarray(x) * 0.5) + np.asarray(x[0]) - 1, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
