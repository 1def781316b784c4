"""examples/python/kiln_calls.py -- calls of compiled functions: for kiln.py.

The first call with arrays of some layout goes step by step. What it found is kept in a state: the tensors' descriptions and the call
of the C interface in memory. Later calls run a few lines of Python that were written for the classes of their arguments: they look up a
state by the arrays' shapes, strides and types, set addresses and numbers, and launch. A state is of one call at a time.
"""
import ctypes as C
import struct

import kiln_arrays as arrays
from kiln_arrays import SLOT as _SLOT, SLOTS, Error, Held as _Held, check as _check, lib as _lib, scalar as _scalar
from kiln_results import Result, give

MISS = object()  # what a quick call returns that did nothing
_numbers, readers, _scratch = {float: "doubles", int: "longs", bool: "words", complex: "doubles"}, arrays.readers, []
_kind = struct.Struct("=iBB").unpack_from
_WORDS, _CALL, _LAYOUTS = _SLOT // 8, 10, 1024  # of a tensor, of a kiln_launch_call; layouts of one function that are kept


class Scratch:
    """Memory for the tensors of one call, and the addresses of all."""

    def __init__(self):
        self.memory = C.create_string_buffer(_SLOT * SLOTS)
        self.base = C.addressof(self.memory)
        self.pointers = (C.c_void_p * SLOTS)(*range(self.base, self.base + _SLOT * SLOTS, _SLOT))
        self.outputs = C.addressof(self.pointers)


def _read(array, at, stream):
    kind = type(array)
    return (readers.get(kind) or arrays.reader_of(kind))(array, at, stream)


def step_by_step(function, arguments, out, stream):
    """Calls a kiln.Jit, and keeps how."""
    into = out
    if len(arguments) + (len(out) if isinstance(out, (tuple, list)) else 1) > SLOTS:
        raise Error(f"more than {SLOTS} arrays in one call")
    scratch = _scratch.pop() if _scratch else Scratch()
    key, scalars, alive, count, at, like = [], [], [], 0, scratch.base, None
    for x in arguments:
        if type(x) in _numbers:
            dtype, number = _scalar(x)
            scalars.append(number)
            key.append(dtype)
            continue
        keep, _, stream = _read(x, at, stream)
        alive.append(keep)
        key.append(_kind(scratch.memory, at - scratch.base + 16))
        like, count, at = x if like is None else like, count + 1, at + _SLOT
    kernel, results = function._kernels.get(tuple(key)) or function._trace(tuple(key))
    numbers = (C.c_void_p * len(scalars))(*map(C.addressof, scalars)) if scalars else None
    if out is None:
        made = (C.c_void_p * results)()
        _check(_lib.kiln_launch_new(kernel, stream, scratch.pointers, count, numbers, len(scalars), made, results))
        _release(alive, stream)
        made = [Result(m, stream) for m in made]
        made = tuple(give(r, like) for r in made)
        targets, out = made, made[0] if results == 1 else made
    else:
        targets, first = out if isinstance(out, (tuple, list)) else (out,), scratch.outputs + 8 * count
        for target in targets:
            keep, read_only, stream = _read(target, at, stream)
            if read_only:
                raise Error(f"an array given as out= {'is read-only' if read_only is True else read_only}")
            alive.append(keep)
            at += _SLOT
        _check(_lib.kiln_launch(kernel, stream, scratch.pointers, count, numbers, len(scalars), first, len(targets)))
        _release(alive, stream)
        for target in targets:
            if type(target) in arrays.written:
                arrays.written[type(target)](target)
    if count and not isinstance(into, (tuple, list)):
        _keep(function, arguments, into, targets, kernel, scratch, count)
    _scratch.append(scratch)
    return out


def _release(alive, stream):
    """What is kiln's may be used again when the stream is done; the rest is the caller's."""
    for keep in alive:
        if type(keep) is _Held:
            keep.release_after(stream)


