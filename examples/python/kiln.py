"""examples/python/kiln.py -- kiln from Python, by ctypes through the C interface of libkiln.so: nothing to build or install.

    @kiln.jit
    def gelu(x, bias, scale):                # traced once per types and ranks
        return kiln.gelu(x * scale + bias)
    y = gelu(x, bias, 0.5)                   # NumPy, PyTorch, CuPy, JAX or Numba arrays in; the same library's array out
    gelu(x, bias, 2.0, out=y)                # or into an array that exists
    z = (kiln.array(x) * 2 + bias).eval()    # expressions without a function

Calls run on the current stream of the arrays' library (or stream=...), copy nothing and wait for nothing. Python numbers are
run-time parameters: another value compiles nothing. Keyword arguments are constants of the trace. LIBKILN names libkiln.so
where the loader does not find it. kiln_arrays.py beside this file reads and makes the arrays.
"""
import ctypes as C
import functools
import struct
from operator import index as _index

import kiln_arrays as arrays
from kiln_arrays import SLOT as _SLOT, SLOTS as _SLOTS, Error, Scratch as _Scratch
from kiln_arrays import check as _check, lib as _lib, scalar as _scalar

DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 "
          "complex128").split()
_REDUCTIONS = "sum prod max min mean var std any all argmax argmin norm logsumexp count_nonzero".split()
_SCANS = "cumsum cumprod cummax cummin".split()
_SIZES = {6: (0, 8, 8), 0: (1, 8, 64), 1: (5, 8, 64), 2: (9, 16, 16), 4: (10, 16, 16), 5: (13, 64, 128)}
_DTYPE_OF = {(code, bits << i): first + i for code, (first, bits, last) in _SIZES.items() for i in range(4) if bits << i <= last}
_DTYPE_OF.update({(2, 32): 11, (2, 64): 12})


class _ReduceOptions(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("axes", C.c_void_p), ("count", C.c_size_t), ("keepdims", C.c_int32),
                ("accumulate", C.c_int32), ("uses_accumulate", C.c_int32), ("reserved", C.c_int32), ("ddof", C.c_int64)]


def _list(kind, items):
    items, half = tuple(map(_index, items)), 1 << 8 * C.sizeof(kind) - 1
    if not all(-half <= item < half for item in items):
        raise OverflowError(f"one of {items} is too large for a number of {8 * C.sizeof(kind)} bits")
    return (kind * len(items))(*items), C.c_size_t(len(items))


