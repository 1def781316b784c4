#!/usr/bin/env python3
"""benchmarks/python_call.py [--elements N] [--seconds S] -- host time of one call from Python: kiln beside CuPy's
ElementwiseKernel, PyTorch and a raw cuLaunchKernel through ctypes, all of a * x + y on float32, in one run.

Prints the median and the least of the batches, in microseconds per call; a batch is short enough that the queue never fills.
LIBKILN names libkiln.so. Without a GPU the calls of NumPy's and PyTorch's CPU tensors are timed.
"""
import argparse
import ctypes
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples" / "python"))
import kiln


def optional(name):
    try:
        return __import__(name)
    except Exception:
        return None


def report(name, call, synchronize, seconds):
    for _ in range(20):
        call()
    synchronize()
    batch, batches, end = 200, [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(batches) < 5:
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        batches.append((time.perf_counter() - begin) / batch * 1e6)
        synchronize()
    print(f"{name:44} {statistics.median(batches):8.2f} us   least {min(batches):8.2f}")


SOURCE = """extern "C" __global__ void axpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}"""


def raw_launch(cupy, x, y, z, n):
    """cuLaunchKernel with its arguments packed beforehand: what no Python can be faster than."""
    function = cupy.RawModule(code=SOURCE).get_function("axpy").kernel.ptr
    values = [ctypes.c_uint64(v.data.ptr) for v in (x, y, z)] + [ctypes.c_float(2.0), ctypes.c_int(n)]
    pointers = (ctypes.c_void_p * 5)(*map(ctypes.addressof, values))
    launch = ctypes.CDLL("libcuda.so.1").cuLaunchKernel
    launch.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
    blocks = (n + 255) // 256
    return lambda: (launch(function, blocks, 1, 1, 256, 1, 1, 0, None, pointers, None), values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    n, seconds = options.elements, options.seconds
    axpy = kiln.jit(lambda a, x, y: a * x + y)
    numpy, torch, cupy = optional("numpy"), optional("torch"), optional("cupy")
    if cupy:
        x, y, z = (cupy.ones(n, cupy.float32) for _ in range(3))
        wait = cupy.cuda.runtime.deviceSynchronize
        kernel = cupy.ElementwiseKernel("float32 a, float32 x, float32 y", "float32 z", "z = a * x + y", "axpy")
        report("cuLaunchKernel, packed, ctypes", raw_launch(cupy, x, y, z, n), wait, seconds)
        report("CuPy ElementwiseKernel, out", lambda: kernel(2.0, x, y, z), wait, seconds)
        report("CuPy ElementwiseKernel", lambda: kernel(2.0, x, y), wait, seconds)
        report("kiln on CuPy arrays, out", lambda: axpy(2.0, x, y, out=z), wait, seconds)
        report("kiln on CuPy arrays", lambda: axpy(2.0, x, y), wait, seconds)
    device = "cuda" if torch and torch.cuda.is_available() else "cpu"
    if torch:
        x, y, z = (torch.ones(n, device=device) for _ in range(3))
        wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
        report(f"PyTorch add with alpha, out, {device}", lambda: torch.add(y, x, alpha=2.0, out=z), wait, seconds)
        report(f"PyTorch add with alpha, {device}", lambda: torch.add(y, x, alpha=2.0), wait, seconds)
        report(f"kiln on PyTorch tensors, out, {device}", lambda: axpy(2.0, x, y, out=z), wait, seconds)
        report(f"kiln on PyTorch tensors, {device}", lambda: axpy(2.0, x, y), wait, seconds)
    if numpy and os.environ.get("KILN_DEVICE", "cpu") == "cpu" and not cupy:
        x, y, z = (numpy.ones(n, numpy.float32) for _ in range(3))
        report("NumPy add, out (half of the work)", lambda: numpy.add(x, y, out=z), lambda: None, seconds)
        report("kiln on NumPy arrays, out", lambda: axpy(2.0, x, y, out=z), lambda: None, seconds)


if __name__ == "__main__":
    main()
