"""examples/python/kiln_arrays.py -- arrays of NumPy, PyTorch, CuPy, JAX and Numba as DLPack's tensors, and back: for kiln.py.

Read through DLPack's table of C functions where the library has it (no capsule, no synchronisation, its current stream),
else through NumPy's or CUDA's array interface or a DLPack capsule.
"""
import atexit
import collections
import ctypes as C
import functools
import os
import struct
import sys

lib, _py = C.CDLL(os.environ.get("LIBKILN", "libkiln.so.0")), C.pythonapi
lib.kiln_last_error.restype = C.c_char_p
lib.kiln_launch.argtypes = [C.c_void_p, C.c_void_p, *[C.c_void_p, C.c_size_t] * 3]
lib.kiln_launch_new.argtypes = lib.kiln_launch.argtypes
lib.kiln_stream_order.argtypes = [C.c_int64, C.c_void_p, C.c_void_p]  # a kiln_dl_device is passed in one register
_CPU, _CUDA, SLOTS = 1, 2, 32  # the last: tensors of one call
_TENSOR = struct.Struct("=QiiiBBHQQQ")  # DLTensor: data, device type and number, ndim, code, bits, lanes, shape, strides, offset
SLOT = _TENSOR.size + 16 * 8  # a tensor with its shape and strides
_LETTERS = "iuf?Vcb"  # NumPy's kinds by DLPack's type codes; 3 is none
_TYPESTR = {f"<{_LETTERS[c]}{b // 8}": (c, b) for c in (0, 1, 2, 5) for b in (8, 16, 32, 64, 128)}
_TYPESTR.update({"|b1": (6, 8), "|i1": (0, 8), "|u1": (1, 8), "<V2": (4, 16)})
_LIBRARIES = {"numpy", "torch", "cupy", "jax", "jaxlib", "numba", "numba_cuda"}
readers = {}  # by class
written = {}  # by class: what to call with an array that kiln wrote
_streams = {}  # by number: results may outlive the program's last reference to the stream that they were made on


class Error(RuntimeError):
    """What kiln has to say about a call that failed."""


def check(status):
    if status:
        raise Error(lib.kiln_last_error().decode())


def kept_stream(stream, attribute):
    number = getattr(stream, attribute) if attribute else stream.__cuda_stream__()[1]
    _streams[number] = stream
    return number


@functools.lru_cache(None)
def _root(kind):
    """The library that a class is of, or that the class it derives from is of."""
    roots = [c.__module__.partition(".")[0] for c in kind.__mro__]
    return next((r for r in roots if r in _LIBRARIES), roots[0])


def scalar(number):
    """kiln's type of a Python number, and the number in memory."""
    kind = type(number)
    if kind is float: return 12, C.c_double(number)
    if kind is bool: return 0, C.c_uint8(number)
    if kind is int and -2**63 <= number < 2**63: return 4, C.c_int64(number)
    if kind is int and 0 <= number < 2**64: return 8, C.c_uint64(number)
    if kind is int: raise OverflowError(f"{number} fits no integer of 64 bits; write a float")
    if kind is complex: return 14, (C.c_double * 2)(number.real, number.imag)
    raise TypeError(f"kiln takes arrays and Python numbers, not {kind.__name__}")


class Scratch:
    """Memory for the tensors of one call, and the addresses of all."""

    def __init__(self):
        self.memory = C.create_string_buffer(SLOT * SLOTS)
        self.base = C.addressof(self.memory)
        self.pointers = (C.c_void_p * SLOTS)(*range(self.base, self.base + SLOT * SLOTS, SLOT))
        self.outputs = C.addressof(self.pointers)


# A reader writes a DLTensor to an address and returns what keeps it alive, why it is not written (or False), and the stream.
_Capsule = C.PYFUNCTYPE(C.c_void_p, C.c_void_p, C.c_char_p)
_get_pointer, _is_valid = _Capsule(("PyCapsule_GetPointer", _py)), _Capsule(("PyCapsule_IsValid", _py))
_Deleter = C.CFUNCTYPE(None, C.c_void_p)
_new_capsule = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(("PyCapsule_New", _py))


