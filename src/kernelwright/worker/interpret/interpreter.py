"""Triton's CPU interpreter, with checks of memory accesses and comparisons with the compiler's report.

`install` patches the interpreter once per process. `load` loads instrumented kernels. A replay runs inside `running`.
TRITON_INTERPRET has to be set before Triton is imported.
"""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.language import core
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime import interpreter as triton_interpreter
from triton.runtime.errors import InterpreterError

from kernelwright.worker.bench.messages import Order
from kernelwright.worker.compile.branches import Branches
from kernelwright.worker.compile.instrument import ENTER, LANGUAGE, LOCALS, NotInstrumented, Sites, instrument
from kernelwright.worker.compile.kernels import load_kernels
from kernelwright.worker.compile.libdevice import FUNCTIONS
from kernelwright.worker.compile.messages import Specialised
from kernelwright.worker.interpret import combine, types
from kernelwright.worker.interpret.activation import SCALARS, Diverged, Memory, Unsupported, entered
from kernelwright.worker.interpret.sharing import Sharing

__all__ = ["Diverged", "Outside", "Unsupported", "install", "load", "running"]

UNTRUE_TENSORS = ("validate", "materialize_pointers")
"""Functions of the interpreter whose assertions check the hardware's rules for tensor descriptors."""


class Outside(Exception):
    """Device code accesses memory outside of the arena, or converts between addresses and numbers."""


@dataclass
class _State:
    """first and end: address range of the arena. launched: whether the next function call is a launch by the host.
    patches: objects that undo the interpreter's changes to `triton.language`, by the modules that a kernel imports.
    lines: the candidate's statements by line of the kernels' file. order: in which the programs of a launch run; turn:
    the indices of those of the current one."""

    first: int = 0
    end: int = 0
    branches: Branches = field(default_factory=lambda: Branches([]))
    launched: bool = False
    memory: Memory = field(default_factory=Memory)
    patches: dict[tuple[ModuleType, ...], Any] = field(default_factory=dict)
    sharing: Sharing = field(default_factory=Sharing)
    lines: dict[int, str] = field(default_factory=dict)
    order: Order = "forward"
    turn: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)


_state = _State()


@contextmanager
def running(
    arena: torch.Tensor, reports: Sequence[Sequence[Specialised]], order: Order = "forward", is_watched: bool = False
) -> Iterator[Sharing]:
    """Context for a replay. arena: all memory that kernels may access. reports: the compilers' reports of every launch.
    is_watched: whether to note what programs share.

    Raises Outside, Diverged or Unsupported; AssertionError for a fault that would also break the kernel on a device.
    """
    storage = arena.untyped_storage()
    _state.first, _state.end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    _state.branches, _state.order = Branches(reports), order
    if is_watched:
        _state.sharing.watch(_state.first, storage.nbytes())
    try:
        yield _state.sharing
    except InterpreterError as error:
        raise cause_of(error) from error
    finally:
        _state.first = _state.end = 0
        _state.sharing.rest()
        while _state.patches:
            _state.patches.popitem()[1].restore()


def cause_of(error: BaseException) -> Exception:
    """The cause of an interpreter's error. The kernel has been compiled, so any error that is not known here is a limit
    of the interpreter (Unsupported), not a fault of the kernel."""
    inner = error
    while inner.__cause__ is not None:
        inner = inner.__cause__
    if isinstance(inner, Outside | Diverged | Unsupported):
        return inner
    if isinstance(inner, AssertionError) and _is_hardware(inner):
        return inner
    return Unsupported(f"{type(inner).__name__}: {inner}")


def _is_hardware(error: AssertionError) -> bool:
    """Whether a failed assertion is also a rule of the hardware: alignment of descriptors, a `tl.assume`."""
    trace, name = error.__traceback__, ""
    while trace is not None:
        name, trace = trace.tb_frame.f_code.co_name, trace.tb_next
    return name in (*UNTRUE_TENSORS, "create_assume")


# --- memory --------------------------------------------------------------------------------------------------