def _dtype_name(dtype):
    """Of a name, a Python type, or what NumPy, PyTorch, CuPy and JAX have for one."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype).rpartition(".")[2]
    name = {"int": "int64", "float": "float64", "complex": "complex128", "bool_": "bool"}.get(name, name)
    if name not in DTYPES:
        raise TypeError(f"kiln has no elements of type {name}; it has {', '.join(DTYPES)}")
    return name


# ------------------------------------------------------------------ expressions
class Expression:
    """What operators and functions make: a value of a traced function, or a lazy expression over arrays."""
    __array_ufunc__ = None  # NumPy leaves operators to us
    __hash__ = object.__hash__
    __iter__ = None  # else Python would ask for x[0], x[1], ... without end
    T = property(lambda self: self._make("transpose", (self,), ()))

    def __getitem__(self, items): return self._make("slice", (self,), items if isinstance(items, tuple) else (items,))
    def __bool__(self): raise TypeError("a value has many elements: use kiln.where(condition, a, b)")
    def astype(self, dtype): return self._make("cast", (self,), _dtype_name(dtype))


for _name in "transpose reshape squeeze unsqueeze flip".split():
    setattr(Expression, _name, lambda self, *numbers, _n=_name: self._make(
        _n, (self,), tuple(numbers[0]) if len(numbers) == 1 and isinstance(numbers[0], (tuple, list)) else numbers))
for _name, _op in {**{n: n for n in "add sub mul pow eq ne lt le gt ge neg abs".split()}, "truediv": "true_divide",
                   "floordiv": "floor_divide", "mod": "remainder", "and": "bit_and", "or": "bit_or", "xor": "bit_xor",
                   "lshift": "shl", "rshift": "shr", "invert": "bit_not"}.items():
    setattr(Expression, f"__{_name}__", lambda self, *other, _n=_op: self._make(_n, (self, *other)))
    if _name not in "eq ne lt le gt ge neg abs invert".split():
        setattr(Expression, f"__r{_name}__", lambda self, other, _n=_op: self._make(_n, (other, self)))


def _reduced(axis=None, keepdims=False, *, ddof=0):
    axes = axis if axis is None else tuple(map(_index, axis)) if isinstance(axis, (tuple, list)) else (_index(axis),)
    if axes == ():
        raise ValueError("axis=() names no axis: leave axis= out to join all elements")
    return axes, bool(keepdims), _index(ddof)


def _scanned(axis=None):
    if isinstance(axis, (tuple, list)) and len(axis) != 1:
        raise TypeError(f"scans go along one axis, not {axis}")
    return _reduced(axis)


def __getattr__(name):  # kiln.exp, kiln.where, kiln.sum, ...: whatever this library's table of operations has
    if name.startswith("_"):
        raise AttributeError(name)

    def function(*operands, **settings):
        made = next((o for o in operands if isinstance(o, Expression)), None)
        joins = name in _REDUCTIONS or name in _SCANS
        if made is None or (joins and made is not operands[0]):
            raise TypeError(f"kiln.{name} takes values of a traced function, or kiln.array(x)")
        if joins:
            return made._make(name, operands[:1], *(_reduced if name in _REDUCTIONS else _scanned)(*operands[1:], **settings))
        if settings:
            raise TypeError(f"kiln.{name} has no {'=, '.join(settings)}=")
        return made._make(name, operands)
    return function


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
        return self._emit("kiln_graph_extent", C.c_uint32(self._number), C.c_int32(*_list(C.c_int32, (axis,))[0]))

    def _number_of(self, operand):
        if isinstance(operand, Value):
            if operand._graph is not self._graph:
                raise TypeError("a value of another traced function, or of another call of it")
            return operand._number
        dtype, number = _scalar(operand)
        return self._emit("kiln_graph_constant", C.c_int32(dtype), C.byref(number), C.c_int32(0))._number

    def _make(self, name, operands, *settings):
        me = C.c_uint32(self._number)
        if name in _REDUCTIONS:
            axes, (numbers, count) = settings[0], _list(C.c_int32, settings[0] or ())
            options = _ReduceOptions(C.sizeof(_ReduceOptions), None if axes is None else C.addressof(numbers), count.value,
                                     settings[1], 0, 0, 0, *_list(C.c_int64, settings[2:])[0])
            return self._emit("kiln_graph_reduce", C.c_int32(1 + _REDUCTIONS.index(name)), me, C.byref(options))
        if name in _SCANS:
            if settings[0] is None:  # as NumPy: over the elements in C order
                return self._make("reshape", (), (-1,))._make(name, (), (0,))
            axis, _ = _list(C.c_int32, settings[0])
            return self._emit("kiln_graph_scan", C.c_int32(1 + _SCANS.index(name)), me, C.c_int32(*axis))
        if name == "cast":
            return self._emit("kiln_graph_cast", me, C.c_int32(DTYPES.index(settings[0])))
        if name in ("transpose", "reshape", "squeeze", "unsqueeze", "flip"):
            return self._emit(f"kiln_graph_{name}", me, *_list(C.c_int64 if name == "reshape" else C.c_int32, settings[0]))
        if name == "slice":  # flags: 1 index, 2 has a start, 4 has a stop
            items = [((i.start is not None) * 2 + (i.stop is not None) * 4, i.start or 0, i.stop or 0,
                      1 if i.step is None else i.step) if isinstance(i, slice) else (3, i, 0, 1) for i in settings[0]]
            return self._emit("kiln_graph_slice", me, _list(C.c_int64, sum(items, ()))[0], C.c_size_t(len(items)))
        numbers = _list(C.c_uint32, map(self._number_of, operands))
        return self._emit("kiln_graph_operation_by_name", name.encode(), *numbers)


class Lazy(Expression):
    """An expression over arrays that are there, made by kiln.array(x) and operators; eval() computes it as one kernel."""
    _compiled = {}

    def __init__(self, name, operands, *settings):
        self._name, self._operands, self._settings = name, operands, settings

    def _make(self, name, operands, *settings):
        return Lazy(name, operands, *settings)

    def eval(self, out=None, stream=None):
        leaves, steps, seen = [], [], {}

        def number(x):  # of a step from 1 on; of an array or number -1, -2, ...
            if id(x) not in seen:
                if isinstance(x, Lazy) and x._name:
                    steps.append((x._name, tuple(map(number, x._operands)), x._settings))
                    seen[id(x)] = len(steps)
                else:
                    leaves.append(x._operands if isinstance(x, Lazy) else x)
                    seen[id(x)] = -len(leaves)
            return seen[id(x)]

        def replay(*values):
            made = dict(zip(range(-1, -1 - len(values), -1), values))
            for at, (name, operands, settings) in enumerate(steps, 1):
                made[at] = values[0]._make(name, [made[o] for o in operands], *settings) if name not in _OF_ONE else \
                    made[operands[0]]._make(name, (), *settings)
            return made[len(steps) or -1]

        number(self)
        return self._compiled.setdefault(repr(steps), Jit(replay, "expression"))(*leaves, out=out, stream=stream)


_OF_ONE = {*_REDUCTIONS, *_SCANS, "cast", "transpose", "reshape", "squeeze", "unsqueeze", "flip", "slice"}


def array(x):
    return Lazy(None, x)


# ------------------------------------------------------------------ compiled functions
def _constant(name, value):
    """What tells this constant from others in the key of a trace: 1, 1.0, True and -0.0, 0.0 are not the same."""
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        raise TypeError(f"{name}= is an array, and keyword arguments are constants of the trace: give arrays by position")
    if isinstance(value, (tuple, list)):
        return name, type(value), *(_constant(name, v) for v in value)
    return name, type(value), repr(value) if isinstance(value, (bool, int, float, complex, str)) else value


_scratch, _numbers, readers = [], {float, int, bool, complex}, arrays.readers
_kind = struct.Struct("=iBB").unpack_from


class Jit:
    """A function of values, compiled for each combination of types and ranks that it is called with."""

    def __init__(self, function, name=None):
        function = function._function if isinstance(function, Jit) else function
        functools.update_wrapper(self, function)
        self._function, self._kernels = function, {}
        self._name = name or getattr(function, "__name__", type(function).__name__)

    def __reduce__(self):  # copied and pickled as functions are: by name
        return getattr(self, "__qualname__", self._name)

    def __del__(self, destroy=_lib.kiln_kernel_destroy):  # results and launches under way do not need them
        for kernel, _ in self.__dict__.get("_kernels", {}).values():
            destroy(kernel)

    def __call__(self, *arguments, out=None, stream=None, **constants):
        if hasattr(stream, "__cuda_stream__"):
            stream = arrays.kept_stream(stream, None)
        if len(arguments) + (len(out) if isinstance(out, (tuple, list)) else 1) > _SLOTS:
            raise Error(f"more than {_SLOTS} arrays in one call")
        scratch = _scratch.pop() if _scratch else _Scratch()
        key, scalars, alive, count, at, like = [], [], [], 0, scratch.base, None
        for x in arguments:
            kind = type(x)
            if kind in _numbers:
                dtype, number = _scalar(x)
                scalars.append(number)
                key.append(dtype)
                continue
            read = readers.get(kind) or arrays.reader_of(kind)
            keep, _, stream = read(x, at, stream)
            alive.append(keep)
            key.append(_kind(scratch.memory, at - scratch.base + 16))
            like, count, at = x if like is None else like, count + 1, at + _SLOT
        signature = tuple(key) if not constants else (*key, *(_constant(*c) for c in sorted(constants.items())))
        kernel, results = self._kernels.get(signature) or self._trace(signature, key, constants)
        numbers = (C.c_void_p * len(scalars))(*map(C.addressof, scalars)) if scalars else None
        if out is None:
            made = (C.c_void_p * results)()
            _check(_lib.kiln_launch_new(kernel, stream, scratch.pointers, count, numbers, len(scalars), made, results))
            given = [arrays.Result(m, stream) for m in made]
            given = tuple(arrays.give(r, like) for r in given)
            out = given[0] if results == 1 else given
        else:
            targets, first = out if isinstance(out, (tuple, list)) else (out,), scratch.outputs + 8 * count
            for target in targets:
                kind = type(target)
                read = readers.get(kind) or arrays.reader_of(kind)
                keep, read_only, stream = read(target, at, stream)
                if read_only:
                    raise Error(f"an array given as out= {'is read-only' if read_only is True else read_only}")
                alive.append(keep)
                at += _SLOT
            _check(_lib.kiln_launch(kernel, stream, scratch.pointers, count, numbers, len(scalars), first, len(targets)))
            for target in targets:
                if type(target) in arrays.written:
                    arrays.written[type(target)](target)
        _scratch.append(scratch)
        return out

    def _trace(self, signature, key, constants):
        graph, kernel, values = C.c_void_p(), C.c_void_p(), []
        _check(_lib.kiln_graph_create(C.byref(graph)))
        try:
            _check(_lib.kiln_graph_set_name(graph, self._name.strip("<>").encode()))
            start = Value(graph, 0)
            for kind in key:
                if isinstance(kind, int):
                    values.append(start._emit("kiln_graph_scalar", C.c_int32(kind), C.c_int32(0)))
                elif kind[1:] in _DTYPE_OF:
                    values.append(start._emit("kiln_graph_input", C.c_int32(_DTYPE_OF[kind[1:]]), C.c_int32(kind[0])))
                else:
                    raise Error(f"kiln has no elements of DLPack's type code {kind[1]} with {kind[2]} bits")
            outputs = self._function(*values, **constants)
            outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
            for output in outputs:
                if not isinstance(output, Value) or output._graph is not graph:
                    raise TypeError(f"a traced function returns values that its arguments lead to, not {type(output).__name__}")
                _check(_lib.kiln_graph_output(graph, C.c_uint32(output._number)))
            _check(_lib.kiln_kernel_create(graph, None, C.byref(kernel)))
        finally:
            _lib.kiln_graph_destroy(graph)
            graph.value = None  # for values that outlive the trace
        kept = self._kernels.setdefault(signature, (kernel, len(outputs)))
        if kept[0] is not kernel:  # another thread was first
            _lib.kiln_kernel_destroy(kernel)
        return kept


jit = Jit