def _word(address):
    return C.c_uint64.from_address(address).value


def _delete(managed, place):
    if _word(managed + place):
        _Deleter(_word(managed + place))(managed)


def _resolved(x, stream):
    """A copy of PyTorch's tensor, and why it cannot be written: DLPack has no word for views that conjugate or negate what is there."""
    if x.is_cuda and stream not in (None, sys.modules["torch"].cuda.current_stream(x.device).cuda_stream):
        raise Error("a conjugated or negated view and another stream than PyTorch's: call resolve_conj(), resolve_neg() before")
    return x.resolve_conj().resolve_neg(), "is a conjugated or negated view of its elements"


def _through_table(api, is_torch):
    """DLPack's table of C functions (1.3): no capsule, no synchronisation, the stream included."""
    table = _get_pointer(id(api), b"dlpack_exchange_api")
    fill = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_void_p)(_word(table + 40))
    ask = C.CFUNCTYPE(C.c_int, C.c_int, C.c_int32, C.c_void_p)(_word(table + 48))

    def read(x, at, stream):
        if getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
            raise Error("this tensor wants a gradient: call kiln inside of a torch.autograd.Function, or x.detach()")
        x, why = _resolved(x, stream) if is_torch and (x.is_neg() or x.is_conj()) else (x, False)
        fill(x, at)
        if stream is None and C.c_int32.from_address(at + 8).value == _CUDA:
            current = C.c_uint64()
            ask(_CUDA, C.c_int32.from_address(at + 12), C.addressof(current))
            stream = current.value
        return x, why, stream
    return read


@functools.lru_cache(None)
def _packer(rank):
    return struct.Struct(f"=QiiiBBHQQQ{rank}q{rank}q").pack


