"""Replay of a launch plan on an arena.

It has neither the candidate's host code nor expected outputs. The caller passes the function that launches a kernel:
as machine code on a GPU (`launching`), or in Triton's interpreter (`kernels`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.worker.plan import library
from kernelwright.worker.plan import plan as plans
from kernelwright.worker.plan.arena import window
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.operators import short

Tensors = Callable[[plans.View], Any]
"""Maps a view to the tensor that a kernel receives."""

Launcher = Callable[[plans.Launch, Tensors], Callable[[], Any]]
"""Binds one launch to memory; the result launches it."""


class Replay:
    """A plan bound to memory. `run` does what one call of the candidate would do on the device."""

    def __init__(self, plan: plans.Plan, launcher: Launcher, arena: torch.Tensor, layout: Layout) -> None:
        self.tensor = lambda view: window(arena, layout, view)
        self.steps = [self._bind_step(step, launcher) for step in plan.steps]
        self.parts: dict[str, list[Callable[[], Any]]] = {}
        """The steps by library operator; all other steps under ""."""
        for step, bound in zip(plan.steps, self.steps, strict=True):
            name = short(step.operator) if isinstance(step, plans.LibraryCall) else ""
            self.parts.setdefault(name, []).append(bound)

    def run(self) -> None:
        for step in self.steps:
            step()

    def run_part(self, name: str) -> None:
        """Run the steps of one part alone, on the memory that a whole call left."""
        for step in self.parts[name]:
            step()

    def _bind_step(self, step: plans.PlanStep, launcher: Launcher) -> Callable[[], Any]:
        match step:
            case plans.Fill(view=view, value=value):
                target = self.tensor(view)
                number = float(value) if value in ("inf", "-inf", "nan") else ast.literal_eval(value)
                return lambda: target.fill_(number)
            case plans.Copy(target=target_view, source=source_view):
                to, source = self.tensor(target_view), self.tensor(source_view)
                return lambda: to.copy_(source)
            case plans.LibraryCall():
                return library.bind(step, self.tensor)
            case plans.TritonLaunch():
                if 0 in step.grid:
                    return lambda: None
                return launcher(step, self.tensor)


def descriptor(argument: plans.Descriptor, tensor: Tensors) -> Any:
    """A host-made tensor descriptor (TMA)."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    view = argument.view
    extra = {"padding": argument.padding} if argument.padding != "zero" else {}
    return TensorDescriptor(tensor(view), list(view.shape), list(view.stride), list(argument.block_shape), **extra)
