"""examples/python/kiln_arrays.py -- arrays of NumPy, PyTorch, CuPy, JAX and Numba as DLPack's tensors: for kiln.py.

Read through DLPack's table of C functions where the library has it (no capsule, no synchronisation, its current stream),
else through NumPy's or CUDA's array interface or a DLPack capsule. kiln_calls.py keeps what was read, and only looks at the
attributes that QUICK names in later calls.
"""
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
lib.kiln_launch_by.argtypes = [C.c_void_p]
lib.kiln_stream_order.argtypes = [C.c_int64, C.c_void_p, C.c_void_p]  # a kiln_dl_device is passed in one register
lib.kiln_release_after.argtypes = [C.c_int64, C.c_void_p, C.c_void_p, C.c_void_p]
_CPU, CUDA, SLOTS = 1, 2, 32  # the last: tensors of one call
TENSOR = struct.Struct("=QiiiBBHQQQ")  # DLTensor: data, device type and number, ndim, code, bits, lanes, shape, strides, offset
SLOT = TENSOR.size + 16 * 8  # a tensor with its shape and strides
LETTERS = "iuf?Vcb"  # NumPy's kinds by DLPack's type codes; 3 is none
_TYPESTR = {f"<{LETTERS[c]}{b // 8}": (c, b) for c in (0, 1, 2, 5) for b in (8, 16, 32, 64, 128)}
_TYPESTR.update({"|b1": (6, 8), "|i1": (0, 8), "|u1": (1, 8), "<V2": (4, 16)})
_LIBRARIES = {"numpy", "torch", "cupy", "jax", "jaxlib", "numba", "numba_cuda"}
readers = {}  # by class
written = {}  # by class: what to call with an array that kiln wrote
_streams = {}  # by number: results may outlive the program's last reference to the stream that they were made on


class Error(RuntimeError):
    """What kiln has to say about a call that failed."""


def check(status):
    if status:
        raise Error(lib.kiln_last_error().decode(errors="replace"))


def kept_stream(stream, attribute):
    number = getattr(stream, attribute) if attribute else stream.__cuda_stream__()[1]
    _streams[number] = stream
    return number


@functools.lru_cache(None)
def root_of(kind):
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


# A reader writes a DLTensor to an address and returns what keeps it alive, why it is not written (or False), and the stream.
_Capsule = C.PYFUNCTYPE(C.c_void_p, C.c_void_p, C.c_char_p)
get_pointer, is_valid = _Capsule(("PyCapsule_GetPointer", _py)), _Capsule(("PyCapsule_IsValid", _py))
_Deleter = C.CFUNCTYPE(None, C.c_void_p)
_set_name = C.PYFUNCTYPE(C.c_int, C.c_void_p, C.c_char_p)(("PyCapsule_SetName", _py))
new_capsule = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(("PyCapsule_New", _py))


def word(address):
    return C.c_uint64.from_address(address).value


def own(at, to):
    """The tensor at `at` with its extents and strides, of which it says where they are, copied to `to`."""
    data, *middle, shape, strides, offset = TENSOR.unpack(C.string_at(at, TENSOR.size))
    room, places = to + TENSOR.size, []
    for numbers in (shape, strides):
        places.append(room if numbers else 0)
        C.memmove(room, numbers or room, 8 * middle[2])
        room += 8 * middle[2]
    packed = TENSOR.pack(data + offset if data else 0, *middle, *places, 0)
    C.memmove(to, packed, len(packed))


def delete_managed(managed, place):
    if word(managed + place):
        _Deleter(word(managed + place))(managed)


def _resolved(x, stream):
    """A copy of PyTorch's tensor, and why it cannot be written: DLPack has no word for views that conjugate or negate what is there."""
    if x.is_cuda and stream not in (None, sys.modules["torch"].cuda.current_stream(x.device).cuda_stream):
        raise Error("a conjugated or negated view and another stream than PyTorch's: call resolve_conj(), resolve_neg() before")
    return x.resolve_conj().resolve_neg(), "is a conjugated or negated view of its elements"


def _through_table(api, is_torch):
    """DLPack's table of C functions (1.3): no capsule, no synchronisation, the stream included."""
    table = get_pointer(id(api), b"dlpack_exchange_api")
    fill = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_void_p)(word(table + 40))
    ask = C.CFUNCTYPE(C.c_int, C.c_int, C.c_int32, C.c_void_p)(word(table + 48))

    def read(x, at, stream):
        if getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
            raise Error("this tensor wants a gradient: call kiln inside of a torch.autograd.Function, or x.detach()")
        x, why = _resolved(x, stream) if is_torch and (x.is_neg() or x.is_conj()) else (x, False)
        fill(x, at)
        if stream is None and C.c_int32.from_address(at + 8).value == CUDA:
            current = C.c_uint64()
            ask(CUDA, C.c_int32.from_address(at + 12), C.addressof(current))
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
        root, producer = root_of(type(x)), d.get("stream")
        device = x.device.id if root == "cupy" else sys.modules["numba.cuda"].get_current_device().id
        if stream is None:
            stream = kept_stream(sys.modules["cupy"].cuda.get_current_stream(), "ptr") if root == "cupy" else 1
        if producer is not None and producer != stream:
            check(lib.kiln_stream_order(CUDA | device << 32, producer, stream))
    packed = _packer(rank)(d["data"][0] or 0, CUDA if on_gpu else _CPU, device, rank, code, bits, 1, at + 48,
                           at + 48 + 8 * rank if steps else 0, 0, *shape, *strides)
    C.memmove(at, packed, len(packed))
    return x, d["data"][1], stream


