"""Calls a live object, and what was written of it, with the example, and compares the results."""

from __future__ import annotations

import contextlib
import copy
import importlib
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kernelwright.errors import ProblemError
from kernelwright.problems.live.inputs import Call

ALLOWED = 2
"""Largest difference from the live object's result, as a multiple of the difference of two calls of it."""


class Answer(NamedTuple):
    """The result of a call. tensors: those in it, then the gradients. changed: names of the inputs that it changed in
    place."""

    result: Any
    tensors: list[Any]
    changed: tuple[str, ...]


def answer_of(live: Any, call: Call, read: Callable[[Any], list[Any]], gradients: bool) -> Answer:
    """Call `live`, or a copy of a module, on copies of the example, not compiled. read: the tensors in a value.
    gradients: whether those of inputs and parameters are computed. Raises `ProblemError` if the call puts other
    tensors into its arguments."""
    torch = sys.modules["torch"]
    importlib.import_module("torch.compiler")
    memo = {id(one): one.detach().clone().requires_grad_(gradients and one.is_floating_point())
            for one in call.tensors.values()}  # fmt: skip
    inputs = [memo[id(one)] for one in call.tensors.values()]
    positional, named = copy.deepcopy((call.positional, call.named), memo)
    before = [one._version for one in inputs]
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    live = apart(live) if isinstance(live, torch.nn.Module) else live
    with (
        torch.random.fork_rng(devices), torch.compiler.set_stance("force_eager"), torch.set_grad_enabled(gradients)
    ):  # fmt: skip
        result = live(*positional, **named)
        tensors = read(result)
        found = _gradients(live, inputs, tensors) if gradients else []
    if any(one is not other for one, other in zip(read((positional, named)), inputs, strict=True)):
        raise ProblemError(
            "the call puts other tensors into one of its arguments, as into a cache",
            "write a function that takes the old tensors and returns the new ones",
        )
    changed = tuple(name for name, one, then in zip(call.tensors, inputs, before, strict=True) if one._version != then)
    return Answer(result, [one.detach() for one in (*tensors, *found)], changed)


def apart(module: Any) -> Any:
    """A copy with the same parameters, in evaluation mode, without what the module keeps between calls until it is
    trained again. Raises `ProblemError` if it cannot be copied."""
    torch = sys.modules["torch"]
    shared = {id(one): one for one in module.parameters()}
    held = [one for part in module.modules() for one in vars(part).values() if isinstance(one, torch.Tensor)]
    shared |= {id(one): one.detach() for one in held if one.grad_fn is not None}  # which PyTorch does not copy
    try:
        made = copy.deepcopy(module, shared)
        made.train()  # which may return nothing
        made.eval()
    except Exception as error:  # any class may state how it is copied
        raise ProblemError(f"the module cannot be copied: {said(error)}", "remove that attribute first") from error
    return made


def _gradients(live: Any, inputs: list[Any], tensors: list[Any]) -> list[Any]:
    """Of inputs and parameters, for the same gradients of the outputs at each call; zeros where there is none."""
    torch = sys.modules["torch"]
    generator = torch.Generator().manual_seed(0)
    wanted = [one for one in tensors if one.requires_grad]
    given = [torch.randn(one.shape, generator=generator).to(one) for one in wanted]
    leaves = [one for one in (*inputs, *getattr(live, "parameters", list)()) if one.requires_grad]
    return [*torch.autograd.grad(wanted, leaves, given, materialize_grads=True, allow_unused=True)]


def difference(answer: Answer, first: Answer, second: Answer) -> str:
    """How an answer differs from two of the live object, in words; "" if it is the same, bit for bit where these two
    are, else within `ALLOWED` times their difference."""
    if len(answer.tensors) != len(first.tensors):
        return f"{len(answer.tensors)} tensors instead of {len(first.tensors)}"
    for place, (one, two, other) in enumerate(zip(first.tensors, second.tensors, answer.tensors, strict=True)):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"tensor {place} is {other.dtype} {[*other.shape]} instead of {one.dtype} {[*one.shape]}"
        if (far := _distance(one, other)) > ALLOWED * _distance(one, two):
            return f"tensor {place} differs by up to {far:.3g}"
    return ""


def _distance(one: Any, other: Any) -> float:
    """The largest difference of two elements; infinite where only one of them is finite."""
    torch = sys.modules["torch"]
    differs = ~((one == other) | ((one != one) & (other != other)))
    wide = torch.complex128 if one.is_complex() else torch.float64
    far = (one.to(wide) - other.to(wide)).abs()[differs].nan_to_num(nan=float("inf"), posinf=float("inf"))
    return float(far.max()) if far.numel() else 0.0


@contextlib.contextmanager
def loaded(file: Path, home: str) -> Iterator[dict[str, Any]]:
    """The names that the written problem at `file` defines, in the caller's process. home: its session's module. Raises
    `ProblemError` if it does not run."""
    path = [*sys.path]
    sys.modules.pop(home, None)
    try:
        with sys.modules["torch"].random.fork_rng(devices=[]):
            yield runpy.run_path(str(file))
    except ProblemError:
        raise
    except Exception as error:  # the text is of the caller's program and may raise anything
        raise ProblemError(f"what was written does not run: {said(error)}") from error
    finally:
        sys.path[:] = path
        sys.modules.pop(home, None)


def said(error: Exception) -> str:
    """The error in one line."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
