"""Forward and backward as one computation, for problems that state GRADIENTS.

The joint reference takes forward's inputs, then a gradient for each floating-point output (`grad_0`, …). It returns
forward's outputs, then the gradients of each floating-point input and of each trained parameter, as PyTorch's autograd
computes them. The judge, the bounds and the timing treat the joint reference like any forward.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from kernelwright.errors import ProblemError
from kernelwright.model import TensorSpec
from kernelwright.worker.reference.instance import Instance, described, returned, with_copies

PREFIX = "grad_"


class Joint(nn.Module):
    """A mixin for a problem's Model: calls the Model's forward, then autograd."""

    joint_inputs: tuple[int, ...]
    """Positions of the inputs whose gradients are returned."""
    joint_trained: tuple[str, ...]
    """Names of the parameters whose gradients are returned."""
    joint_taken: int
    """How many of the last arguments are gradients of outputs."""
    joint_forward: Callable[..., Any] | None = None
    """The Model's forward, compiled; None: the Model's own forward runs."""

    def forward(self, *given: Any) -> tuple[Tensor, ...]:
        inputs, gradients = list(given[: -self.joint_taken]), given[-self.joint_taken :]
        is_differentiated = torch.is_grad_enabled()
        parameters = [attrgetter(name)(self) for name in self.joint_trained]  # also tensors in place of parameters
        with torch.enable_grad(), requiring_gradients(parameters):
            for position in self.joint_inputs:
                value = inputs[position]
                inputs[position] = (
                    value if is_differentiated and value.requires_grad else value.detach().requires_grad_()
                )
            made = (self.joint_forward or super().forward)(*inputs)
            several = tuple(made) if isinstance(made, list | tuple) else (made,)
            wanted = [*(inputs[position] for position in self.joint_inputs), *parameters]
            found = torch.autograd.grad(
                [output for output in several if output.is_floating_point()], wanted, gradients,
                allow_unused=True, materialize_grads=True, create_graph=is_differentiated,
            )  # fmt: skip
        joined = (*several, *found)
        return joined if is_differentiated else tuple(tensor.detach() for tensor in joined)


@contextmanager
def requiring_gradients(parameters: Sequence[Tensor]) -> Iterator[None]:
    """Parameters require a gradient inside, and afterwards what they required before."""
    needed = [parameter.requires_grad for parameter in parameters]
    for parameter in parameters:
        parameter.requires_grad_(True)
    try:
        yield
    finally:
        for parameter, was in zip(parameters, needed, strict=True):
            parameter.requires_grad_(was)


def compiled_forward(module: Joint, mode: str | None) -> Joint:
    """A copy of the module with compiled forward and backward. It shares the parameters."""
    found = copy.copy(module)
    found.joint_forward = torch.compile(super(Joint, module).forward, mode=mode)
    return found


@dataclass(frozen=True)
class Differentiated:
    """floating: the shapes of the outputs that have a gradient. trained: the names of the parameters that have one."""

    floating: tuple[TensorSpec, ...]
    trained: tuple[str, ...]


def differentiated(instance: Instance, trained: tuple[str, ...]) -> Differentiated:
    """What autograd finds in a forward; runs it once. trained: parameters that require a gradient. Those that forward
    does not use have none: `.grad` stays None in a program. Only fake tensors say that: with values, a forward may use
    some parameters (its experts) for some values only."""
    parameters = [instance.module.get_parameter(name) for name in trained]
    with requiring_gradients(parameters):
        made, structure = returned(replace(with_copies(instance), gradients=True))
        outputs = [output for output in made if output.requires_grad]
        ones = [torch.ones_like(output) for output in outputs]
        found = torch.autograd.grad(outputs, parameters, ones, allow_unused=True) if outputs and parameters else ()
    if structure:
        raise ProblemError(
            f"{instance.file}: GRADIENTS does not support outputs that are nested",
            "return one tensor, or a flat tuple of tensors",
        )
    return Differentiated(
        tuple(described(output) for output in made if output.is_floating_point()),
        tuple(name for name, gradient in zip(trained, found, strict=False) if gradient is not None),
    )


def with_gradients(instance: Instance, known: Differentiated) -> Instance:
    """The instance with its backward, and gradients of its outputs drawn from torch's generator on its default device.

    known: of the instance, or of another one of its case and dtype. Raises `ProblemError` where there is nothing to
    differentiate.
    """
    floating, trained = known.floating, known.trained
    inputs = tuple(i for i, v in enumerate(instance.inputs) if isinstance(v, Tensor) and v.is_floating_point())
    if not floating or not (inputs or trained):
        raise ProblemError(
            f"{instance.file}: GRADIENTS is stated, but there is no floating-point "
            f"{'input and no trained parameter' if floating else 'output'}",
            "leave GRADIENTS out",
        )
    own = type(instance.module)
    instance.module.__class__ = type(own.__name__, (Joint, own), {"__module__": own.__module__})
    joint: Any = instance.module
    joint.joint_inputs, joint.joint_trained, joint.joint_taken = inputs, trained, len(floating)
    gradients = tuple(torch.randn(one.shape, dtype=getattr(torch, one.dtype)) for one in floating)
    names = tuple(f"{PREFIX}{number}" for number in range(len(floating)))
    return replace(
        instance, inputs=(*instance.inputs, *gradients), input_names=(*instance.input_names, *names),
        joint=len(floating), gradients_of=(*(instance.input_names[position] for position in inputs), *trained),
    )  # fmt: skip


def refuse_undifferentiable(instance: Instance) -> None:
    """Raise `ProblemError` if the problem cannot state GRADIENTS; called before forward."""
    if instance.mutates:
        raise ProblemError(f"{instance.file}: GRADIENTS and MUTATES cannot both be stated", "leave one of them out")
    if instance.arguments or instance.keywords:
        raise ProblemError(
            f"{instance.file}: GRADIENTS does not support inputs that are nested or passed by name",
            "give each tensor its own argument",
        )
    if taken := [name for name in instance.input_names if name.startswith(PREFIX)]:
        raise ProblemError(
            f"{instance.file}: an argument of forward is called {taken[0]}, which GRADIENTS reserves for "
            "the gradient of an output",
            "rename it",
        )