class Checked:
    """Replacement of the C++ module through which the interpreter accesses memory, with a check of each address. Every
    access (masked and block pointers, descriptors, atomics) calls one of its four functions with an array of addresses.

    Masks are passed as bools. Triton 3.9 refuses others, which its interpreter itself makes of a scalar condition.
    """

    def __init__(self, native: Any) -> None:
        self.native = native

    def __getattr__(self, name: str) -> Any:
        if name not in ("MEM_SEMANTIC", "RMW_OP", "fma_fp32", "fma_fp64"):
            raise Unsupported(f"this Triton's interpreter uses {name}, which kernelwright does not check")
        return getattr(self.native, name)

    def load(self, addresses: Any, mask: Any, other: Any, dtype: Any) -> Any:
        active = _check(addresses, mask, np.dtype(dtype).itemsize, "reads", np.asarray(other).size)
        _state.memory.reads += 1
        _note(active, is_store=False)
        return self.native.load(addresses, np.asarray(mask, dtype=bool), other, dtype)

    def store(self, addresses: Any, value: Any, mask: Any) -> Any:
        value = np.asarray(value)
        active = _check(addresses, mask, value.itemsize, "writes", value.size)
        _state.memory.changes += 1
        _note(active, is_store=True)
        return self.native.store(addresses, value, np.asarray(mask, dtype=bool))

    def atomic_cas(self, addresses: Any, compared: Any, value: Any, semantic: Any) -> Any:
        value = np.asarray(value)
        everywhere = np.ones(np.asarray(addresses).shape, dtype=bool)
        _check(addresses, everywhere, value.itemsize, "writes", np.asarray(compared).size, value.size)
        return self._atomic(addresses, everywhere, self.native.atomic_cas, addresses, compared, value, semantic)

    def atomic_rmw(self, operation: Any, addresses: Any, value: Any, mask: Any, semantic: Any) -> Any:
        value = np.asarray(value)
        mask = np.asarray(mask, dtype=bool)
        _check(addresses, mask, value.itemsize, "writes", value.size)
        return self._atomic(addresses, mask, self.native.atomic_rmw, operation, addresses, value, mask, semantic)

    def _atomic(self, addresses: Any, mask: Any, run: Callable[..., Any], *arguments: Any) -> Any:
        """The old value. Only a different new value counts as a change; a lock that stays taken does not.

        The native functions read a broadcast array beyond its end (Triton 3.7.1), so arrays are copied to contiguous
        memory."""
        _state.memory.reads += 1
        _state.sharing.atomic()
        before = run(*(np.asarray(one, order="C") if isinstance(one, np.ndarray) else one for one in arguments))
        after = self.native.load(addresses, mask, np.asarray(before), np.asarray(before).dtype)
        _state.memory.changes += np.asarray(after).tobytes() != np.asarray(before).tobytes()
        return before


def _note(addresses: Any, is_store: bool) -> None:
    """Note an access, and the first that shares an element with another program by its line."""
    if _state.sharing.access(addresses, is_store):
        frame = sys._getframe(2)
        while frame.f_back is not None and not frame.f_code.co_filename.endswith("kernels.py"):
            frame = frame.f_back
        where = f"`{_state.lines.get(frame.f_lineno, '')[:120]}` in {frame.f_code.co_name}"
        _state.sharing.found = where


def _check(addresses: Any, mask: Any, width: int, does: str, *sizes: int) -> Any:
    """The addresses under the mask. Raises Outside unless the `width` bytes at each of them lie in the arena."""
    addresses, mask = np.asarray(addresses), np.asarray(mask)
    if addresses.dtype != np.uint64 or {addresses.size, *sizes} != {mask.size}:
        raise Unsupported(
            f"{addresses.size} addresses of {addresses.dtype} under a mask of {mask.size}, for {sizes} values"
        )
    active = addresses.reshape(-1)[mask.reshape(-1).astype(bool)]
    if active.size == 0:
        return active
    lowest, highest = int(active.min()), int(active.max())
    if lowest < _state.first or highest + width > _state.end:
        wrong = lowest if lowest < _state.first else highest
        distance = _state.first - wrong if wrong < _state.first else wrong + width - _state.end
        raise Outside(f"out of bounds: a kernel {does} {distance} bytes outside of all memory that it was given")
    return active


