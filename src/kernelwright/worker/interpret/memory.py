"""Memory accesses of interpreted kernels: checked, counted, and noted where their result is not the kernel's own.

`install` puts them in the place of the interpreter's. `accesses` is their state in this process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from triton.runtime import interpreter as triton_interpreter

from kernelwright.worker.interpret.activation import Memory, Unsupported
from kernelwright.worker.interpret.sharing import Sharing


class Outside(Exception):
    """Device code accesses memory outside of the arena, or converts between addresses and numbers."""


@dataclass
class Accesses:
    """first, last: address range of the arena. lines: the candidate's statements by line of the kernels' file.
    undefined: those of loads without `other` that had masked lanes, whose values are 0 here and not defined on a GPU.
    filled: which of these get other values instead (NaN, FILLER). is_watched: whether any of this is noted."""

    first: int = 0
    last: int = 0
    counts: Memory = field(default_factory=Memory)
    sharing: Sharing = field(default_factory=Sharing)
    lines: dict[int, str] = field(default_factory=dict)
    undefined: dict[str, None] = field(default_factory=dict)
    filled: Sequence[str] = ()
    is_watched: bool = False

    def begin(self, first: int, nbytes: int, is_watched: bool, filled: Sequence[str]) -> None:
        """Begin a replay on this memory. is_watched: whether to note what programs share, and undefined lanes."""
        self.first, self.last, self.filled, self.is_watched = first, first + nbytes, filled, is_watched
        self.undefined.clear()
        if is_watched:
            self.sharing.watch(first, nbytes)

    def end(self) -> None:
        """Allow no access, and watch nothing."""
        self.first = self.last = 0
        self.sharing.rest()


accesses = Accesses()

FILLER = 85
"""A whole number for lanes that are not defined: not 0, it fits into every type, and a loop over it ends soon."""


def install() -> None:
    """Patch Triton's interpreter in this process; call it once."""
    builder = triton_interpreter.InterpreterBuilder
    triton_interpreter._interpreter = Checked(triton_interpreter._interpreter)
    builder.create_masked_load = _with_other(builder.create_masked_load)
    builder.create_barrier = _with_barrier(builder.create_barrier)
    builder.create_dot = _with_barrier(builder.create_dot)
    steps = triton_interpreter.ReduceScanOpInterface
    steps.apply = _with_barrier(steps.apply)


def _with_barrier(run: Callable[..., Any]) -> Callable[..., Any]:
    """An operation after which all lanes of a program see what was stored before it."""

    def ran(*arguments: Any, **options: Any) -> Any:
        accesses.sharing.barrier()
        return run(*arguments, **options)

    return ran


def _with_other(load: Callable[..., Any]) -> Callable[..., Any]:
    """A masked load that notes masked lanes without `other`, and fills those of `accesses.filled`."""

    def loaded(self: Any, pointers: Any, mask: Any, other: Any, *more: Any, **options: Any) -> Any:
        if other is None and (accesses.is_watched or accesses.filled) and not np.all(mask.data):
            line = _line()
            accesses.undefined[line] = None
            if line in accesses.filled:
                element = pointers.get_element_ty()
                dtype = triton_interpreter._get_np_dtype(element)
                filler = np.nan if np.issubdtype(dtype, np.floating) else FILLER
                other = triton_interpreter.TensorHandle(np.full(pointers.data.shape, filler, dtype), element)
        return load(self, pointers, mask, other, *more, **options)

    return loaded


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
        accesses.counts.reads += 1
        _note(active, mask, is_store=False)
        return self.native.load(addresses, np.asarray(mask, dtype=bool), other, dtype)

    def store(self, addresses: Any, value: Any, mask: Any) -> Any:
        value = np.asarray(value)
        active = _check(addresses, mask, value.itemsize, "writes", value.size)
        accesses.counts.changes += 1
        _note(active, mask, is_store=True)
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
        accesses.counts.reads += 1
        accesses.sharing.atomic()
        before = run(*(np.asarray(one, order="C") if isinstance(one, np.ndarray) else one for one in arguments))
        after = self.native.load(addresses, mask, np.asarray(before), np.asarray(before).dtype)
        accesses.counts.changes += np.asarray(after).tobytes() != np.asarray(before).tobytes()
        return before


def _note(addresses: Any, mask: Any, is_store: bool) -> None:
    """Note an access, and the first that shares an element out of order by its line."""
    if accesses.sharing.access(addresses, np.flatnonzero(mask), is_store):
        accesses.sharing.found = _line()


def _line() -> str:
    """The candidate's line that is running."""
    frame = sys._getframe(2)
    while frame.f_back is not None and not frame.f_code.co_filename.endswith("kernels.py"):
        frame = frame.f_back
    return f"`{accesses.lines.get(frame.f_lineno, '')[:120]}` in {frame.f_code.co_name}"


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
    if lowest < accesses.first or highest + width > accesses.last:
        wrong = lowest if lowest < accesses.first else highest
        distance = accesses.first - wrong if wrong < accesses.first else wrong + width - accesses.last
        raise Outside(f"out of bounds: a kernel {does} {distance} bytes outside of all memory that it was given")
    return active
