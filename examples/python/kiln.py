"""examples/python/kiln.py -- kiln from Python, by ctypes through the C interface of libkiln.so: nothing to build or install.

    @kiln.jit
    def gelu(x, bias, scale):                # traced once per types and ranks
        return kiln.gelu(x * scale + bias)
    y = gelu(x, bias, 0.5)                   # NumPy, PyTorch, CuPy, JAX or Numba arrays in; the same library's array out
    gelu(x, bias, 2.0, out=y)                # or into an array that exists
    z = (kiln.array(x) * 2 + bias).eval()    # expressions without a function

Calls run on the current stream of the arrays' library (or stream=...), copy nothing and wait for nothing. Python numbers are
run-time parameters: another value compiles nothing. Keyword arguments are constants of the trace. LIBKILN names libkiln.so
where the loader does not find it. The files beside this one: kiln_values.py is the graph, kiln_arrays.py reads
arrays, kiln_results.py makes them, kiln_calls.py makes calls short.
"""
import ctypes as C
import functools
from operator import index as _index

import kiln_arrays as arrays
import kiln_calls as calls
import kiln_results as results
from kiln_arrays import Error, check as _check, lib as _lib
from kiln_calls import MISS as _MISS, step_by_step as _step_by_step
from kiln_values import DTYPES, DTYPE_OF, REDUCTIONS, SCANS, Expression, Value, dtype_name


# ------------------------------------------------------------------ functions
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
        joins = name in REDUCTIONS or name in SCANS
        made = _expression(name, *(operands[:1] if joins else operands))
        if joins:
            return made._make(name, operands[:1], *(_reduced if name in REDUCTIONS else _scanned)(*operands[1:], **settings))
        if settings:
            raise TypeError(f"kiln.{name} has no {'=, '.join(settings)}=")
        return made._make(name, operands)
    return function


_OUTSIDE, _BEYOND = "missing clip wrap".split(), "clamp wrap reflect symmetric fill".split()


def _expression(name, *operands):
    made = next((o for o in operands if isinstance(o, Expression)), None)
    if made is None:
        raise TypeError(f"kiln.{name} takes values of a traced function, or kiln.array(x)")
    return made


def _one_of(names, word):
    if word not in names:
        raise ValueError(f"mode={word!r} is none of {', '.join(names)}")
    return 1 + names.index(word)


def take(source, indices, axis=None, mode="missing"):
    """NumPy's take. An index outside gives NaN, 0 or False (missing), the nearest element (clip), or counts round (wrap)."""
    settings = (2, 0) if axis is None else (1, _index(axis))
    return _expression("take", source, indices)._make("take", (source, indices), *settings, _one_of(_OUTSIDE, mode))


def take_along_axis(source, indices, axis, mode="missing"):
    return _expression("take_along_axis", source, indices)._make("take", (source, indices), 3, _index(axis), _one_of(_OUTSIDE, mode))


def shift(x, by, mode="clamp", fill=None):
    """result[i, j] = x[i - by[0], j - by[1]]; beyond the ends what `mode` says: clamp wrap reflect symmetric, or fill=."""
    mode = mode if fill is None else "fill"
    if mode == "fill" and fill is None:
        raise ValueError("mode='fill' needs fill=")
    by = tuple(map(_index, by if isinstance(by, (tuple, list)) else (by,)))
    return _expression("shift", x)._make("shift", (x,) if fill is None else (x, fill), by, _one_of(_BEYOND, mode))


def index(x, axis):
    """The coordinate of each element along an axis: int64."""
    return _expression("index", x)._make("index", (x,), _index(axis))


def uniform(like, key, dtype="float32"):
    """Random numbers of the shape of `like`, in [0, 1), the same on every device for a key; normal: mean 0, variance 1."""
    return _expression("uniform", like)._make("random", (like, key), 1, dtype_name(dtype))


def normal(like, key, dtype="float32"):
    return _expression("normal", like)._make("random", (like, key), 2, dtype_name(dtype))


# ------------------------------------------------------------------ expressions over arrays
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


_OF_ONE = {*REDUCTIONS, *SCANS, "cast", "transpose", "reshape", "squeeze", "unsqueeze", "flip", "slice"}


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


class Jit:
    """A function of values, compiled for each combination of types and ranks that it is called with."""

    def __init__(self, function, name=None):
        function = function._function if isinstance(function, Jit) else function
        functools.update_wrapper(self, function)
        self._function, self._kernels, self._plans, self._bound = function, {}, {}, {}
        self._name = name or getattr(function, "__name__", type(function).__name__)

    def __reduce__(self):  # copied and pickled as functions are: by name
        return getattr(self, "__qualname__", self._name)

    def __del__(self, destroy=_lib.kiln_kernel_destroy):  # results and launches under way do not need them
        for kernel, _ in self.__dict__.get("_kernels", {}).values():
            destroy(kernel)

    def __call__(self, *arguments, out=None, stream=None, **constants):
        if constants:
            return self._with(constants)(*arguments, out=out, stream=stream)
        if hasattr(stream, "__cuda_stream__"):
            stream = arrays.kept_stream(stream, None)
        plan = self._plans.get((type(out), *map(type, arguments)))
        if plan is not None:
            done = plan.call(*arguments, out, stream)
            if done is not _MISS:
                return done
        return _step_by_step(self, arguments, out, stream)

    def _with(self, constants):
        """The function of the other arguments."""
        key = tuple(_constant(*c) for c in sorted(constants.items()))
        return self._bound.get(key) or self._bound.setdefault(
            key, Jit(functools.partial(self._function, **constants), self._name))

    def _trace(self, signature):
        """`signature`: kiln's types of numbers; rank, type code and bits of arrays."""
        graph, kernel, values = C.c_void_p(), C.c_void_p(), []
        _check(_lib.kiln_graph_create(C.byref(graph)))
        try:
            _check(_lib.kiln_graph_set_name(graph, self._name.strip("<>").encode()))
            start = Value(graph, 0)
            for kind in signature:
                if isinstance(kind, int):
                    values.append(start._emit("kiln_graph_scalar", C.c_int32(kind), C.c_int32(0)))
                elif kind[1:] in DTYPE_OF:
                    values.append(start._emit("kiln_graph_input", C.c_int32(DTYPE_OF[kind[1:]]), C.c_int32(kind[0])))
                else:
                    raise Error(f"kiln has no elements of DLPack's type code {kind[1]} with {kind[2]} bits")
            outputs = self._function(*values)
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