# --- patches -------------------------------------------------------------------------------------------------


def install() -> None:
    """Patch Triton's interpreter in this process."""
    builder = triton_interpreter.InterpreterBuilder
    if isinstance(triton_interpreter._interpreter, Checked):
        return
    triton_interpreter._interpreter = Checked(triton_interpreter._interpreter)
    builder.create_int_to_ptr = _refused_cast
    builder.create_ptr_to_int = _refused_cast
    builder.create_bitcast = _within_kind(builder.create_bitcast)
    builder.create_cat = _reordered
    builder.create_extern_elementwise = _computed
    for module in (libdevice, cuda_libdevice):
        for name, function in list(vars(cuda_libdevice).items()):
            if core.is_builtin(function) and name in vars(module):
                setattr(module, name, _outside(function))
    builder.set_grid_idx = _launching(builder.set_grid_idx)
    triton_interpreter._implicit_cvt = _with_flags(triton_interpreter._implicit_cvt)
    triton_interpreter._patch_lang = _once_a_replay(triton_interpreter._patch_lang)
    triton_interpreter._get_np_dtype = _looked_up_once(triton_interpreter._get_np_dtype)
    options = triton_interpreter.interpreter_builder.options
    triton_interpreter.interpreter_builder.options = replace(options, sanitize_overflow=False)  # as it is compiled
    executor = triton_interpreter.GridExecutor
    executor.__call__ = _named(executor.__call__)
    types.install()
    combine.install()


class _Kept:
    """The handle that Triton gets for a patch. `running` undoes the patch."""

    def restore(self) -> None:
        """Do nothing. `running` restores."""


