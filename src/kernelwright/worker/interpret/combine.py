"""Reductions and scans of interpreted values, combined in the shape of a tree.

A GPU combines n values in about log2(n) steps. Triton's interpreter combines them one after the other, so that the
rounding errors of a long block add up to many times those of a GPU, and calls a function of two numbers n - 1 times.
Here it is called for all pairs of a step at once: a value that is a number to the kernel then holds one number for each
pair. A function that branches on such a value (`if`), or fills a block with it, is called for one pair at a time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

Arrays = list[Any]
"""NumPy arrays of one shape, combined along their first axis: one for each value of a tuple."""
Combine = Callable[[Arrays, Arrays], Arrays]


class Pairing:
    """is_other: whether a reduction pairs neighbours, the second before the first, and not its halves."""

    is_other = False


pairing = Pairing()


class ManyNumbers(Exception):
    """A function branches on a value that stands for many numbers, or fills a block with it."""


def install() -> None:
    """Patch Triton's interpreter in this process; call it once."""
    reductions, scans = triton_interpreter.ReduceOps, triton_interpreter.ScanOps
    reductions.sum = lambda self, value: _reduction(self, _each(np.add), (value,))[0]
    reductions.generic_reduce = lambda self, values: _reduction(self, _function(self, values), values)
    scans.cumsum = lambda self, value: _scan(self, _each(np.add), (value,))
    scans.cumprod = lambda self, value: _scan(self, _each(np.multiply), (value,))
    scans.generic_scan = lambda self, values: _scan(self, _function(self, values), values)
    triton_interpreter._patch_lang_tensor = _branching_on_one(triton_interpreter._patch_lang_tensor)
    builder = triton_interpreter.InterpreterBuilder
    builder.create_splat = _spreading_one(builder.create_splat)


# --- trees ---------------------------------------------------------------------------------------------------


def reduced(combine: Combine, arrays: Arrays) -> Arrays:
    """The arrays without their first axis. Its halves are combined until one element is left, as the threads of a GPU
    do: the function has to be commutative, which Triton requires of a reduction. `pairing` shows one that is not."""
    while (half := len(arrays[0]) // 2) > 0:
        if pairing.is_other:
            arrays = combine([array[1::2] for array in arrays], [array[0::2] for array in arrays])
        else:
            arrays = combine([array[:half] for array in arrays], [array[half:] for array in arrays])
    return [array[0] for array in arrays]


def scanned(combine: Combine, arrays: Arrays) -> Arrays:
    """Each element combined with all before it, in their order: pairs of neighbours are scanned, and the elements
    between them are combined with the pair before."""
    if len(arrays[0]) == 1:
        return arrays
    first, second = [array[0::2] for array in arrays], [array[1::2] for array in arrays]
    pairs = scanned(combine, combine(first, second))
    found = [np.empty_like(array) for array in arrays]
    for one, array, pair in zip(found, arrays, pairs, strict=True):
        one[0], one[1::2] = array[0], pair
    if len(arrays[0]) > 2:
        between = combine([pair[:-1] for pair in pairs], [array[1:] for array in first])
        for one, new in zip(found, between, strict=True):
            one[2::2] = new
    return found


# --- functions of two values ---------------------------------------------------------------------------------


def _each(ufunc: np.ufunc) -> Combine:
    return lambda left, right: [ufunc(left[0], right[0])]


def _function(self: Any, values: tuple[Any, ...]) -> Combine:
    """A kernel's function of two values (of two pairs, …)."""
    dtypes = [value.dtype for value in values]
    is_for_one = False

    def of(arrays: Arrays) -> list[Any]:
        return [tl.tensor(triton_interpreter.TensorHandle(array, dtype), dtype)
                for array, dtype in zip(arrays, dtypes, strict=True)]  # fmt: skip

    def called(left: Arrays, right: Arrays) -> Arrays:
        result = self.combine_fn.fn(*of(left), *of(right))
        made = [result] if len(left) == 1 else [*result]
        return [_as(getattr(getattr(value, "handle", None), "data", value), array)
                for value, array in zip(made, left, strict=True)]  # fmt: skip

    def combine(left: Arrays, right: Arrays) -> Arrays:
        nonlocal is_for_one
        if not is_for_one:
            try:
                return called(left, right)
            except Exception:  # noqa: BLE001 - an error of the function itself shows again for one pair
                is_for_one = True
        found = [np.empty_like(array) for array in left]
        for at in np.ndindex(left[0].shape):
            made = called([array[at].reshape(1) for array in left], [array[at].reshape(1) for array in right])
            for one, new in zip(found, made, strict=True):
                one[at] = new[0]
        return found

    return combine


def _as(data: Any, array: Any) -> Any:
    """A copy of numbers in the dtype and the shape of `array`; one number counts for all."""
    return np.broadcast_to(np.asarray(data).astype(array.dtype), array.shape)


# --- in place of Triton's methods ----------------------------------------------------------------------------


def _reduction(self: Any, combine: Combine, values: tuple[Any, ...]) -> list[Any]:
    arrays = [value.handle.data for value in values]
    axis = None if self.axis is None else operator.index(self.axis)
    along = [array.reshape(-1) if axis is None else np.moveaxis(array, axis, 0) for array in arrays]
    found = reduced(combine, along)
    if self.keep_dims:
        kept = (1,) * arrays[0].ndim
        found = [np.reshape(array, kept) if axis is None else np.expand_dims(array, axis) for array in found]
    return [self.to_tensor(array, value.dtype) for array, value in zip(found, values, strict=True)]


def _scan(self: Any, combine: Combine, values: tuple[Any, ...]) -> list[Any]:
    axis = operator.index(self.axis)
    found = scanned(combine, [np.moveaxis(value.handle.data, axis, 0) for value in values])
    return [self.to_tensor(np.moveaxis(array, 0, axis), value.dtype)
            for array, value in zip(found, values, strict=True)]  # fmt: skip


def _branching_on_one(patch: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Triton's patch of `tl.tensor`, with a truth value that raises `ManyNumbers` for a number that is many here."""

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        is_true = tensor.__bool__

        def checked(self: Any) -> bool:
            refuse_many(self.handle, self.type)
            return bool(is_true(self))

        scope.set_attr(tensor, "__bool__", checked)

    return patched


def _spreading_one(splat: Callable[..., Any]) -> Callable[..., Any]:
    """A block of one number; raises `ManyNumbers` for a number that is many here."""

    def spread(self: Any, block: Any, number: Any) -> Any:
        refuse_many(number, number.dtype)
        return splat(self, block, number)

    return spread


def refuse_many(handle: Any, kind: Any) -> None:
    """Raise `ManyNumbers` for a number that is many here."""
    if handle.data.size > 1 and not kind.is_block():
        raise ManyNumbers("a value that stands for many numbers decides a branch or fills a block")
