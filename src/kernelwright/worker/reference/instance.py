"""An instance of a case: the reference with its inputs, and functions that run and describe it.

No function here reads values, so all of them also work on fake tensors, without memory. `load` makes the instances.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.errors import ProblemError
from kernelwright.model import Scalar, TensorSpec
from kernelwright.worker.plan.structure import arguments_from, result_of
from kernelwright.worker.reference.problem_module import call, floating_dtype
from kernelwright.worker.reference.wide import computed_in

T = TypeVar("T")

Input = Tensor | Scalar | None

HALF = (torch.float16, torch.bfloat16)
"""Dtypes of half precision."""


@dataclass(frozen=True)
class Instance:
    """The reference and its inputs, for one case and seed.

    module: in eval mode, no parameter requires a gradient. input_names: a name for each of `inputs`; init_names:
    likewise for the constructor's arguments. file: the problem file, for error messages. mutates: names of the inputs
    that forward changes in place. dtype: of tensors that forward creates itself, None for PyTorch's default. is_cast:
    whether `cast` made it; its float8 outputs are then widened, as PyTorch computes little with float8. before_float8:
    whether casts to float8 are left out. gradients: whether a call keeps the autograd graph. arguments: how inputs are
    nested in forward's arguments (`structure`), "" if they are not. keywords: names of the arguments that are passed by
    name. joint: how many of the last inputs are gradients of outputs. gradients_of: the inputs and parameters whose
    gradients are the last outputs (`gradients.py`).
    """

    module: nn.Module
    inputs: tuple[Input, ...]
    init_inputs: tuple[Any, ...]
    input_names: tuple[str, ...]
    init_names: tuple[str, ...]
    file: Path
    mutates: tuple[str, ...] = ()
    dtype: torch.dtype | None = None
    is_cast: bool = False
    before_float8: bool = False
    gradients: bool = False
    arguments: str = ""
    keywords: tuple[str, ...] = ()
    joint: int = 0
    gradients_of: tuple[str, ...] = ()

    def called(self) -> tuple[list[Any], dict[str, Any]]:
        """Forward's positional arguments, and those passed by name."""
        arguments = arguments_from(self.arguments, self.input_names, self.inputs)
        named = {name: arguments.pop(name) for name in self.keywords}
        return list(arguments.values()), named


@dataclass(frozen=True)
class Specs:
    """The shapes, dtypes and strides of an instance.

    parameters: parameters and buffers, by the module's own names ("conv.weight"). outputs: what forward returns, then
    the inputs that it changes in place. mutates: the names of these inputs. lies_in: for each returned output, the
    changed input whose memory it shares, "" if none. returns: how the returned outputs are nested (`structure`).
    gradients_of: the inputs and parameters whose gradients are the last returned outputs, if the problem states
    GRADIENTS.
    """

    inputs: tuple[TensorSpec | Scalar | None, ...]
    outputs: tuple[TensorSpec, ...]
    parameters: dict[str, TensorSpec]
    mutates: tuple[str, ...] = ()
    lies_in: tuple[str, ...] = ()
    returns: str = ""
    gradients_of: tuple[str, ...] = ()


def outputs(instance: Instance) -> tuple[Tensor, ...]:
    """The reference's outputs as a flat tuple, then the inputs that it changes in place, with their new values. The
    instance's own inputs are not changed."""
    return ran(with_copies(instance))


def accepted(ask: Callable[[], T]) -> T | None:
    """What `ask` gives; None if the reference refuses its values. Raises `ProblemError` if memory runs out."""
    try:
        return ask()
    except ProblemError as error:
        if is_out_of_memory(error):
            raise
        return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means out of memory, in our own code or in the problem's."""
    return isinstance(error, torch.OutOfMemoryError) or isinstance(error.__cause__, torch.OutOfMemoryError)


def with_copies(instance: Instance) -> Instance:
    """The instance for one call, with copies of the inputs that forward changes."""
    named = zip(instance.input_names, instance.inputs, strict=True)
    inputs = tuple(v.clone() if isinstance(v, Tensor) and name in instance.mutates else v for name, v in named)
    return replace(instance, inputs=inputs)


def with_tensors(instance: Instance, change: Callable[[Tensor], Tensor]) -> Instance:
    """The instance with changed tensors among its inputs."""
    return replace(instance, inputs=tuple(change(one) if isinstance(one, Tensor) else one for one in instance.inputs))