def _once_a_replay(patch: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Patch `triton.language` for interpretation once per replay. Triton does it for every launch and every call of a
    device function, which took a seventh of a replay's time. It also searches the language for what to replace each
    time; here the replacements found in one replay are used again where a replay begins with a kernel whose file
    imports the language in the same way."""
    known: dict[tuple[ModuleType, ...], list[tuple[Any, str, Any]]] = {}

    def patched(function: Any) -> _Kept:
        seen = tuple(value for value in function.__globals__.values() if value is tl or value is core)
        if seen in _state.patches:
            return _Kept()
        if _state.patches:  # what is patched already is not found again, so the list would be incomplete
            _state.patches[seen] = patch(function)
        elif seen in known:
            scope = _state.patches[seen] = triton_interpreter._LangPatchScope()
            for owner, name, replacement in known[seen]:
                scope.set_attr(owner, name, replacement)
        else:
            scope = _state.patches[seen] = patch(function)
            known[seen] = [(owner, name, getattr(owner, name)) for owner, name, _ in scope._changes]
        return _Kept()

    return patched


def _looked_up_once(numpy_dtype: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """NumPy's dtype for a Triton dtype (a block type counts as its element type), from a cache. Triton builds its table
    for every operation."""
    known = functools.cache(numpy_dtype)

    def converted(dtype: Any) -> Any:
        return known(dtype.scalar) if type(dtype.scalar) is tl.dtype else numpy_dtype(dtype)

    return converted


def _computed(self: Any, library: str, path: str, symbol: str, arguments: list[Any], result: Any, is_pure: bool) -> Any:
    """The result of a libdevice function, computed in float64; raises Unsupported for a symbol not in FUNCTIONS."""
    if symbol not in FUNCTIONS:
        raise Unsupported(f"{symbol} of libdevice")
    with np.errstate(all="ignore"):
        made = FUNCTIONS[symbol](*(argument.data.astype(np.float64) for argument in arguments))
        data: Any = np.asarray(made).astype(SCALARS[str(result.scalar)])
    return triton_interpreter.TensorHandle(data, result.scalar)


def _outside(function: Callable[..., Any]) -> Callable[..., Any]:
    """A libdevice function that kernels can call in the interpreter, which does not patch libdevice itself."""

    def called(*arguments: Any) -> Any:
        return function(*arguments, _semantic=triton_interpreter.interpreter_semantic)

    return called


def _refused_cast(self: Any, source: Any, target: Any) -> Any:
    raise Outside("a kernel takes an address for a number, or a number for an address")


def _reordered(self: Any, first: Any, second: Any) -> Any:
    raise Unsupported("tl.cat with can_reorder, whose order of elements is the compiler's")


def _within_kind(bitcast: Callable[..., Any]) -> Callable[..., Any]:
    """A bitcast that refuses to turn a number into a pointer, or a pointer into a number."""

    def checked(self: Any, source: Any, target: Any) -> Any:
        if source.dtype.scalar.is_ptr() != target.scalar.is_ptr():
            return _refused_cast(self, source, target)
        return bitcast(self, source, target)

    return checked


def _launching(set_grid_idx: Callable[..., Any]) -> Callable[..., Any]:
    """Note that a launch follows: the interpreter calls this right before it calls a kernel for one program, which is
    another one where programs run in another order."""

    def launching(self: Any, *index: int) -> Any:
        _state.launched = True
        if not any(index):
            _state.sharing.begin_launch()
            _state.turn = _turns(self.grid_dim, _state.order)
        _state.sharing.begin_program()
        return set_grid_idx(self, *_state.turn.get(index, index))

    return launching


def _turns(grid: tuple[int, int, int], order: Order) -> dict[tuple[int, ...], tuple[int, ...]]:
    """By the index of a program in the usual order, the one that runs in its place; {} in the usual order."""
    if order == "forward":
        return {}
    every = list(np.ndindex(*grid))
    others = every[::-1] if order == "reversed" else random.Random(math.prod(grid)).sample(every, len(every))
    return dict(zip(every, others, strict=True))


def _with_flags(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Convert an argument to a tensor, and a bool to int1: the interpreter itself makes a bool 32 bits wide."""

    def converted(argument: Any) -> Any:
        if not isinstance(argument, bool):
            return convert(argument)
        return tl.tensor(triton_interpreter.TensorHandle(np.array([argument]), tl.int1), tl.int1)

    return converted


def _named(launch: Callable[..., Any]) -> Callable[..., Any]:
    """A launch that raises every failure as InterpreterError, also one in the preparation of arguments."""

    def launched(self: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return launch(self, *arguments, **keywords)
        except InterpreterError:
            raise
        except Exception as error:  # a bad kernel makes Triton's interpreter raise any type
            raise InterpreterError(repr(error)) from error

    return launched


# --- kernels -------------------------------------------------------------------------------------------------


def load(source: str, folder: Path) -> ModuleType:
    """Load extracted kernels, instrumented, from a file in `folder`; raises Unsupported for code that cannot be
    instrumented."""
    try:
        made = instrument(source)
    except NotInstrumented as error:
        raise Unsupported(str(error)) from error
    names = {ENTER: _entering(made.sites), LOCALS: locals, LANGUAGE: tl, "min": _builtin("min"), "max": _builtin("max")}
    module, _state.lines = load_kernels(made.source, folder, names), made.lines
    for own, value in list(vars(module).items()):
        if core.is_builtin(value):
            setattr(module, own, _late(value))
    return module


def _entering(sites: dict[str, Sites]) -> Callable[..., tuple[Any, ...]]:
    def enter(function: str, *values: Any) -> tuple[Any, ...]:
        launched, _state.launched = _state.launched, False
        return entered(function, _state.branches, sites[function], _state.memory, launched, values)

    return enter


def _late(builtin: Any) -> Callable[..., Any]:
    """A function of the language that a kernel's module imports by name. The interpreter replaces it in
    `triton.language` while a kernel runs, so each call looks it up there."""
    modules = [module for module in (tl, core, tl.math) if getattr(module, builtin.__name__, None) is builtin]
    if not modules:
        return builtin  # type: ignore[no-any-return]

    def called(*arguments: Any, **keywords: Any) -> Any:
        return getattr(modules[0], builtin.__name__)(*arguments, **keywords)

    return called


def _builtin(name: str) -> Callable[..., Any]:
    """`min` or `max` as compiled: elementwise if one of the values is a tensor."""

    def called(*values: Any, **keywords: Any) -> Any:
        return getattr(core, f"builtin_{name}")(*values, **keywords, _semantic=triton_interpreter.interpreter_semantic)

    return called