def _through_interface(x, at, stream):
    """NumPy's array interface, or CUDA's: numbers in a dictionary."""
    on_gpu = not hasattr(x, "__array_interface__")
    d = x.__cuda_array_interface__ if on_gpu else x.__array_interface__
    shape, steps, typestr = d["shape"], d.get("strides"), d["typestr"]
    if typestr not in _TYPESTR or d.get("mask") is not None or len(shape) > 8:
        raise Error(f"kiln has no elements of type {typestr}, no masked arrays, and at most 8 axes")
    rank, device, (code, bits) = len(shape), 0, _TYPESTR[typestr]
    if steps and any(s * 8 % bits for s in steps):
        raise Error(f"strides {steps} are not multiples of an element's {bits // 8} bytes")
    strides = [s * 8 // bits for s in steps] if steps else shape
    if on_gpu:
        root, producer = _root(type(x)), d.get("stream")
        device = x.device.id if root == "cupy" else sys.modules["numba.cuda"].get_current_device().id
        if stream is None:
            stream = kept_stream(sys.modules["cupy"].cuda.get_current_stream(), "ptr") if root == "cupy" else 1
        if producer is not None and producer != stream:
            check(lib.kiln_stream_order(_CUDA | device << 32, producer, stream))
    packed = _packer(rank)(d["data"][0] or 0, _CUDA if on_gpu else _CPU, device, rank, code, bits, 1, at + 48,
                           at + 48 + 8 * rank if steps else 0, 0, *shape, *strides)
    C.memmove(at, packed, len(packed))
    return x, d["data"][1], stream


def _through_scalar(x, at, stream):
    """NumPy's scalars give the address of an array that is gone by then."""
    x = sys.modules["numpy"].asarray(x)
    return x, "is a NumPy scalar", _through_interface(x, at, stream)[2]


def _through_capsule(x, at, stream):
    (kind, index), root = map(int, x.__dlpack_device__()), _root(type(x))
    x, why = _resolved(x, stream) if root == "torch" and (x.is_neg() or x.is_conj()) else (x, False)
    if kind == _CUDA and stream is None:
        stream = sys.modules["torch"].cuda.current_stream(index).cuda_stream if root == "torch" else 1
    wanted = None if kind != _CUDA else -1 if root == "torch" else stream or 1
    try:
        capsule = x.__dlpack__(stream=wanted, max_version=(1, 1))
    except TypeError:  # from before DLPack 1.0
        capsule = x.__dlpack__(stream=wanted)
    versioned = _is_valid(id(capsule), b"dltensor_versioned")
    managed = _get_pointer(id(capsule), b"dltensor_versioned" if versioned else b"dltensor")
    if versioned and C.c_uint32.from_address(managed).value != 1:
        raise Error("a tensor of another major version of DLPack than 1")
    C.memmove(at, managed + (32 if versioned else 0), _TENSOR.size)
    if root in ("jax", "jaxlib"):
        why = "is JAX's, whose arrays never change"
    return capsule, why or bool(versioned and _word(managed + 24) & 1), stream


def reader_of(kind):
    return readers.setdefault(kind, _new_reader(kind))


def _new_reader(kind):
    api, root = getattr(kind, "__dlpack_c_exchange_api__", None), _root(kind)
    if any(c.__name__ == "MaskedArray" for c in kind.__mro__):
        raise TypeError("a masked array would lose its mask: pass x.filled(value), or its data and mask as two arrays")
    if root == "torch":  # autograd looks at a counter of what was written
        written[kind] = getattr(sys.modules["torch"].autograd.graph, "increment_version", lambda x: None)
    if api is not None:
        return _through_table(api, root == "torch")
    if root == "numpy" and issubclass(kind, sys.modules["numpy"].generic):
        return _through_scalar
    if root == "numpy" or (root in ("cupy", "numba", "numba_cuda") and hasattr(kind, "__cuda_array_interface__")):
        return _through_interface
    if hasattr(kind, "__dlpack__"):
        return _through_capsule
    raise TypeError(f"kiln takes arrays and Python numbers, not {kind.__name__}")


class Result:
    """A new array in memory of kiln's, for any library that reads DLPack or the CUDA array interface."""

    def __init__(self, managed, stream):
        self._managed, self._stream = managed, stream
        self._tensor = _TENSOR.unpack(C.string_at(managed + 32, _TENSOR.size))

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
        if self._tensor[1] == _CUDA and stream != -1:
            check(lib.kiln_stream_order(_CUDA | self._tensor[2] << 32, self._stream, stream))
        managed, self._managed = self._managed, None
        if max_version and max_version[0] >= 1:
            capsule, name = _new_capsule(managed, b"dltensor_versioned", None), b"dltensor_versioned"
        else:
            numbers = struct.pack("=QQ", managed, _address_of_free_legacy)
            old = _legacy[managed] = C.create_string_buffer(_TENSOR.pack(*self._tensor) + numbers, 64)
            capsule, name = _new_capsule(C.addressof(old), b"dltensor", None), b"dltensor"
        _given.append((capsule, name))
        return capsule

    @property
    def __cuda_array_interface__(self):
        data, _, _, rank, code, bits, _, shape, strides, _ = self._tensor
        numbers = [(C.c_int64 * rank).from_address(a) if rank else () for a in (shape, strides)]
        return {"version": 3, "shape": tuple(numbers[0]), "strides": tuple(s * bits // 8 for s in numbers[1]),
                "typestr": f"<{_LETTERS[code]}{bits // 8}", "data": (data, False), "stream": self._stream or 1}


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


@_Deleter
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
    root = _root(type(like))
    if root in ("numba", "numba_cuda"):
        return sys.modules["numba.cuda"].as_cuda_array(result)
    if root == "numpy" and result._tensor[4] == 4:
        return _brain_floats(result)
    module = sys.modules["jax"].dlpack if root in ("jax", "jaxlib") else sys.modules.get(root)
    return module.from_dlpack(result) if hasattr(module, "from_dlpack") else result
