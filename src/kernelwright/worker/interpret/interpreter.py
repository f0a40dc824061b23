"""Triton's CPU interpreter, with checks of memory accesses and comparisons with the compiler's report.

`install` patches the interpreter once per process. `load` loads instrumented kernels. A replay runs inside `running`.
TRITON_INTERPRET has to be set before Triton is imported.
"""

from __future__ import annotations

import functools
import math
import random
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
from kernelwright.worker.interpret import combine, memory, types
from kernelwright.worker.interpret.activation import SCALARS, Diverged, Unsupported, entered
from kernelwright.worker.interpret.memory import Accesses, Outside, accesses

__all__ = ["Diverged", "Outside", "Unsupported", "install", "load", "running"]

UNTRUE_TENSORS = ("validate", "materialize_pointers")
"""Functions of the interpreter whose assertions check the hardware's rules for tensor descriptors."""


@dataclass
class _State:
    """launched: whether the next function call is a launch by the host. patches: objects that undo the interpreter's
    changes to `triton.language`, by the modules that a kernel imports. order: in which the programs of a launch run;
    turn: the indices of those of the current one."""

    branches: Branches = field(default_factory=lambda: Branches([]))
    launched: bool = False
    patches: dict[tuple[ModuleType, ...], Any] = field(default_factory=dict)
    order: Order = "forward"
    turn: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)


_state = _State()


@contextmanager
def running(
    arena: torch.Tensor, reports: Sequence[Sequence[Specialised]], order: Order = "forward", is_watched: bool = False,
    filled: Sequence[str] = (),
) -> Iterator[Accesses]:  # fmt: skip
    """Context for a replay, with what is noted of its accesses. arena: all memory that kernels may access. reports: the
    compilers' reports of every launch. is_watched: whether to note what programs share. filled: lines of loads without
    `other` whose masked lanes are not 0.

    Raises Outside, Diverged or Unsupported; AssertionError for a fault that would also break the kernel on a device.
    """
    storage = arena.untyped_storage()
    accesses.begin(storage.data_ptr(), storage.nbytes(), is_watched, filled)
    _state.branches, _state.order = Branches(reports), order
    combine.pairing.is_other = order == "reversed"
    try:
        yield accesses
    except InterpreterError as error:
        raise cause_of(error) from error
    finally:
        accesses.end()
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


# --- patches -------------------------------------------------------------------------------------------------


def install() -> None:
    """Patch Triton's interpreter in this process."""
    builder = triton_interpreter.InterpreterBuilder
    if isinstance(triton_interpreter._interpreter, memory.Checked):
        return
    memory.install()
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
    triton_interpreter._patch_attr = _direct
    triton_interpreter._patch_lang = _once_a_replay(triton_interpreter._patch_lang)
    triton_interpreter._get_np_dtype = _looked_up_once(triton_interpreter._get_np_dtype)
    options = triton_interpreter.interpreter_builder.options
    triton_interpreter.interpreter_builder.options = replace(options, sanitize_overflow=False)  # as it is compiled
    executor = triton_interpreter.GridExecutor
    executor.__call__ = _named(executor.__call__)
    types.install()
    combine.install()


def _direct(owner: Any, name: str, builtin: Any, builder: Any, scope: Any) -> None:
    """Patch a builtin of the language with one that Triton's semantic is given to, without the two functions of Triton
    around it that look for one."""
    function = getattr(builtin, "__wrapped__", builtin)

    def called(*arguments: Any, **keywords: Any) -> Any:
        keywords["_semantic"] = triton_interpreter.interpreter_semantic
        return function(*arguments, **keywords)

    scope.set_attr(owner, name, called)


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
    imports: dict[tuple[int, int], tuple[ModuleType, ...]] = {}  # by the file that the function is in

    def patched(function: Any) -> _Kept:
        names = function.__globals__
        if (file := (id(names), len(names))) not in imports:
            imports[file] = tuple(value for value in names.values() if value is tl or value is core)
        seen = imports[file]
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
            accesses.sharing.begin_launch()
            _state.turn = _turns(self.grid_dim, _state.order)
        accesses.sharing.begin_program()
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
    module, accesses.lines = load_kernels(made.source, folder, names), made.lines
    for own, value in list(vars(module).items()):
        if core.is_builtin(value):
            setattr(module, own, _late(value))
    return module


def _entering(sites: dict[str, Sites]) -> Callable[..., tuple[Any, ...]]:
    def enter(function: str, *values: Any) -> tuple[Any, ...]:
        launched, _state.launched = _state.launched, False
        return entered(function, _state.branches, sites[function], accesses.counts, launched, values)

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