# ------------------------------------------------------------------ quick calls
class Plan:
    """The lines for arguments of some classes, and the states by what their layouts are."""

    def __init__(self, classes, into, results):
        numbers = {f"a{i}": c for i, c in enumerate(classes) if c in _numbers}
        tensors = [f"a{i}" for i, c in enumerate(classes) if c not in _numbers]
        self.quick = quick = arrays.quick_of(next(c for c in classes if c not in _numbers))
        targets, first = ["out"] if into else [f"r{i}" for i in range(results)], tensors[0]
        known = tensors + targets if into else tensors
        key = ", ".join(quick.key.format(x=x) for x in known) + ","
        parameters = ", ".join([*(f"a{i}" for i in range(len(classes))), "out"])
        refuse = [f"not {-2**63} <= {x} < {2**63}" for x, c in numbers.items() if c is int]
        refuse += [rule.format(x=x) for rule, who in ((quick.refuse, known), (quick.refuse_out, ["out"] if into else []),
                                                      (quick.refuse_new, [] if into else [first])) if rule for x in who]
        conjugated = " or ".join(quick.refuse_complex.format(x=x) for x in known) if quick.refuse_complex else "False"
        self.record = _WORDS * (len(tensors) + len(targets)) + 3 * len(numbers) + len(tensors) + len(targets)  # its first word
        lines = [f"def key({parameters}): return ({key})",
                 f"def refused({parameters}): return {' or '.join([*refuse, 'False'])} or {conjugated}",
                 f"def call({parameters}, stream):",
                 "    if " + " or ".join([*refuse, "False" if into else "stream is not None"]) + ": return MISS",
                 f"    try: state = states[({key})].pop()",
                 "    except LookupError: return MISS",
                 "    words, longs, doubles, record, is_complex, made, home = state",
                 f"    if is_complex and ({conjugated}): home.append(state); return MISS"]
        lines += [] if into else [f"    {r} = " + quick.empty.format(x=first, shape=f"made[{i}][0]", dtype=f"made[{i}][1]")
                                  for i, r in enumerate(targets)]
        lines += [f"    words[{_WORDS * i}] = {quick.pointer.format(x=x)}" for i, x in enumerate(tensors + targets)]
        for i, (x, c) in enumerate(numbers.items()):
            at = _WORDS * (len(tensors) + len(targets)) + 2 * i
            lines += [f"    {_numbers[c]}[{at}] = {x}" if c is not complex else
                      f"    doubles[{at}] = {x}.real; doubles[{at + 1}] = {x}.imag"]
        lines += [f"    words[{self.record + 2}] = ({quick.stream.format(x=first)}) if stream is None else stream",
                  "    status = launch(record)", "    home.append(state)", "    if status: check(status)"]
        lines += [f"    {quick.wrote.format(x=x)}" for x in targets] if quick.wrote else []
        lines += [f"    return {', '.join(targets)}"]
        self.states, self.counts = {}, (len(tensors), len(numbers), len(targets))
        names = {**quick.names, "states": self.states, "MISS": MISS, "launch": _lib.kiln_launch_by, "check": _check}
        exec("\n".join(lines), names)
        self.key, self.refused, self.call = names["key"], names["refused"], names["call"]

    def keep(self, arguments, out, targets, kernel, scratch):
        """A state for calls with such arguments."""
        key, (tensors, numbers, results) = self.key(*arguments, out), self.counts
        if self.refused(*arguments, out) or self.states.get(key) or len(targets) != results:
            return
        if len(self.states) >= _LAYOUTS:
            self.states.clear()
        words = (C.c_uint64 * (self.record + _CALL))()
        base = C.addressof(words)
        for i in range(tensors + results):
            arrays.own(scratch.base + i * _SLOT, base + i * _SLOT)
        first, lists = base + 8 * _WORDS * (tensors + results), _WORDS * (tensors + results) + 2 * numbers
        places = [base + i * _SLOT for i in range(tensors + results)] + [first + 16 * i for i in range(numbers)]
        for i, place in enumerate(places):
            words[lists + i] = place
        at = base + 8 * lists
        for i, word in enumerate((8 * _CALL, kernel.value, 0, at, tensors, at + 8 * (tensors + results), numbers, at + 8 * tensors,
                                  results, 0)):
            words[self.record + i] = word
        home = self.states.setdefault(key, [])
        is_complex = any(scratch.memory[i * _SLOT + 20] == b"\5" for i in range(tensors + results))
        home.append((words, (C.c_int64 * len(words)).from_buffer(words), (C.c_double * len(words)).from_buffer(words),
                     base + 8 * self.record, is_complex, [(t.shape, t.dtype) for t in targets], home))


def _keep(function, arguments, into, targets, kernel, scratch, count):
    """A state for the next call like this one, where the classes of all its arrays are of one library and have quick ways."""
    kinds = [type(x) for x in (*arguments, *targets) if type(x) not in _numbers]
    if len({arrays.root_of(kind) for kind in kinds}) > 1 or None in map(arrays.quick_of, kinds):
        return
    signature = type(into), *map(type, arguments)
    plan = function._plans.get(signature)
    if plan is None:
        plan = function._plans[signature] = Plan(signature[1:], into is not None, len(targets))
    for i, target in enumerate(targets if into is None else ()):
        _read(target, scratch.base + (count + i) * _SLOT, None)
    plan.keep(arguments, into, targets, kernel, scratch)
