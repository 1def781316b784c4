"""examples/python/kiln_values.py -- values of graphs: what operators and functions make of the arguments of a traced function; for
kiln.py, which has the functions.
"""
import ctypes as C
from operator import index as _index

from kiln_arrays import check as _check, lib as _lib, scalar as _scalar

DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 "
          "complex128").split()
REDUCTIONS = "sum prod max min mean var std any all argmax argmin norm logsumexp count_nonzero".split()
SCANS = "cumsum cumprod cummax cummin".split()
_SIZES = {6: (0, 8, 8), 0: (1, 8, 64), 1: (5, 8, 64), 2: (9, 16, 16), 4: (10, 16, 16), 5: (13, 64, 128)}
DTYPE_OF = {(code, bits << i): first + i for code, (first, bits, last) in _SIZES.items() for i in range(4) if bits << i <= last}
DTYPE_OF.update({(2, 32): 11, (2, 64): 12})


class _ReduceOptions(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("axes", C.c_void_p), ("count", C.c_size_t), ("keepdims", C.c_int32),
                ("accumulate", C.c_int32), ("uses_accumulate", C.c_int32), ("reserved", C.c_int32), ("ddof", C.c_int64)]


def list_of(kind, items):
    items, half = tuple(map(_index, items)), 1 << 8 * C.sizeof(kind) - 1
    if not all(-half <= item < half for item in items):
        raise OverflowError(f"one of {items} is too large for a number of {8 * C.sizeof(kind)} bits")
    return (kind * len(items))(*items), C.c_size_t(len(items))


def dtype_name(dtype):
    """Of a name, a Python type, or what NumPy, PyTorch, CuPy and JAX have for one."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype).rpartition(".")[2]
    name = {"int": "int64", "float": "float64", "complex": "complex128", "bool_": "bool"}.get(name, name)
    if name not in DTYPES:
        raise TypeError(f"kiln has no elements of type {name}; it has {', '.join(DTYPES)}")
    return name


class Expression:
    """What operators and functions make: a value of a traced function, or a lazy expression over arrays."""
    __array_ufunc__ = None  # NumPy leaves operators to us
    __hash__ = object.__hash__
    __iter__ = None  # else Python would ask for x[0], x[1], ... without end
    T = property(lambda self: self._make("transpose", (self,), ()))

    def __getitem__(self, items): return self._make("slice", (self,), items if isinstance(items, tuple) else (items,))
    def __bool__(self): raise TypeError("a value has many elements: use kiln.where(condition, a, b)")
    def astype(self, dtype): return self._make("cast", (self,), dtype_name(dtype))


for _name in "transpose reshape squeeze unsqueeze flip".split():
    setattr(Expression, _name, lambda self, *numbers, _n=_name: self._make(
        _n, (self,), tuple(numbers[0]) if len(numbers) == 1 and isinstance(numbers[0], (tuple, list)) else numbers))
for _name, _op in {**{n: n for n in "add sub mul pow eq ne lt le gt ge neg abs".split()}, "truediv": "true_divide",
                   "floordiv": "floor_divide", "mod": "remainder", "and": "bit_and", "or": "bit_or", "xor": "bit_xor",
                   "lshift": "shl", "rshift": "shr", "invert": "bit_not"}.items():
    setattr(Expression, f"__{_name}__", lambda self, *other, _n=_op: self._make(_n, (self, *other)))
    if _name not in "eq ne lt le gt ge neg abs invert".split():
        setattr(Expression, f"__r{_name}__", lambda self, other, _n=_op: self._make(_n, (other, self)))


class Value(Expression):
    """A value of the graph that a function is traced into."""

    def __init__(self, graph, number):
        self._graph, self._number = graph, number

    def _emit(self, function, *arguments):
        result = C.c_uint32()
        _check(getattr(_lib, function)(self._graph, *arguments, C.byref(result)))
        return Value(self._graph, result.value)

    def extent(self, axis=-(2**31)):
        """The length of an axis, or the number of elements: a number that each launch may change."""
        return self._emit("kiln_graph_extent", C.c_uint32(self._number), C.c_int32(*list_of(C.c_int32, (axis,))[0]))

    def _number_of(self, operand):
        if isinstance(operand, Value):
            if operand._graph is not self._graph:
                raise TypeError("a value of another traced function, or of another call of it")
            return operand._number
        dtype, number = _scalar(operand)
        return self._emit("kiln_graph_constant", C.c_int32(dtype), C.byref(number), C.c_int32(0))._number

    def _make(self, name, operands, *settings):
        me = C.c_uint32(self._number)
        if name in REDUCTIONS:
            axes, (numbers, count) = settings[0], list_of(C.c_int32, settings[0] or ())
            options = _ReduceOptions(C.sizeof(_ReduceOptions), None if axes is None else C.addressof(numbers), count.value,
                                     settings[1], 0, 0, 0, *list_of(C.c_int64, settings[2:])[0])
            return self._emit("kiln_graph_reduce", C.c_int32(1 + REDUCTIONS.index(name)), me, C.byref(options))
        if name in SCANS:
            if settings[0] is None:  # as NumPy: over the elements in C order
                return self._make("reshape", (), (-1,))._make(name, (), (0,))
            axis, _ = list_of(C.c_int32, settings[0])
            return self._emit("kiln_graph_scan", C.c_int32(1 + SCANS.index(name)), me, C.c_int32(*axis))
        if name == "cast":
            return self._emit("kiln_graph_cast", me, C.c_int32(DTYPES.index(settings[0])))
        if name in ("transpose", "reshape", "squeeze", "unsqueeze", "flip"):
            return self._emit(f"kiln_graph_{name}", me, *list_of(C.c_int64 if name == "reshape" else C.c_int32, settings[0]))
        if name == "slice":  # flags: 1 index, 2 has a start, 4 has a stop
            items = [((i.start is not None) * 2 + (i.stop is not None) * 4, i.start or 0, i.stop or 0,
                      1 if i.step is None else i.step) if isinstance(i, slice) else (3, i, 0, 1) for i in settings[0]]
            return self._emit("kiln_graph_slice", me, list_of(C.c_int64, sum(items, ()))[0], C.c_size_t(len(items)))
        numbers = [C.c_uint32(self._number_of(o)) for o in operands]
        if name == "take":
            return self._emit("kiln_graph_take", C.c_int32(settings[0]), *numbers, list_of(C.c_int32, settings[1:2])[0][0],
                              C.c_int32(settings[2]))
        if name == "shift":
            fill = numbers[1] if len(numbers) > 1 else C.c_uint32(2**32 - 1)
            return self._emit("kiln_graph_shift", numbers[0], *list_of(C.c_int64, settings[0]), C.c_int32(settings[1]), fill)
        if name == "index":
            return self._emit("kiln_graph_index", numbers[0], C.c_int32(*list_of(C.c_int32, settings)[0]))
        if name == "random":
            return self._emit("kiln_graph_random", C.c_int32(settings[0]), C.c_int32(DTYPES.index(settings[1])), *numbers)
        return self._emit("kiln_graph_operation_by_name", name.encode(), (C.c_uint32 * len(numbers))(*(n.value for n in numbers)),
                          C.c_size_t(len(numbers)))