def ran(instance: Instance) -> tuple[Tensor, ...]:
    """Like `outputs`, but changes the instance's own inputs."""
    made = returned(instance)[0]
    return tuple(one.to(instance.dtype) if is_float8(one.dtype) else one for one in made) if instance.is_cast else made


def is_float8(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point and dtype.itemsize == 1


def returned(instance: Instance) -> tuple[tuple[Tensor, ...], str]:
    """Like `ran`, and how the returned outputs are nested.

    Raises `ProblemError` if forward changes a tensor that is not in `mutates`: the float64 reference and the candidate
    would then get other values. Also if it leaves an input in `mutates` unchanged, or returns other than dense tensors.
    """
    before = [(what, tensor, version_of(tensor)) for what, tensor in given(instance)]
    with torch.set_grad_enabled(instance.gradients), computed_in(instance.dtype, instance.before_float8):
        args, named = instance.called()
        made = call(instance.file, "forward", instance.module, *args, **named)
    after = dict(given(instance))
    changed = [what for what, one, version in before if after.get(what) is not one or version_of(one) != version]
    unchanged = [name for name in mutated(instance) if f"input {name}" not in changed]
    if unchanged:
        raise ProblemError(
            f"{instance.file}: MUTATES lists {', '.join(unchanged)}, but PyTorch sees no change in forward",
            "remove it from MUTATES, or change it with PyTorch operators",
        )
    if unlisted := [what for what in changed if what.removeprefix("input ") not in instance.mutates]:
        names = [what.removeprefix("input ") for what in changed if what.startswith("input ")]
        kind, name = unlisted[0].split(maxsplit=1)
        listed = f", or state MUTATES = {tuple(names)!r}".replace("'", '"') if kind == "input" else ""
        raise ProblemError(
            f"{instance.file}: forward changes {', '.join(unlisted)} in place, so a second call would get other values",
            f"work on a copy: {name.split('.')[-1]} = {name if kind == 'input' else f'self.{name}'}.clone(){listed}",
        )
    several: list[Any] = []
    try:
        structure = result_of(made, several)
    except ValueError as error:
        raise ProblemError(
            f"{instance.file}: forward returns {error}", "return tensors in lists, tuples and dicts"
        ) from error
    if made is None and instance.mutates:
        structure = ""
    elif not several:
        what = "output 0 of forward is a" if made is None else "forward returns an empty"
        raise ProblemError(f"{instance.file}: {what} {type(made).__name__}, expected a tensor", "return a tensor")
    for position, output in enumerate(several):
        if not isinstance(output, Tensor):
            raise ProblemError(
                f"{instance.file}: output {position} of forward is a {type(output).__name__}, expected a tensor",
                "forward returns tensors, also in lists, tuples and dicts",
            )
        if kind := unusual(output):
            raise ProblemError(f"{instance.file}: output {position} of forward is {kind}", "expected a dense tensor")
    return (*several, *mutated(instance).values()), structure


def mutated(instance: Instance) -> dict[str, Tensor]:
    """The inputs that forward changes in place, in the order of its arguments."""
    named = zip(instance.input_names, instance.inputs, strict=True)
    return {name: value for name, value in named if name in instance.mutates and isinstance(value, Tensor)}


def unusual(tensor: Tensor) -> str:
    """The kind of a tensor whose elements cannot be read one by one (nested, sparse, …); "" for a dense tensor."""
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout is not torch.strided:
        return f"a sparse tensor ({tensor.layout})"
    if tensor.is_quantized:
        return "a quantized tensor"
    return "a tensor without data (device meta)" if tensor.is_meta else ""


def given(instance: Instance) -> list[tuple[str, Tensor]]:
    """Every tensor that a kernel receives, with its name in reports: inputs, then parameters and buffers."""
    named = zip(instance.input_names, instance.inputs, strict=True)
    found = [(f"input {name}", value) for name, value in named if isinstance(value, Tensor)]
    found += [(f"parameter {name}", parameter) for name, parameter in instance.module.named_parameters()]
    return found + [(f"buffer {name}", buffer) for name, buffer in instance.module.named_buffers()]


def version_of(tensor: Tensor) -> int:
    """PyTorch's count of in-place changes of a tensor, also through views; 0 for inference tensors, which have none."""
    return 0 if tensor.is_inference() else tensor._version


def cast(instance: Instance, dtype: str) -> Instance:
    """A copy of `instance` with its floating-point tensors in another dtype (float64 for the float64 reference), and
    its complex tensors in the complex dtype of that precision."""
    wanted = floating_dtype(instance.file, dtype)
    assert wanted is not None

    def converted(tensor: Tensor) -> Tensor:
        if tensor.is_complex():
            return tensor.to(wanted.to_complex())
        return tensor.to(wanted) if tensor.is_floating_point() else tensor

    module = copy.deepcopy(instance.module)
    for tensor in [*module.parameters(), *module.buffers()]:
        tensor.data = converted(tensor.data)
    return replace(with_tensors(instance, converted), module=module, dtype=wanted, is_cast=True)


def framework_outputs(instance: Instance) -> tuple[Tensor, ...]:
    """The outputs of eager PyTorch; if the CPU has no half-precision kernel, float32 outputs rounded to the dtype."""
    try:
        return outputs(instance)
    except ProblemError as error:
        if "not implemented for" not in str(error):
            raise
        wide = outputs(cast(instance, "float32"))
        dtype = next(v.dtype for v in instance.inputs if isinstance(v, Tensor) and v.is_floating_point())
        return tuple(w.to(dtype) if w.is_floating_point() else w for w in wide)


def specs(instance: Instance) -> Specs:
    """The shapes, dtypes and strides in `instance`; runs its module once."""
    named = [*instance.module.named_parameters(), *instance.module.named_buffers()]
    called = with_copies(instance)
    (made, structure), changed = returned(called), mutated(called)
    return Specs(
        inputs=tuple(described(value) if isinstance(value, Tensor) else value for value in instance.inputs),
        outputs=tuple(described(output) for output in made),
        parameters={name: described(tensor) for name, tensor in named},
        mutates=tuple(changed),
        lies_in=tuple(
            next((name for name, tensor in changed.items() if share_memory(tensor, output)), "")
            for output in made[: len(made) - len(changed)]
        ),
        returns=structure,
        gradients_of=instance.gradients_of,
    )


def share_memory(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors share one storage."""
    return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)


class Watching(TorchDispatchMode):
    """see: called with each operator that runs, its arguments, those by name, and its result."""

    def __init__(self, see: Callable[[Any, tuple[Any, ...], dict[str, Any], Any], object]) -> None:
        super().__init__()
        self._see = see

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self._see(func, args, kwargs or {}, made)
        return made


def operator_name(func: Any) -> str:
    """The name of an operator that a dispatch mode sees, without its namespace and overload."""
    return str(func._schema.name.partition("::")[2])


def arguments_of(func: Any, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of the operator's schema, with their defaults."""
    known = {one.name: one.default_value for one in func._schema.arguments if one.has_default_value()}
    return known | dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | named


def random_operators(instance: Instance) -> list[str]:
    """The names of the operators in forward whose result depends on a seed, according to PyTorch."""
    ran: set[Any] = set()
    with Watching(lambda func, *_: ran.add(func)):
        outputs(instance)
    return sorted({one.__name__.partition(".")[0] for one in ran if torch.Tag.nondeterministic_seeded in one.tags})


def compulsory_bytes(specs: Specs) -> int:
    """Bytes of every input, parameter and output, once each; an expanded dimension counts once. `work.least_work` has
    the bytes that a call really has to read and write."""
    inputs = [spec for spec in specs.inputs if isinstance(spec, TensorSpec)]
    return sum(_bytes(spec) for spec in [*inputs, *specs.parameters.values(), *specs.outputs])


def described(tensor: Tensor) -> TensorSpec:
    """The spec of a tensor."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorSpec(shape=tuple(tensor.shape), dtype=dtype, stride=tuple(tensor.stride()))


def _bytes(spec: TensorSpec) -> int:
    dtype = getattr(torch, spec.dtype)
    # A dimension of stride 0 repeats the same memory.
    sizes = (min(size, 1) if stride == 0 else size for size, stride in zip(spec.shape, spec.stride, strict=True))
    return int(dtype.itemsize) * math.prod(sizes)
