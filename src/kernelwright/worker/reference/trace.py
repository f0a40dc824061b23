"""Operator traces of a problem: what its constructor, get_inputs and forward call at one size, and on which tensors."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernelwright.model import TensorSpec
from kernelwright.worker.bounds.flop import flop_of, operands
from kernelwright.worker.reference.instance import Instance, Specs, Watching, operator_name
from kernelwright.worker.reference.prepare import without_objects


class Seen(NamedTuple):
    """A tensor in a trace. number: its place in the order in which the trace met the tensors."""

    number: int
    dtype: torch.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One call of an operator. arguments: by the names of its schema. made: its output tensors. draws: whether
    get_inputs calls it, so that only values of inputs depend on it."""

    operator: str
    arguments: dict[str, Any]
    made: tuple[Seen, ...]
    draws: bool = False


@dataclass(frozen=True)
class Trace:
    """The operator calls of a problem at one size, and the specs of its tensors.

    given: inputs, parameters, buffers and outputs, by name. plain: inputs and parts of constructor arguments that are
    not tensors. elements: of all tensors in `given`.
    """

    calls: tuple[Call, ...]
    given: dict[str, TensorSpec]
    plain: dict[str, Any]
    flop: int
    elements: int

    @property
    def made(self) -> int:
        """Elements of the largest tensor that an operator makes, such as the distances of all pairs."""
        return max((math.prod(one.shape) for call in self.calls for one in call.made), default=0)

    @property
    def rows(self) -> int | None:
        """The first dimension of the first input that has one."""
        inputs = [spec.shape for name, spec in self.given.items() if name.startswith("input ")]
        return next((shape[0] for shape in inputs if shape), None)


class Recorder(Watching):
    """Records every call of an ATen operator."""

    def __init__(self) -> None:
        super().__init__(self._record)
        self.calls: list[Call] = []
        self.flop = 0
        self._numbers: dict[int, int] = {}
        self._kept: list[Tensor] = []  # so that no two tensors have one id
        self._draws = False

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Inside, inputs are drawn."""
        self._draws = True
        yield
        self._draws = False

    def _record(self, func: Any, args: Any, kwargs: dict[str, Any], made: Any) -> None:
        if func.namespace == "prim":
            return
        names = [argument.name for argument in func._schema.arguments]
        arguments = {name: self._plain(value) for name, value in (*zip(names, args, strict=False), *kwargs.items())}
        if func is torch.ops.aten.mkldnn_rnn_layer.default:  # all steps of a layer, which kernels have one by one
            arguments["steps"] = f"{args[0].shape[0]} steps"
        seen = tuple(self._seen(one) for one in (made if isinstance(made, list | tuple) else (made,))
                     if isinstance(one, Tensor))  # fmt: skip
        self.calls.append(Call(operator_name(func), arguments, seen, self._draws))
        if operands(func, args):
            self.flop += flop_of(func, args, kwargs, made)

    def _seen(self, tensor: Tensor) -> Seen:
        if id(tensor) not in self._numbers:
            self._numbers[id(tensor)] = len(self._numbers)
            self._kept.append(tensor)
        return Seen(self._numbers[id(tensor)], tensor.dtype, tuple(tensor.shape))

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._seen(value)
        if isinstance(value, torch.UntypedStorage):  # of a file: loading it twice gives two objects
            return value.nbytes()
        if isinstance(value, torch.Generator):  # each run of get_inputs has its own
            return str(value.device)
        return tuple(map(self._plain, value)) if isinstance(value, list | tuple) else value


@contextmanager
def quiet_meta() -> Iterator[None]:
    """Inside, PyTorch does not log failures on fake tensors: the search for cases expects them."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def trace_of(recorder: Recorder, instance: Instance, specs: Specs) -> Trace:
    """The trace of an instance. recorder: active while `instance` was made and `specs` were found."""
    named = zip(instance.input_names, specs.inputs, strict=True)
    inputs = {f"input {name}": spec for name, spec in named if isinstance(spec, TensorSpec)}
    parameters = {f"parameter {name}": spec for name, spec in specs.parameters.items()}
    given = {**inputs, **parameters, **{f"output {i}": spec for i, spec in enumerate(specs.outputs)}}
    plain = {f"input {name}": value for name, value in zip(instance.input_names, specs.inputs, strict=True)
             if not isinstance(value, TensorSpec)}  # fmt: skip
    for name, value in zip(instance.init_names, instance.init_inputs, strict=False):
        plain |= dict(_leaves(f"argument {name}", without_objects(value)))
    elements = sum(math.prod(spec.shape) for spec in given.values())
    return Trace(tuple(recorder.calls), given, plain, recorder.flop, elements)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The type and the parts of a constructor argument, by name: an attribute of a configuration may be a count."""
    if isinstance(value, Tensor):
        return
    if not isinstance(value, dict | list | tuple):
        yield name, value
        return
    yield name, type(value)
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(f"{name}.{key}", one)
