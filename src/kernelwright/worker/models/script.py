"""The user's script: a function that returns the module, and `inputs()`, which returns what it is called with.

The module is copied onto fake tensors, so the user's own is not changed, and a model of any size takes no memory.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import unset_fake_temporarily as really
from torch.fx import Node

from kernelwright.errors import RequestError
from kernelwright.worker.generate.replacing import replaced
from kernelwright.worker.models.work import evaluated
from kernelwright.worker.reference.unmade import OnlySmallTensors, TooLargeError, faked


@dataclass(frozen=True)
class Arguments:
    """One named set of arguments. share: the part of the model's calls that have it."""

    name: str
    args: Any
    kwargs: Any
    share: float


@dataclass(frozen=True)
class Script:
    """names: the script's module-level ones. `train` and `autocast`, a dtype of torch, say how the module is called."""

    path: Path
    names: dict[str, Any]
    builder: str

    @property
    def train(self) -> bool:
        return bool(self.names.get("train", False))

    def autocast(self, device: str) -> contextlib.AbstractContextManager[object]:
        dtype = self.names.get("autocast")
        return contextlib.nullcontext() if dtype is None else torch.autocast(device, dtype)

    def build(self) -> nn.Module:
        """The module; of a compiled one, that which was compiled. Raises `RequestError`."""
        made = self._call(self.builder)
        made = getattr(made, "_orig_mod", made)
        if not isinstance(made, nn.Module):
            raise RequestError(f"{self.path}: {self.builder}() returns no torch.nn.Module but a {type(made).__name__}")
        return made.train(self.train)

    def inputs(self) -> list[Arguments]:
        """The sets of arguments. Those that state no share have equal parts of what is left. Raises `RequestError`."""
        made = self._call("inputs")
        if not isinstance(made, Mapping) or not made:
            raise RequestError(f"{self.path}: inputs() returns no dict of sets by name but a {type(made).__name__}")
        stated = {name: one["share"] for name, one in made.items() if isinstance(one, Mapping) and "share" in one}
        rest = max(0.0, 1 - sum(stated.values())) / max(1, len(made) - len(stated))
        return [self._set(str(name), one, float(stated.get(name, rest))) for name, one in made.items()]

    def _set(self, name: str, given: Any, share: float) -> Arguments:
        if isinstance(given, Mapping):
            kwargs = {str(key): one for key, one in given.items() if key not in ("args", "share")}
            return Arguments(name, tuple(given.get("args", ())), kwargs, share)
        return Arguments(name, tuple(given) if isinstance(given, list | tuple) else (given,), {}, share)

    def _call(self, name: str) -> Any:
        if not callable(function := self.names.get(name)):
            raise RequestError(f"{self.path} defines no function {name}()", "docs/whole-model.md shows a script")
        return function()


def read_script(place: str) -> Script:
    """The script at `FILE` or `FILE:FUNCTION`, executed. Raises `RequestError`."""
    file, _, builder = place.partition(":")
    if not Path(file).is_file():
        raise RequestError(f"no script at {file!r}", "name a Python file that defines build() and inputs()")
    path = Path(file).resolve()
    spec: Any = spec_from_file_location(f"script_{path.stem}", path)
    sys.modules[spec.name] = module = module_from_spec(spec)  # the compiler imports what a function's globals are of
    spec.loader.exec_module(module)
    return Script(path, vars(module), builder or "build")


@dataclass
class Faked:
    """A script's module and arguments on fake tensors of a device. values: the real values of those that are known, by
    the storage of the fake tensor. kept: such tensors, so that no other one gets their storage."""

    module: nn.Module
    sets: list[Arguments]
    mode: FakeTensorMode
    device: str
    values: dict[int, Tensor] = field(default_factory=dict)
    kept: list[Tensor] = field(default_factory=list)

    def known(self, tensor: Tensor) -> Tensor | None:
        """The real values of a fake tensor or of a view of one; None where they are not known."""
        real = self.values.get(tensor.untyped_storage()._cdata)
        if real is None or real.dtype != tensor.dtype:
            return None
        with really():
            return real.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def learn(self, results: Iterable[tuple[Any, Any]], known: Mapping[Node, Tensor]) -> None:
        """What the results of a graph are, where its inputs tell: a backward reads masks of the forward. known: their
        values."""
        for node, tensor in results:
            if isinstance(node, Node) and isinstance(tensor, Tensor):
                with really():
                    values = evaluated(node, known)
                if values is not None:
                    self.values[tensor.untyped_storage()._cdata] = values
                    self.kept.append(tensor)

    def place(self, tensor: Tensor) -> Tensor:
        """The tensor without memory, on the device. A subclass of Tensor stays one."""
        if type(tensor) not in (Tensor, nn.Parameter, nn.Buffer, FakeTensor):
            placed: Tensor = self.mode.from_tensor(tensor)
        else:
            placed = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=self.device)
            if not isinstance(tensor, FakeTensor | nn.Parameter):
                with really():
                    self.values[placed.untyped_storage()._cdata] = tensor.detach().cpu()
            is_trained = tensor.requires_grad
            is_parameter = isinstance(tensor, nn.Parameter)
            placed = nn.Parameter(placed, is_trained) if is_parameter else placed.requires_grad_(is_trained)
        return placed


def copied(value: Any, place: Callable[[Tensor], Tensor]) -> Any:
    """A deep copy with `place` of each tensor in it, wherever that is, such as in a cache."""

    def copies(own: Any) -> Any:
        return lambda tensor, memo: place(tensor)

    with replaced(*((kind, "__deepcopy__", copies) for kind in (Tensor, nn.Parameter))):
        return copy.deepcopy(value)


def on_fakes(script: Script, device: str) -> Faked:
    """The script's module and arguments as fake tensors of a device. Constructors that read values run for real."""
    module = None
    with faked() as mode, contextlib.suppress(DataDependentOutputException):
        module = script.build()
    module = module if module is not None else script.build()
    try:
        with OnlySmallTensors():
            sets = script.inputs()
    except TooLargeError:  # values of such inputs are not known
        with mode:
            sets = script.inputs()
    made = Faked(module, sets, mode, device)
    with mode:
        made.module, made.sets = copied((module, sets), made.place)
    return made
