#!/usr/bin/env python3
"""tests/embed/gpu_clients.py -- examples/python/kiln.py on a GPU: PyTorch on its streams, in its graphs and under autograd, CuPy,
JAX through DLPack and as a custom call, Numba through the CUDA array interface. LIBKILN names libkiln.so.

What cannot be imported is skipped by name; exits with 1 where nothing could be tested.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "examples" / "python")]
os.environ.setdefault("KILN_DEVICE", "cuda:0")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # beside three other libraries on one GPU


def optional(name):
    try:
        return __import__(name, fromlist=["*"])
    except Exception as error:  # a library may be there and not fit the driver
        print(f"{name} is left out: {error}")
        return None


np = optional("numpy")
import kiln  # noqa: E402

torch, cupy, jax, cuda = optional("torch"), optional("cupy"), optional("jax"), optional("numba.cuda")
SLOW = 1 << 25  # elements that keep an H200 busy for a while


@kiln.jit
def axpy(a, x, y):
    return a * x + y


@kiln.jit
def softmax(x):
    e = kiln.exp(x - kiln.max(x, -1, keepdims=True))
    return e / kiln.sum(e, -1, keepdims=True)


@unittest.skipUnless(torch and torch.cuda.is_available(), "PyTorch with CUDA")
class PyTorch(unittest.TestCase):
    def test_values_types_and_views(self):
        x = torch.randn(300, 200, device="cuda")
        for view in (x, x.t(), x[::3, ::2], x[:, :1].expand(300, 40)):
            torch.testing.assert_close(softmax(view), torch.softmax(view, -1))
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            y = x.to(dtype)
            torch.testing.assert_close(kiln.jit(lambda v: v * 2)(y), y * 2)
            self.assertEqual(softmax(y).dtype, dtype)
        self.assertEqual(softmax(x).device, x.device)

    def test_runs_on_torchs_current_stream_without_waiting(self):
        stream = torch.cuda.Stream()
        x = torch.ones(SLOW, device="cuda")
        axpy(1.0, x, x)  # compiled
        torch.cuda.synchronize()
        for repeat in range(10):
            with torch.cuda.stream(stream):
                y = torch.zeros(SLOW, device="cuda")
                for _ in range(20):
                    y.add_(1.0)  # still queued when kiln is called
                z = axpy(2.0, y, x)
                busy = not stream.query()
            torch.cuda.current_stream().wait_stream(stream)
            self.assertEqual(float(z[123]), 41.0)
            if busy:
                return
        self.fail("the stream was idle after each of 10 calls: kiln, or something before it, waits")

    def test_an_explicit_stream(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        x = torch.full((1000,), 3.0, device="cuda")
        torch.cuda.synchronize()
        out = axpy(2.0, x, x, stream=stream if hasattr(stream, "__cuda_stream__") else stream.cuda_stream)
        stream.synchronize()
        torch.testing.assert_close(out, torch.full_like(x, 9.0))

    def test_inside_of_torchs_graph(self):
        x, y, z = (torch.zeros(4096, device="cuda") for _ in range(3))
        total = torch.zeros((), device="cuda")
        summed = kiln.jit(lambda v: kiln.sum(v * v))
        axpy(2.0, x, y, out=z), summed(z, out=total)  # loaded; a first call in the capture would work, too
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            axpy(2.0, x, y, out=z)
            softmax(z.view(64, 64), out=z.view(64, 64))  # not loaded before
            summed(x, out=total)
        for value in (1.0, -2.0, 3.0):
            x.fill_(value)
            y.copy_(torch.arange(4096, device="cuda") * 0.01)
            graph.replay()
            torch.cuda.synchronize()
            torch.testing.assert_close(z.view(64, 64), torch.softmax((2 * x + y).view(64, 64), -1))
            self.assertEqual(float(total), 4096 * value * value)

    def test_backward_in_kiln(self):
        forward = kiln.jit(lambda x, b: kiln.silu(x + b))

        @kiln.jit
        def backward(x, b, gradient):
            s = kiln.sigmoid(x + b)
            dx = gradient * s * (1 + (x + b) * (1 - s))
            return dx, kiln.sum(dx, 0)

        class BiasSilu(torch.autograd.Function):
            @staticmethod
            def forward(context, x, b):
                context.save_for_backward(x, b)
                return forward(x, b)

            @staticmethod
            def backward(context, gradient):
                return backward(*context.saved_tensors, gradient)
        x = torch.randn(64, 33, device="cuda", dtype=torch.float64, requires_grad=True)
        b = torch.randn(33, device="cuda", dtype=torch.float64, requires_grad=True)
        BiasSilu.apply(x, b).square().sum().backward()
        got = x.grad.clone(), b.grad.clone()
        x.grad = b.grad = None
        torch.nn.functional.silu(x + b).square().sum().backward()
        torch.testing.assert_close(got, (x.grad, b.grad))

    def test_memory_is_reused_in_order(self):
        x = torch.ones(1 << 20, device="cuda")
        for i in range(200):
            a = axpy(float(i), x, x)
            b = axpy(1.0, a, a)
            del a  # its memory may be given to the next result, after b was computed
            self.assertEqual(float(b[7]), 2 * (i + 1)) if i % 50 == 0 else None


@unittest.skipUnless(cupy, "CuPy")
class CuPy(unittest.TestCase):
    def test_values_and_streams(self):
        x = cupy.random.standard_normal((300, 200)).astype(cupy.float32)
        for view in (x, x.T, x[::3, ::-2]):
            result = softmax(view)
            self.assertIsInstance(result, cupy.ndarray)
            e = cupy.exp(view - view.max(-1, keepdims=True))
            cupy.testing.assert_allclose(result, e / e.sum(-1, keepdims=True), rtol=1e-4)
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            y = cupy.zeros(SLOW, cupy.float32)
            for _ in range(20):
                y += 1
            z = axpy(2.0, y, y)
        stream.synchronize()
        self.assertEqual(float(z[99]), 60.0)
        out = cupy.empty_like(x)
        self.assertIs(axpy(2.0, x, x, out=out), out)
        cupy.testing.assert_allclose(out, 3 * x, rtol=1e-6)


@unittest.skipUnless(cupy, "CuPy")
class CuPyAgain(unittest.TestCase):
    """Calls with layouts that are known run other lines than first ones."""

    def test_values_streams_and_layouts_in_turn(self):
        base = cupy.arange(600, dtype=cupy.float32).reshape(20, 30)
        views, streams = (base, base[::2, 1:], base.T, base[5]), (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.null)
        for i in range(40):
            view, stream = views[i % 4], streams[i // 4 % 2]
            with stream:
                x = view * i
                result, out = axpy(2.0, x, view), cupy.empty(view.shape, cupy.float32)
                self.assertIs(axpy(float(i), x, view, out=out), out)
            stream.synchronize()
            cupy.testing.assert_allclose(result, 2 * view * i + view, rtol=1e-6)
            cupy.testing.assert_allclose(out, i * view * i + view, rtol=1e-6)
        self.assertGreaterEqual(len(axpy._plans), 2)


def has_gpu(library):
    try:
        return bool(library and library.devices("gpu"))
    except RuntimeError:
        return False


@unittest.skipUnless(has_gpu(jax), "JAX with a GPU")
class Jax(unittest.TestCase):
    def test_through_dlpack(self):
        x = jax.numpy.arange(60000, dtype=jax.numpy.float32).reshape(300, 200) / 1e4
        for _ in range(20):
            result = softmax(jax.numpy.sin(x) + 1)  # queued on a stream of XLA's
            self.assertIsInstance(result, jax.Array)
            np.testing.assert_allclose(jax.jit(lambda v: v * 2)(result), 2 * jax.nn.softmax(jax.numpy.sin(x) + 1), rtol=1e-4)
            del result

    def test_memory_that_jax_reuses_at_once(self):
        twice = kiln.jit(lambda v: v * 2 + kiln.tanh(v) * 0)
        for i in range(30):
            x = jax.numpy.full((SLOW,), float(i), jax.numpy.float32)
            result = twice(x)  # queued; from here on nobody but kiln holds x
            del x
            jax.numpy.full((SLOW,), -1.0, jax.numpy.float32)  # may be given its memory
            self.assertEqual((float(result[3]), float(result[-1])), (2.0 * i, 2.0 * i))

    @unittest.skipUnless("LIBKILN_XLA_CALL" in os.environ, "LIBKILN_XLA_CALL does not name libkiln_xla_call.so")
    def test_custom_call_inside_of_jit(self):
        import xla_call
        xla_call.register(jax)
        fused = kiln.jit(lambda x, y, a: kiln.tanh(x * a) + y)

        @jax.jit
        def program(x, y):
            return xla_call.operation(jax, fused, jax.ShapeDtypeStruct(x.shape, x.dtype), x * 2, y, scalars=(0.25,)) - 1
        x = jax.numpy.arange(12000, dtype=jax.numpy.float32).reshape(30, 400) / 1e3
        for _ in range(5):  # XLA may capture the later ones into a CUDA graph
            np.testing.assert_allclose(program(x, x[0]), np.tanh(np.asarray(x) * 0.5) + np.asarray(x[0]) - 1, rtol=1e-5, atol=1e-5)


@unittest.skipUnless(cuda and cuda.is_available(), "Numba with CUDA")
class Numba(unittest.TestCase):
    def test_device_arrays(self):
        host = np.linspace(-1, 1, 6000, dtype=np.float32).reshape(60, 100)
        x = cuda.to_device(host)
        result = axpy(2.0, x, x)
        self.assertTrue(cuda.is_cuda_array(result))
        np.testing.assert_allclose(result.copy_to_host(), 3 * host, rtol=1e-6)
        stream = cuda.stream()
        on_stream = cuda.to_device(host, stream=stream)
        out = cuda.device_array_like(host, stream=stream)
        axpy(-1.0, on_stream, on_stream, out=out)
        stream.synchronize()
        cuda.synchronize()
        np.testing.assert_array_equal(out.copy_to_host(), np.zeros_like(host))


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    tested = program.result.testsRun - len(program.result.skipped)
    print(f"{tested} tested, {len(program.result.skipped)} skipped")
    sys.exit(0 if program.result.wasSuccessful() and tested > 0 else 1)
