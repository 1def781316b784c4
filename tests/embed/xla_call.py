"""tests/embed/xla_call.py -- a function of kiln's as an operation of JAX's, inside of jax.jit: XLA's custom call (xla_ffi.cpp)."""
import ctypes
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


_used = []


def built_library(jax):
    """LIBKILN_XLA_CALL, or compiled here with g++ against the headers that jaxlib brings."""
    if "LIBKILN_XLA_CALL" in os.environ:
        return os.environ["LIBKILN_XLA_CALL"]
    target = pathlib.Path(tempfile.mkdtemp(prefix="kiln-xla-")) / "libkiln_xla_call.so"
    command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{HERE.parents[1] / 'include'}", "-isystem", jax.ffi.include_dir(),
               str(HERE / "xla_ffi.cpp"), "-o", str(target), os.environ.get("LIBKILN", "libkiln.so.0")]
    subprocess.run(command, check=True)
    return str(target)


def register(jax):
    library = ctypes.CDLL(built_library(jax))
    for platform, symbol in (("cpu", "kiln_xla_cpu"), ("CUDA", "kiln_xla_cuda")):
        jax.ffi.register_ffi_target("kiln", jax.ffi.pycapsule(getattr(library, symbol)), platform=platform)


def operation(jax, function, result, *arrays, scalars=()):
    """`function`, a kiln.Jit of arrays and then floats, on arrays of JAX, traced or not."""
    import numpy as np
    codes = {"float32": (2, 32), "float64": (2, 64), "float16": (2, 16), "bfloat16": (4, 16), "int32": (0, 32)}
    key = [(a.ndim, *codes[a.dtype.name]) for a in arrays] + [12] * len(scalars)
    _used.append(function)  # programs of XLA's hold the address of its kernel
    kernel, _ = function._kernels.get(tuple(key)) or function._trace(tuple(key))
    call = jax.ffi.ffi_call("kiln", result)
    return call(*arrays, kernel=np.int64(kernel.value), scalars=np.asarray(scalars, np.float64))
