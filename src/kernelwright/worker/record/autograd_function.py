"""Records a candidate whose entry is a `torch.autograd.Function`: its forward and its backward as one call.

Both get a new context in every call, as from PyTorch, so that nothing is kept between calls.
"""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import torch

from kernelwright.worker.plan import plan
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.record.calling import bind_arguments
from kernelwright.worker.record.trace import Refused, Trace


def is_autograd_function(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, torch.autograd.Function)


class Context:
    """What PyTorch passes to the methods of an autograd function: they may write any attributes."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        pass

    def set_materialize_grads(self, value: bool) -> None:
        pass


class ForwardAndBackward:
    """The forward and then the backward of a function, as one call."""

    def __init__(
        self, function: Any, case: CaseShape, parameters: dict[str, torch.Tensor], init: list[Any], trace: Trace
    ) -> None:
        self.function, self.case, self.parameters, self.init, self.trace = function, case, parameters, init, trace

    def __call__(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        """Outputs, then gradients of the inputs and of the parameters."""
        first = len(inputs) - self.case.gradients
        context, function = Context(), self.function
        is_separate = function.setup_context is not torch.autograd.Function.setup_context
        forward = function.forward if is_separate else functools.partial(function.forward, context)
        case = msgspec.structs.replace(self.case, input_names=self.case.input_names[:first])
        args, named = bind_arguments(forward, case, list(inputs[:first]), self.parameters, self.init)
        if named:
            raise Refused(f"forward takes {next(iter(named))} by name, which .apply cannot pass")
        context.needs_input_grad = tuple(map(is_differentiable, args))
        made = forward(*args)
        if is_separate:
            function.setup_context(context, tuple(args), made)
        outputs = (made,) if isinstance(made, torch.Tensor) else tuple(made)
        self.trace.forward = plan.Forward(steps=len(self.trace.steps), outputs=len(outputs))
        gradients = iter(inputs[first:])
        found = function.backward(context, *(next(gradients) if is_differentiable(one) else None for one in outputs))
        found = found if isinstance(found, tuple | list) else (found,)
        if len(found) < len(args):
            raise Refused(f"backward returns {len(found)} gradients, and forward has {len(args)} arguments: return one "
                          "for each, None where there is none")  # fmt: skip
        return (*outputs, *self._in_order(args, found, inputs[:first]))

    def _in_order(self, args: list[Any], found: Any, inputs: tuple[Any, ...]) -> list[torch.Tensor]:
        """The gradients of the floating-point inputs, and of those parameters that have one, in the problem's order."""
        of = {id(one): gradient for one, gradient in zip(args, found, strict=False) if is_differentiable(one)}
        for name, one in zip(self.case.input_names, inputs, strict=False):
            if is_differentiable(one) and of.get(id(one)) is None:
                raise Refused(f"backward gives no gradient of {name}, which the problem asks for")
        wanted = [one for one in inputs if is_differentiable(one)]
        return [*(of[id(one)] for one in wanted),
                *(of[id(one)] for one in self.parameters.values() if of.get(id(one)) is not None)]  # fmt: skip


def is_differentiable(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
