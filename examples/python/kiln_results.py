"""examples/python/kiln_results.py -- what kiln.py returns: new memory of kiln's for any library that reads DLPack or the CUDA array
interface, and as an array of the library that the arguments came from.
"""
import atexit
import collections
import ctypes as C
import struct
import sys

from kiln_arrays import CUDA, LETTERS, TENSOR, Error, check, delete_managed as _delete, get_pointer as _get_pointer
from kiln_arrays import is_valid as _is_valid, lib, new_capsule as _new_capsule, root_of, word as _word

_py = C.pythonapi


class Result:
    """A new array in memory of kiln's, for any library that reads DLPack or the CUDA array interface."""

    def __init__(self, managed, stream):
        self._managed, self._stream = managed, stream
        self._tensor = TENSOR.unpack(C.string_at(managed + 32, TENSOR.size))

    def __del__(self):
        if _delete and sweep:  # else Python is ending
            _delete(self._managed, 16) if self._managed else sweep()

    def __reduce_ex__(self, protocol):  # a copy would free the same memory
        raise TypeError("a result of kiln's is not copied: give it to a library, as numpy.from_dlpack(result)")

    def __dlpack_device__(self):
        return self._tensor[1:3]

    def __dlpack__(self, *, stream=None, max_version=None, **_):
        if not self._managed:
            raise Error("this result was given to a library before")
        if self._tensor[1] == CUDA and stream != -1:
            check(lib.kiln_stream_order(CUDA | self._tensor[2] << 32, self._stream, stream))
        managed, self._managed = self._managed, None
        if max_version and max_version[0] >= 1:
            capsule, name = _new_capsule(managed, b"dltensor_versioned", None), b"dltensor_versioned"
        else:
            numbers = struct.pack("=QQ", managed, _address_of_free_legacy)
            old = _legacy[managed] = C.create_string_buffer(TENSOR.pack(*self._tensor) + numbers, 64)
            capsule, name = _new_capsule(C.addressof(old), b"dltensor", None), b"dltensor"
        _given.append((capsule, name))
        return capsule

    @property
    def __cuda_array_interface__(self):
        data, _, _, rank, code, bits, _, shape, strides, _ = self._tensor
        numbers = [(C.c_int64 * rank).from_address(a) if rank else () for a in (shape, strides)]
        return {"version": 3, "shape": tuple(numbers[0]), "strides": tuple(s * bits // 8 for s in numbers[1]),
                "typestr": f"<{LETTERS[code]}{bits // 8}", "data": (data, False), "stream": self._stream or 1}


# Capsules that consumers may not have taken. They have no destructor: consumers that refuse one drop it with an exception under
# way, and then ctypes can call no Python. The results look after them when they go.
_given = collections.deque()
_legacy = {}  # tensors in the form from before DLPack 1.0 that consumers still have


def _first(capsules):
    capsule, name = capsules.popleft()
    return capsule, name, sys.getrefcount(capsule)


_ALONE = _first(collections.deque([(object(), b"")]))[2]  # references to a capsule that nobody else has


def sweep():
    """Frees results in capsules that were dropped untaken."""
    for _ in range(len(_given)):
        try:
            capsule, name, references = _first(_given)
        except IndexError:  # another thread has it
            return
        untaken = _is_valid(id(capsule), name)  # consumers rename what they take
        if untaken and references > _ALONE:
            _given.append((capsule, name))
        elif untaken:
            _delete(_get_pointer(id(capsule), name), 56 if name == b"dltensor" else 16)


@C.CFUNCTYPE(None, C.c_void_p)
def _free_legacy(address, word=_word, delete=_delete, legacy=_legacy):
    managed = word(address + 48)
    delete(managed, 16)
    legacy.pop(managed, None)


@atexit.register
def _leave_what_is_left():
    """Consumers may drop tensors when Python is gone: then their deleter is a C function that does nothing."""
    nothing = C.cast(_py.Py_IsInitialized, C.c_void_p).value
    for old in list(_legacy.values()):
        C.c_uint64.from_address(C.addressof(old) + 56).value = nothing


for _kept in (_free_legacy, _legacy):  # and what is made later calls this: neither goes with the module
    _py.Py_IncRef(C.py_object(_kept))
_address_of_free_legacy = C.cast(_free_legacy, C.c_void_p).value


def _brain_floats(result):
    """A result of bfloat16 as NumPy's array with the type of ml_dtypes."""
    try:
        import ml_dtypes
    except ImportError:
        raise Error('NumPy has no bfloat16: return x.astype("float32"), or install ml_dtypes') from None
    C.c_uint8.from_address(result._managed + 32 + 20).value = 1  # unsigned integers of 16 bits
    result.__init__(result._managed, result._stream)
    return sys.modules["numpy"].from_dlpack(result).view(ml_dtypes.bfloat16)


def give(result, like):
    """The result as an array of the library that `like` is of."""
    root = root_of(type(like))
    if root in ("numba", "numba_cuda"):
        return sys.modules["numba.cuda"].as_cuda_array(result)
    if root == "numpy" and result._tensor[4] == 4:
        return _brain_floats(result)
    module = sys.modules["jax"].dlpack if root in ("jax", "jaxlib") else sys.modules.get(root)
    return module.from_dlpack(result) if hasattr(module, "from_dlpack") else result