def _through_scalar(x, at, stream):
    """NumPy's scalars give the address of an array that is gone by then."""
    x = sys.modules["numpy"].asarray(x)
    return x, "is a NumPy scalar", _through_interface(x, at, stream)[2]


class Held:
    """A tensor of DLPack's that is kiln's: its deleter is called once, when the stream is done with what was launched."""
    names = b"dltensor", b"used_dltensor", b"dltensor_versioned", b"used_dltensor_versioned"

    def __init__(self, capsule, versioned):
        self.place = 16 if versioned else 56
        self.managed = get_pointer(id(capsule), self.names[2 * versioned])
        self.device = word(self.managed + (40 if versioned else 8))
        _set_name(id(capsule), self.names[2 * versioned + 1])

    def release_after(self, stream):
        deleter = word(self.managed + self.place)
        if deleter:
            check(lib.kiln_release_after(self.device, stream, deleter, self.managed))
        self.managed = None

    def __del__(self):
        if self.managed and delete_managed:
            delete_managed(self.managed, self.place)


def _through_capsule(x, at, stream):
    (kind, index), root = map(int, x.__dlpack_device__()), root_of(type(x))
    x, why = _resolved(x, stream) if root == "torch" and (x.is_neg() or x.is_conj()) else (x, False)
    if kind == CUDA and stream is None:
        stream = sys.modules["torch"].cuda.current_stream(index).cuda_stream if root == "torch" else 1
    wanted = None if kind != CUDA else -1 if root == "torch" else stream or 1
    try:
        capsule = x.__dlpack__(stream=wanted, max_version=(1, 1))
    except TypeError:  # from before DLPack 1.0
        capsule = x.__dlpack__(stream=wanted)
    versioned = bool(is_valid(id(capsule), b"dltensor_versioned"))
    managed = get_pointer(id(capsule), b"dltensor_versioned" if versioned else b"dltensor")
    if versioned and C.c_uint32.from_address(managed).value != 1:
        raise Error("a tensor of another major version of DLPack than 1")
    C.memmove(at, managed + (32 if versioned else 0), TENSOR.size)
    if root in ("jax", "jaxlib"):
        why = "is JAX's, whose arrays never change"
    why = why or bool(versioned and word(managed + 24) & 1)
    return Held(capsule, versioned) if kind == CUDA else capsule, why, stream


def reader_of(kind):
    return readers.setdefault(kind, _new_reader(kind))


def _new_reader(kind):
    api, root = getattr(kind, "__dlpack_c_exchange_api__", None), root_of(kind)
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


# ------------------------------------------------------------------ arrays seen before
# How later calls look at arrays of a class, as Python for kiln_calls.py: {x} is the array. `key`: what tells layouts apart. `pointer`:
# of the first element. `stream`: the current one. `empty`: a new array of {shape} and {dtype} like {x}. `refuse...`: when the call goes the long
# way. `wrote`: after a launch. `names`: what these call.
Quick = collections.namedtuple("Quick", "key pointer stream empty names refuse refuse_complex refuse_out refuse_new wrote",
                               defaults=(None,) * 5)


@functools.lru_cache(None)
def quick_of(kind):
    """None for classes that have no such ways: of JAX, Numba and others, and subclasses, whose attributes may be theirs."""
    module = sys.modules.get(root_of(kind))
    if root_of(kind) == "numpy" and kind is module.ndarray:
        probe, places = module.arange(3)[1:], {"at": C.c_uint64.from_address, "empty": module.empty}
        if word(id(probe) + 16) != probe.ctypes.data:  # where CPython's arrays have their address
            return None
        return Quick("{x}.shape, {x}.strides, {x}.dtype", "at(id({x}) + 16).value", "0", "empty({shape}, {dtype})", places,
                     refuse_out="not {x}.flags.writeable")
    if root_of(kind) == "cupy" and kind is module.ndarray:
        try:
            from cupy_backends.cuda.stream import get_current_stream_ptr as stream
        except ImportError:
            stream = lambda: module.cuda.get_current_stream().ptr  # noqa: E731
        names = {"current": stream, "ndarray": module.ndarray, "device": module.cuda.runtime.getDevice}
        return Quick("{x}.shape, {x}.strides, {x}.dtype, {x}.data.device_id", "{x}.data.ptr", "current()",
                     "ndarray({shape}, {dtype})", names, refuse_new="device() != {x}.data.device_id")
    if root_of(kind) == "torch" and kind in (module.Tensor, module.nn.Parameter):
        raw = getattr(module._C, "_cuda_getCurrentRawStream", None) or (lambda d: module.cuda.current_stream(d).cuda_stream)
        names = {"raw": raw, "grad": module.is_grad_enabled, "wrote": written[kind], "empty": module.empty}
        return Quick("{x}.shape, {x}.stride(), {x}.dtype, {x}.get_device()", "{x}.data_ptr()",
                     "raw({x}.get_device()) if {x}.is_cuda else 0", "empty({shape}, dtype={dtype}, device={x}.device)", names,
                     "{x}.is_neg() or ({x}.requires_grad and grad())", "{x}.is_conj()", wrote="wrote({x})")
    return None
